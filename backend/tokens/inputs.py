"""Read prompts from a file, and check them; nothing that is brought in is executed.

.txt is one prompt; .json and .jsonl hold strings or objects (`prompt`, or `messages` with `role`
and `content`; optional `chat`, `answer`, and `gold`: character spans or substrings of the last user
message that are known to decide the answer); .csv holds one prompt a row in a chosen column, and
its answer in a column `answer` where there is one.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

from backend.errors import InputError, shown
from backend.settings import Settings
from backend.tokens import entries
from backend.tokens.entries import Brought
from backend.tokens.explanation import Prompt

ENDINGS = (".txt", ".json", ".jsonl", ".csv")
DELIMITERS = ",;\t|"
LONGEST_PROMPT = 1_000_000
"""Characters; the token limit is checked later, by the model's tokenizer."""
ANSWER = "answer"
"""Column of a .csv, and name in an entry, of the answer to explain."""
LONGEST_HEADER = 10_000
"""Characters in which the delimiter is looked for."""
MOST_NAMED = 8
"""Columns a message names."""
_QUOTED = re.compile(r'"[^"]*"')
_MAGIC = {
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "a gzip archive",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"\x80\x02": "a pickle",
    b"\x80\x03": "a pickle",
    b"\x80\x04": "a pickle",
    b"\x80\x05": "a pickle",
    b"\x7fELF": "a program",
    b"SQLite format 3": "a database",
}
_TODO_TEXT = "Save it as UTF-8 text and bring it again."


def read(
    name: str, data: bytes, settings: Settings, column: str | None = None
) -> tuple[Prompt, ...]:
    """The prompts of a file; see `brought`."""
    return tuple(one.prompt for one in brought(name, data, settings, column))


def brought(
    name: str, data: bytes, settings: Settings, column: str | None = None
) -> tuple[Brought, ...]:
    """The prompts of a file with the answers it gives for them.

    Args:
        name: the file's name; its ending says how to read it.
        column: the column of a .csv; None takes `prompt`, `text` or the only one.

    Raises:
        InputError: the file or a row of it cannot be used; the text says where and what to do.
    """
    if len(data) > settings.max_upload_mb * 1e6:
        raise InputError(
            f"The file has more than {settings.max_upload_mb:g} MB (VITRINE_MAX_UPLOAD_MB).",
            where=name,
            todo="Split it, or bring fewer prompts.",
        )
    prompts: list[Brought] = []
    for where, one in _entries(name, _decoded(name, data), column):
        if len(prompts) == settings.max_prompts:
            raise InputError(
                f"There are more than {settings.max_prompts:,} prompts (VITRINE_MAX_PROMPTS).",
                where=name,
                todo="Bring fewer, or split the file.",
            )
        _check(one.prompt, where)
        prompts.append(one)
    if not prompts:
        raise InputError("There is no prompt in it.", name, "Bring a file with at least one.")
    return tuple(prompts)


def _entries(name: str, text: str, column: str | None) -> Iterator[tuple[str, Brought]]:
    ending = PurePath(name).suffix.lower()
    if ending == ".txt":
        return iter([(name, Brought(Prompt.of(text.strip("\r\n"))))])
    if ending == ".json":
        return _from_json(name, text)
    if ending == ".jsonl":
        return _from_lines(name, text)
    if ending == ".csv":
        return _from_table(name, text, column)
    raise InputError(
        f"Files ending in '{shown(ending)}' are not read.", name, f"Use {', '.join(ENDINGS)}."
    )


def columns(name: str, data: bytes) -> tuple[str, ...]:
    """The column names of a .csv, the likeliest prompt column first.

    Raises:
        InputError: it cannot be read as a table.
    """
    header = next(_rows(name, _decoded(name, data)), [])
    preferred = [c for c in header if c.strip().lower() in ("prompt", "text", "question", "input")]
    return tuple(dict.fromkeys([*preferred, *header]))


def check(prompt: Prompt, settings: Settings) -> None:
    """Check a typed prompt as a read one is.

    Raises:
        InputError: it is empty, or longer than any model here would read.
    """
    _check(prompt, "")
    size = sum(len(message.content.encode("utf-8", "replace")) for message in prompt.messages)
    if size > settings.max_upload_mb * 1e6:
        raise InputError("The prompt is too long.", todo="Shorten it.")


