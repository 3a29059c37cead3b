"""One entry of a file of prompts: the prompt, its known evidence, and the answer to explain."""

from __future__ import annotations

import dataclasses
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from backend.errors import InputError, shown
from backend.tokens.explanation import Message, Prompt, Target

_TODO_ENTRY = 'An entry is a string, {"prompt": …} or {"messages": [{"role": …, "content": …}]}.'


@dataclasses.dataclass(frozen=True)
class Brought:
    """A prompt from a file; no answer means the model's own."""

    prompt: Prompt
    answer: str | None = None


class _Entry(BaseModel):
    """One object of a JSON file."""

    model_config = ConfigDict(extra="ignore", strict=True)

    prompt: str | None = None
    messages: list[Message] | None = None
    system: str = ""
    chat: bool | None = None
    answer: str | None = None
    gold: list[str | list[int]] = []


def read(value: Any, where: str) -> Brought:
    """The prompt and answer of one JSON value.

    Raises:
        InputError: it is of no known form, or marks evidence that is not in the message.
    """
    if isinstance(value, str):
        return Brought(Prompt.of(value))
    if not isinstance(value, dict):
        raise InputError(f"An entry is a {type(value).__name__}.", where, _TODO_ENTRY)
    try:
        entry = _Entry.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "entry"
        raise InputError(
            f"{field}: {first['msg']}.",
            where,
            _TODO_ENTRY,
        ) from error
    if (entry.prompt is None) == (entry.messages is None):
        raise InputError("An entry needs either `prompt` or `messages`.", where, "Give one.")
    if entry.messages is not None:
        chat = True if entry.chat is None else entry.chat
        prompt = Prompt(messages=tuple(entry.messages), chat=chat)
    else:
        prompt = Prompt.of(entry.prompt or "", system=entry.system, chat=bool(entry.chat))
    gold = tuple(_span(mark, prompt.text, where) for mark in entry.gold)
    whole = Prompt(messages=prompt.messages, chat=prompt.chat, gold=gold)
    return answered(whole, entry.answer, where)


def answered(prompt: Prompt, answer: str | None, where: str) -> Brought:
    """A prompt with the answer that is to be explained.

    Raises:
        InputError: the answer is empty or too long.
    """
    try:
        Target(text=answer)
    except ValidationError as error:
        raise InputError(f"answer: {error.errors()[0]['msg']}.", where, "Shorten it.") from error
    if answer is not None and not answer:
        raise InputError("answer: It is empty.", where, "Leave it out for the model's own.")
    return Brought(prompt, answer)


def _span(mark: str | list[int], text: str, where: str) -> tuple[int, int]:
    if isinstance(mark, str):
        start = text.find(mark)
        if not mark or start < 0:
            raise InputError(
                f"gold: '{shown(mark)}' is not in the last user message.", where, "Mend it."
            )
        return start, start + len(mark)
    if len(mark) != 2 or not 0 <= mark[0] < mark[1] <= len(text):
        raise InputError(
            f"gold: {shown(str(mark))} is not a [start, end] inside the last user message, "
            f"which has {len(text)} characters.",
            where,
            "Mend it.",
        )
    return mark[0], mark[1]
