"""Many prompts as one input: bundled sets, and those of a file."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

from backend.bundle import Bundle
from backend.errors import InputError, shown
from backend.tokens.entries import Brought
from backend.tokens.examples import needle
from backend.tokens.explanation import Message, Prompt

PROMPTS_FILE = "prompts.jsonl"
_PLACES = ("north gate", "old mill", "east tower", "boat house", "wine cellar", "green door")
_CAPITALS = (
    "France", "Italy", "Japan", "Egypt", "Spain", "Greece", "Norway", "Poland", "Kenya", "Peru",
    "Cuba", "Austria",
)  # fmt: skip
_PATTERNS = (
    "2 + 2 = 4\n3 + 3 = 6\n4 + 4 = 8\n5 + 5 =",
    "Monday, Tuesday, Wednesday,",
    "red is to stop as green is to",
    "hot: cold\nbig: small\nfast:",
    "one two three four five",
    "The opposite of up is",
    "A dog barks, a cat",
    "Water freezes into",
)
NEEDLES = 40


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class PromptSet(Bundle):
    """Prompts, and of each the answer that is explained; None is the model's own.

    `name` is that of a bundled set, or "" of a person's own.
    """

    prompts: tuple[Prompt, ...]
    answers: tuple[str | None, ...]
    title: str = ""
    name: str = ""

    @classmethod
    def of(cls, found: Sequence[Brought], title: str, name: str = "") -> PromptSet:
        """The set of some entries of a file."""
        return cls(
            prompts=tuple(one.prompt for one in found),
            answers=tuple(one.answer for one in found),
            title=title,
            name=name,
        )

    def __len__(self) -> int:
        return len(self.prompts)

    def label(self) -> str:
        return self.title

    def lines(self) -> bytes:
        """The set as a file of prompts, an entry a line."""
        return "".join(
            json.dumps(_entry(prompt, answer), ensure_ascii=False) + "\n"
            for prompt, answer in zip(self.prompts, self.answers, strict=True)
        ).encode("utf-8")


def bundled(name: str) -> PromptSet:
    """A bundled set by name.

    Raises:
        InputError: there is none.
    """
    if name not in TITLES:
        raise InputError(
            f"There is no bundled set of prompts '{shown(name)}'.", "", f"Use {', '.join(TITLES)}."
        )
    made = _needles() if name == "needles" else _facts()
    return PromptSet.of(made, TITLES[name], name)


TITLES = {"facts": "Facts and patterns", "needles": "Planted needles"}
ABOUT = {
    "facts": "Capitals, sums, opposites: short prompts whose evidence is not marked.",
    "needles": f"{NEEDLES} short texts with a code planted among other sentences, then asked for: "
    "what the answer rests on is known, so recovery is measured.",
}


def _needles() -> list[Brought]:
    """Length, depth, place and code differ; the answer is the code, whatever the model says."""
    found = []
    for number in range(NEEDLES):
        sentences = 2 + number % 3
        code = str(1000 + (number * 7919) % 9000)
        place = _PLACES[number % len(_PLACES)]
        prompt = needle(sentences, (number * 5) % (sentences + 1), code, place)
        found.append(Brought(prompt, f" {code}"))
    return found


def _facts() -> list[Brought]:
    capitals = [f"The capital of {country} is" for country in _CAPITALS]
    return [Brought(Prompt.of(text)) for text in (*capitals, *_PATTERNS)]


def _entry(prompt: Prompt, answer: str | None) -> dict[str, object]:
    entry: dict[str, object] = {
        "messages": [Message.model_dump(message) for message in prompt.messages],
        "chat": prompt.chat,
    }
    if prompt.gold:
        entry["gold"] = [list(span) for span in prompt.gold]
    return entry if answer is None else {**entry, "answer": answer}
