"""The nouns of the Tokens family: Prompt, Target, TokenExplanation."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

from pydantic import Field, model_validator

from backend.bundle import Bundle
from backend.explanation import Explanation, Frozen
from backend.tokens.sequence import Sequence

LABEL_LENGTH = 80


class Message(Frozen):
    """One message of a chat; a plain prompt is one user message."""

    role: Literal["system", "user", "assistant"] = "user"
    content: str


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Prompt(Bundle):
    """What is brought in: messages, whether to wrap them in the chat template, known evidence.

    `gold` holds character spans of the last user message that are known to decide the answer.
    `replaced` puts other ids in the place of tokens, as (position, id): noise on the prompt. Texts
    and roles stay those of the prompt.
    """

    messages: tuple[Message, ...]
    chat: bool = False
    gold: tuple[tuple[int, int], ...] = ()
    replaced: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, text: str, *, system: str = "", chat: bool = False) -> Prompt:
        """A prompt of one user message."""
        head = (Message(role="system", content=system),) if system else ()
        return cls(messages=(*head, Message(content=text)), chat=chat)

    def label(self) -> str:
        """The last user message's beginning, on one line."""
        line = " ".join(self.text.split())
        return line if len(line) <= LABEL_LENGTH else line[: LABEL_LENGTH - 1] + "…"

    @property
    def text(self) -> str:
        """The last user message."""
        return next((m.content for m in reversed(self.messages) if m.role == "user"), "")


class Target(Frozen):
    """Which answer is explained: the model's own (greedy), a typed one, or fixed token ids.

    Pages and the command line start from `text` or from nothing and ask the `continuation` step
    for `ids`; explainers and scores need `ids`.
    """

    ids: tuple[int, ...] | None = None
    text: Annotated[str, Field(max_length=20_000)] | None = None
    max_new_tokens: Annotated[int, Field(ge=1, le=4096)] = 8
    span: tuple[Annotated[int, Field(ge=0)], ...] | None = None
    """Indices into the answer; None explains all of it."""

    @model_validator(mode="after")
    def _span_inside(self) -> Target:
        if self.span is not None:
            if not self.span or sorted(set(self.span)) != list(self.span):
                raise ValueError("span must be non-empty, ascending and without repeats")
            if self.ids is not None and self.span[-1] >= len(self.ids):
                raise ValueError(
                    f"span ends at {self.span[-1]} but the answer has {len(self.ids)} tokens"
                )
        return self


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class TokenExplanation(Explanation):
    """Scores of a prompt's tokens for the explained tokens of its answer.

    Arrays (N tokens, L layers, H heads, S explained answer tokens):
        scores: [N] float32. One score a token, the method's summary for the explained span;
            NaN where the method gives none (the explained tokens themselves and what follows).
        readings/<name>: [N] float32. Other summaries the method offers.
        <method's own>: see the method's docstring, e.g. contributions [L, H, Q, N],
            attention [L, H, Q, N] with `values["queries"]` the Q query positions.
        logprobs: [A] float32. Log-probability of each answer token (step `continuation`).
    """

    sequence: Sequence
    explained: tuple[int, ...]
    """Positions of the explained tokens."""
    unit: str = ""
    """What one unit of a score is, e.g. "share of the attention output", "log-prob change"."""
    signed: bool = True
    additive: bool = True
    """Whether the scores of several tokens may be summed; ranks may not, they are averaged."""
