"""The files a token explanation is taken away as; the page and the command line write the same."""

from __future__ import annotations

import json
import shlex

import numpy as np
from pydantic import JsonValue

from backend import card as cards
from backend import files
from backend.explanation import Request
from backend.files import arrays, values
from backend.tokens.examples import EXAMPLES
from backend.tokens.explanation import Prompt, Target, TokenExplanation

__all__ = ["PROMPT_FILE", "TOP", "arrays", "card", "command", "numbers", "prompt_json", "values"]

PROMPT_FILE = "prompt.json"
TOP = 15


def numbers(explanation: TokenExplanation) -> bytes:
    """CSV, one row a token: position, token, id, role, special, planted, score, share, readings.

    A token that a spreadsheet would run as a formula gets an apostrophe in front.
    """
    sequence, found = explanation.sequence, explanation.arrays
    scores = found["scores"].astype(np.float64)
    total = float(np.nansum(np.abs(scores)))
    # Sorted: a file that is read back has its arrays in any order.
    readings = sorted(name for name in found if name.startswith("readings/"))
    head = ["position", "token", "id", "role", "special", "planted", "score", "share"]
    rows = []
    for p, (start, stop) in enumerate(sequence.offsets):
        share = abs(scores[p]) / total if total > 0 else np.nan
        rows.append(
            [
                p,
                files.cell(sequence.text[start:stop]),
                sequence.ids[p],
                sequence.roles[p],
                int(sequence.special[p]),
                int(p in sequence.gold),
                *map(files.number, (scores[p], share, *(found[name][p] for name in readings))),
            ]
        )
    return files.table([*head, *readings], rows)


def card(explanation: TokenExplanation, prompt: Prompt, picture: bytes) -> bytes:
    """The explanation card as HTML; `picture` is the figure as SVG."""
    request = explanation.source().request
    needs_file = PROMPT_FILE in command(request, prompt)
    text = cards.card(
        explanation,
        picture=picture,
        alt=f"The tokens of the prompt, coloured by {explanation.unit}",
        tables=[_top(explanation)],
        command=command(request, prompt),
        prompt=_entry(prompt),
        attachment=cards.Attachment(PROMPT_FILE, prompt_json(prompt)) if needs_file else None,
    )
    return text.encode("utf-8")


def command(request: Request, prompt: Prompt, out: str = "out") -> str:
    """The command line that makes this request again, quoted for a shell."""
    target = Target.model_validate(request.target)
    words = ["python", "-m", "backend", "explain", "tokens", *files.explainer_words(request)]
    words += _prompt_words(prompt)
    words += ["--model", request.model.label(), "--precision", request.model.precision]
    if target.ids is not None:
        words += ["--target-ids", ",".join(map(str, target.ids))]
    if target.span is not None:
        words += ["--span", ",".join(map(str, target.span))]
    words += files.parameter_words(request)
    words += ["--seed", str(request.seed), "--out", out]
    return shlex.join(words)


def prompt_json(prompt: Prompt) -> str:
    """The prompt as a file that `--input` reads."""
    return json.dumps(_entry(prompt), indent=2, ensure_ascii=False)


def _entry(prompt: Prompt) -> dict[str, JsonValue]:
    entry: dict[str, JsonValue] = {
        "messages": [message.model_dump() for message in prompt.messages],
        "chat": prompt.chat,
    }
    if prompt.gold:
        entry["gold"] = [list(span) for span in prompt.gold]
    return entry


def _prompt_words(prompt: Prompt) -> list[str]:
    for example in EXAMPLES:
        if example.prompt.digest() == prompt.digest():
            return ["--example", example.id]
    if Prompt.of(prompt.text).messages == prompt.messages and not prompt.gold:
        # One word, so that a text that begins with a dash is not taken for a flag.
        return [f"--text={prompt.text}", *(["--chat"] if prompt.chat else [])]
    return ["--input", PROMPT_FILE]


def _top(explanation: TokenExplanation) -> cards.Table:
    scores = explanation.arrays["scores"].astype(np.float64)
    known = np.flatnonzero(~np.isnan(scores))
    order = known[np.argsort(-np.abs(scores[known]), kind="stable")][:TOP]
    total = float(np.nansum(np.abs(scores))) or 1.0
    sequence = explanation.sequence
    rows = [
        (
            p,
            _visible(sequence.text[slice(*sequence.offsets[p])]),
            f"{scores[p]:.4g}",
            f"{abs(scores[p]) / total:.1%}",
        )
        for p in order.tolist()
    ]
    title = f"Top tokens ({explanation.unit})" if explanation.unit else "Top tokens"
    return cards.Table(title, ("position", "token", "score", "share"), rows)


def _visible(text: str) -> str:
    """The token with the spaces around it, tabs and line ends as signs."""
    core = text.strip(" ")
    left = len(text) - len(text.lstrip(" ")) if core else len(text)
    signs = core.replace("\n", "⏎").replace("\t", "⇥")
    return "·" * left + signs + "·" * (len(text) - left - len(core))
