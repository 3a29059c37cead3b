"""Plant a needle: the generator of `backend.tokens.needles` with the model's own tokenizer.

The input is the filler, one sentence a line, so that what a prompt is made of is part of its key.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from backend.errors import InputError
from backend.explainer import Explainer, Run
from backend.explanation import Frozen
from backend.tokens import needles
from backend.tokens.explanation import Prompt, Target, TokenExplanation
from backend.tokens.filler import SENTENCES

FILLER = Prompt.of("\n".join(SENTENCES))
"""The input of the request."""


class NeedlePromptParameters(Frozen):
    """Which prompt is made."""

    kind: needles.Kind = Field(
        "single",
        title="Kind",
        description="What is hidden and asked: one needle, one of several keys, one key with "
        "several values, or a chain of variables.",
    )
    size: Annotated[int, Field(ge=needles.SMALLEST, le=needles.LARGEST)] = Field(
        256, title="Size", description="Tokens the prompt has at most; it has at least 90 % of it."
    )
    number: Annotated[int, Field(ge=0, lt=2**32)] = Field(
        0, title="Number", description="Seed of the needles, their depths and the filler's order."
    )


class NeedlePrompt(Explainer):
    """A generated prompt; nothing is explained yet.

    Values:
        text: the prompt's one user message. gold: [start, end] characters of each needle that
            the answer rests on. answer: the right answer, to be forced.
        kind, size, number: as asked.
        tokens: how many tokens the prompt has.
    """

    id = "needle_prompt"
    title = "Planting a needle"
    family = "tokens"
    role = "preparation"
    how_to_read = "A prompt of known evidence and known answer."
    Parameters = NeedlePromptParameters

    def explain(
        self, model: Any, input: Prompt, target: Target, parameters: Any, run: Run
    ) -> TokenExplanation:
        """Generate the prompt.

        Raises:
            InputError: the model does not read as many tokens, or see `needles.build`.
        """
        from backend.tokens import encode

        if parameters.size > model.limit:
            raise InputError(
                f"A prompt of {parameters.size:,} tokens; at most {model.limit:,} fit.",
                "sizes",
                "Ask for less.",
            )

        def count(prompt: Prompt) -> int:
            run.check_cancelled()
            return len(encode.encode(model.tokenizer, prompt, (), None, model.vocabulary))

        sentences = [line for line in input.text.splitlines() if line.strip()]
        asked = (parameters.kind, parameters.size, parameters.number)
        item = needles.build(*asked, count, sentences)
        sequence = model.encode(item.prompt, (), item.target.text)
        run.progress(1, 1, "planting a needle")
        return TokenExplanation(
            arrays={"scores": np.full(len(sequence), np.nan, dtype=np.float32)},
            values={
                "text": item.prompt.text,
                "gold": [list(span) for span in item.prompt.gold],
                "answer": item.target.text,
                **parameters.model_dump(),
                "tokens": sequence.prompt_length,
            },
            sequence=sequence,
            explained=(),
        )


def planted(found: TokenExplanation) -> needles.Item:
    """The item that a finished request made."""
    values = found.values
    gold = tuple((int(a), int(b)) for a, b in values["gold"])
    prompt = Prompt(messages=Prompt.of(values["text"]).messages, gold=gold)
    target = Target(text=values["answer"])
    return needles.Item(values["kind"], values["size"], values["number"], prompt, target)
