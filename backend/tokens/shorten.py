"""What to offer when a prompt is too long: its last part, as long as fits with the answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.errors import InputError
from backend.explainer import Explainer, Run
from backend.tokens.explanation import Prompt, Target, TokenExplanation

OFFER = "Keep the last"
"""How the message about too long a prompt names this way out."""
MOST_TRIES = 20


class Shorten(Explainer):
    """How many characters to cut from the front of the last user message so that all fits.

    The template, the other messages and room for the answer stay.

    Values:
        characters: how many to cut; what `cut` takes.
        dropped: how many tokens that saves.
    """

    id = "shorten"
    title = "Shortening the prompt"
    family = "tokens"
    role = "preparation"

    def explain(
        self, model: Any, input: Prompt, target: Target, parameters: Any, run: Run
    ) -> TokenExplanation:
        """Find the cut.

        Raises:
            InputError: even without the last user message it does not fit.
        """
        from backend.tokens import encode

        def read(prompt: Prompt) -> Any:
            return encode.encode(model.tokenizer, prompt, (), None, model.vocabulary)

        room = model.limit - (len(target.ids or ()) or target.max_new_tokens)
        if target.ids is None and target.text is not None:
            room = model.limit - len(model.tokenizer(target.text)["input_ids"])
        whole = tokens = read(input)
        characters = 0
        for _ in range(MOST_TRIES):
            over = len(tokens) - room
            if over <= 0:
                break
            run.check_cancelled()
            # A cut can change how the text beside it splits, so the rest is counted again.
            characters += _length_of(tokens, cut(input, characters).text, over)
            tokens = read(cut(input, characters))
        else:
            raise InputError("It does not fit even when it is cut.", todo="Shorten it by hand.")
        run.progress(1, 1, "counting tokens")
        return TokenExplanation(
            arrays={"scores": np.full(len(tokens), np.nan, dtype=np.float32)},
            values={"characters": characters, "dropped": len(whole) - len(tokens)},
            sequence=tokens,
            explained=(),
        )


def cut(prompt: Prompt, characters: int) -> Prompt:
    """The prompt without the first characters of its last user message; evidence moves along."""
    last = max(i for i, m in enumerate(prompt.messages) if m.role == "user")
    messages = tuple(
        m.model_copy(update={"content": m.content[characters:]}) if i == last else m
        for i, m in enumerate(prompt.messages)
    )
    gold = tuple((a - characters, b - characters) for a, b in prompt.gold if a >= characters)
    return Prompt(messages=messages, chat=prompt.chat, gold=gold)


def _length_of(tokens: Any, content: str, count: int) -> int:
    """Characters of the first `count` tokens of a message's content.

    Raises:
        InputError: the content has no more tokens than that.
    """
    start = tokens.text.rfind(content.strip())
    ends = [b - start for a, b in tokens.offsets if a >= start >= 0 and b - start <= len(content)]
    if len(ends) <= count:
        raise InputError(
            "The other messages and the answer alone are too long.",
            todo="Shorten the system message or ask for a shorter answer.",
        )
    skipped = len(content) - len(content.lstrip())
    return int(skipped + ends[count - 1])
