"""The command line of the Tokens family: which prompt, which answer."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from pydantic import ValidationError

from backend.errors import InputError, shown
from backend.examples import flagged
from backend.files import contents
from backend.settings import Settings
from backend.tokens import inputs, prompt_sets
from backend.tokens.examples import EXAMPLES, example
from backend.tokens.explanation import Message, Prompt, Target
from backend.tokens.prompt_sets import PromptSet

MOST_DIGITS = 6
"""Digits of a position in an answer."""


def add(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """Add the family's own flags; returns the group of those that say what is explained."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--example", metavar="NAME", help=f"one of {', '.join(e.id for e in EXAMPLES)}"
    )
    source.add_argument("--text", metavar="STR", help="the prompt")
    source.add_argument("--input", metavar="FILE", type=Path, help="a .txt, .json, .jsonl or .csv")
    parser.add_argument("--column", metavar="NAME", help="column of a .csv that holds the prompts")
    parser.add_argument("--row", metavar="N", type=int, default=1, help="which prompt, from 1")
    parser.add_argument(
        "--chat",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="wrap the prompt in the model's chat template",
    )
    parser.add_argument("--system", metavar="STR", help="system message, with --chat")
    answer = parser.add_mutually_exclusive_group()
    answer.add_argument("--target", metavar="STR", help="explain this answer, used as typed")
    answer.add_argument(
        "--max-new-tokens", metavar="N", type=int, help="length of the model's own answer"
    )
    answer.add_argument("--target-ids", metavar="N,N", help="explain these token ids")
    parser.add_argument(
        "--span", metavar="A:B", help="answer tokens to explain: 0:2 is the first two; or 0,3"
    )
    return source


def add_prompts(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say which prompts are studied."""
    parser.add_argument(
        "--prompts",
        metavar="NAME|FILE",
        required=True,
        help=f"a bundled set ({', '.join(prompt_sets.TITLES)}), or a .txt, .json, .jsonl or .csv",
    )
    parser.add_argument("--column", metavar="NAME", help="column of a .csv that holds the prompts")
    parser.add_argument(
        "--max-new-tokens",
        metavar="N",
        type=int,
        default=4,
        help="length of the model's own answer, where a prompt brings none (default 4)",
    )


def prompts(given: argparse.Namespace, settings: Settings) -> PromptSet:
    """The set of prompts the flags name.

    Raises:
        InputError: there is no such set or file, it cannot be used, or the length is out of bounds.
    """
    if not 1 <= given.max_new_tokens <= settings.max_new_tokens:
        raise InputError(
            f"It is a whole number from 1 to {settings.max_new_tokens:,}.", "--max-new-tokens"
        )
    if given.prompts in prompt_sets.TITLES:
        return prompt_sets.bundled(given.prompts)
    path = Path(given.prompts)
    if not path.suffix:
        raise InputError(
            f"There is no bundled set '{shown(given.prompts)}'.",
            "--prompts",
            f"Use {', '.join(prompt_sets.TITLES)}, or name a file.",
        )
    data = contents(path, settings.max_upload_mb)
    return PromptSet.of(inputs.brought(path.name, data, settings, given.column), path.name)


def prompt(given: argparse.Namespace, settings: Settings) -> Prompt:
    """The prompt the flags name.

    Raises:
        InputError: there is no such example, file or row, or it cannot be used.
    """
    if given.example is not None:
        found = flagged(example, given.example).prompt
    elif given.text is not None:
        found = Prompt.of(given.text)
    else:
        found = _from_file(given, settings)
    found = as_asked(found, given)
    inputs.check(found, settings)
    return found


def target(given: argparse.Namespace) -> Target:
    """The answer the flags name.

    Raises:
        InputError: a flag's value is not of its form.
    """
    suggested = example(given.example).target if given.example else Target()
    changes: dict[str, object] = {"span": _span(given.span)}
    if given.target is not None:
        changes["text"] = given.target
    elif given.target_ids is not None:
        changes |= {"ids": numbers(given.target_ids, "--target-ids"), "text": None}
    elif given.max_new_tokens is not None:
        changes |= {"max_new_tokens": given.max_new_tokens, "text": None}
    try:
        return Target.model_validate(suggested.model_dump() | changes)
    except ValidationError as error:
        first = error.errors()[0]
        flag = "--" + "-".join(str(first["loc"][0] if first["loc"] else "span").split("_"))
        flag = {"--text": "--target", "--ids": "--target-ids"}.get(flag, flag)
        raise InputError(f"{first['msg']}.", flag) from error


def check_span(span: tuple[int, ...] | None, answer: int) -> None:
    """Check the explained span against an answer of `answer` tokens.

    Raises:
        InputError: it ends past the answer.
    """
    if span is not None and span[-1] >= answer:
        raise InputError(
            f"The answer has {answer} token{'s' if answer > 1 else ''}: there is no token "
            f"{span[-1]}; they are numbered from 0.",
            "--span",
            f"Choose within 0:{answer}.",
        )


def _from_file(given: argparse.Namespace, settings: Settings) -> Prompt:
    data = contents(given.input, settings.max_upload_mb)
    found = inputs.read(given.input.name, data, settings, given.column)
    if not 1 <= given.row <= len(found):
        raise InputError(f"There is no prompt {given.row}.", "--row", f"It has {len(found)}.")
    row: int = given.row
    return found[row - 1]


def as_asked(found: Prompt, given: argparse.Namespace) -> Prompt:
    """The prompt with the chat template and system message that the flags ask for.

    Raises:
        InputError: a system message is given without the chat template.
    """
    chat = found.chat if given.chat is None else given.chat
    messages = found.messages
    if given.system is not None:
        if not chat:
            raise InputError("A system message needs the chat template.", "--system", "Add --chat.")
        rest = tuple(message for message in messages if message.role != "system")
        messages = (Message(role="system", content=given.system), *rest)
    return Prompt(messages=messages, chat=chat, gold=found.gold)


def _span(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    if bounds := re.fullmatch(r"(\d+):(\d+)", text):
        if max(map(len, bounds.groups())) > MOST_DIGITS:
            raise InputError(f"'{shown(text)}' ends past any answer.", "--span", "Ask for less.")
        span = tuple(range(int(bounds[1]), int(bounds[2])))
        if span:
            return span
        raise InputError(f"'{text}' holds no token.", "--span", "The end must be past the start.")
    return numbers(text, "--span")


def numbers(text: str, flag: str) -> tuple[int, ...]:
    """A list of numbers of a flag.

    Raises:
        InputError: it is none.
    """
    if not re.fullmatch(r"\d{1,12}(,\d{1,12})*", text):
        raise InputError(f"'{shown(text)}' is not a list of numbers.", flag, "Write them as 0,1,2.")
    return tuple(map(int, text.split(",")))