def _check(prompt: Prompt, where: str) -> None:
    if not any(message.content.strip() for message in prompt.messages):
        raise InputError("The prompt is empty.", where, "Write at least one word.")
    if not prompt.text.strip():
        raise InputError("There is no user message.", where, "Add one; the others ask nothing.")
    if sum(m.role == "system" for m in prompt.messages) > 1:
        raise InputError("There are two system messages.", where, "Join them into one.")
    for message in prompt.messages:
        if "\x00" in message.content or any("\ud800" <= c <= "\udfff" for c in message.content):
            raise InputError(
                "The text has characters that no text file holds (NUL or half a surrogate pair).",
                where,
                _TODO_TEXT,
            )
        if len(message.content) > LONGEST_PROMPT:
            raise InputError(
                f"A message has {len(message.content):,} characters; at most {LONGEST_PROMPT:,} "
                "are read.",
                where,
                "Shorten it.",
            )


def _decoded(name: str, data: bytes) -> str:
    if not data.strip():
        raise InputError("The file is empty.", name, "Bring one with a prompt in it.")
    for magic, kind in _MAGIC.items():
        if data.startswith(magic):
            raise InputError(f"This is {kind}, not text: nothing in it was run.", name, _TODO_TEXT)
    codec = "UTF-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "UTF-8"
    try:
        text = data.decode("utf-8-sig" if codec == "UTF-8" else codec)
    except UnicodeDecodeError as error:
        raise InputError(
            f"The text is not {codec} (byte {error.start:,}).", name, _TODO_TEXT
        ) from error
    if "\x00" in text:
        raise InputError("This is not a text file.", name, _TODO_TEXT)
    return text


def _from_json(name: str, text: str) -> Iterator[tuple[str, Brought]]:
    value = _parsed(name, text)
    if isinstance(value, dict) and isinstance(value.get("prompts"), list):
        value = value["prompts"]
    single = not isinstance(value, list)
    for number, entry in enumerate([value] if single else value, start=1):
        where = name if single else f"{name}, entry {number}"
        yield where, entries.read(entry, where)


def _from_lines(name: str, text: str) -> Iterator[tuple[str, Brought]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            where = f"{name}, line {number}"
            yield where, entries.read(_parsed(where, line), where)


def _from_table(name: str, text: str, column: str | None) -> Iterator[tuple[str, Brought]]:
    rows = _rows(name, text)
    header = next(rows, [])
    wanted = column if column is not None else _likely(header)
    if wanted is None or wanted not in header:
        raise InputError(
            "Which column holds the prompts?"
            if wanted is None
            else f"No column '{shown(wanted)}'.",
            name,
            f"Choose one of: {_named(header)}.",
        )
    place = header.index(wanted)
    right = next((i for i, c in enumerate(header) if _is_answer(c) and i != place), None)
    for number, row in enumerate(rows, start=2):
        if any(cell.strip() for cell in row):
            where = f"{name}, row {number}"
            if place >= len(row):
                raise InputError(f"The row has no column '{wanted}'.", where, "Complete the row.")
            answer = row[right] if right is not None and right < len(row) else ""
            yield where, entries.answered(Prompt.of(row[place]), answer or None, where)


def _named(header: Sequence[str]) -> str:
    more = f" and {len(header) - MOST_NAMED:,} more" if len(header) > MOST_NAMED else ""
    return ", ".join(shown(name) for name in header[:MOST_NAMED]) + more


def _is_answer(column: str) -> bool:
    return column.strip().lower() == ANSWER


def _likely(header: list[str]) -> str | None:
    if len(header) == 1:
        return header[0]
    return next((c for c in header if c.strip().lower() in ("prompt", "text")), None)


def _rows(name: str, text: str) -> Iterator[list[str]]:
    first = _QUOTED.sub("", text[:LONGEST_HEADER]).split("\n", 1)[0]
    delimiter = max(DELIMITERS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        yield from reader
    except csv.Error as error:
        where = f"{name}, line {reader.line_num}"
        if "field limit" in str(error):
            raise InputError(
                f"A cell has more than {csv.field_size_limit():,} characters.",
                where,
                "Shorten it, or bring it as .json or .txt; a missing quote also does this.",
            ) from error
        raise InputError(f"The table is broken ({error}).", where, "Mend its quotes.") from error


def _parsed(where: str, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"Not valid JSON: {error.msg} (line {error.lineno}, column {error.colno}).",
            where,
            "Mend it there.",
        ) from error
    except RecursionError as error:
        raise InputError("The JSON is nested too deeply.", where, "Flatten it.") from error
    except ValueError as error:
        raise InputError("The JSON holds a number that is too long.", where, "Mend it.") from error
