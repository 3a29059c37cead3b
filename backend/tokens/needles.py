"""Prompts with planted evidence and a known answer, in four kinds; needs no download and no model.

In the manner of Hsieh et al., "RULER: What's the Real Context Size of Your Long-Context Language
Models?", COLM 2024: needles are sentences that hold a code, hidden at random depths of prose, and
the question at the end asks for the code.

1. Draw the needles, the order of the filler and the depths from (kind, size, seed) alone.
2. Take as many filler sentences as fit, found by bisection with the tokenizer's own count; then
   add those later ones that still fit, so that the prompt has at most `size` tokens and at least
   nine tenths of that.
3. Note where the needles that the answer rests on stand: whole sentences, the `gold` of the prompt.
   What only distracts is not gold.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence
from typing import Literal, get_args

from backend.errors import InputError, shown
from backend.tokens.explanation import Prompt, Target
from backend.tokens.filler import PLACES, SENTENCES

Kind = Literal["single", "multi_key", "multi_value", "variable"]
KINDS: tuple[Kind, ...] = get_args(Kind)
TITLES: dict[str, str] = {
    "single": "One needle",
    "multi_key": "One of several needles",
    "multi_value": "Several needles, all asked",
    "variable": "Variable tracking",
}

SMALLEST, LARGEST = 128, 32_768
"""Tokens of a prompt."""
FULLNESS = 0.9
"""Share of its size that a prompt has at least."""
DISTRACTORS = 3
"""Other keys of `multi_key`."""
VALUES = 3
"""Codes of `multi_value`."""
CHAIN = 4
"""Variables of a chain in `variable`; there are two chains, one of them a distractor."""
LETTERS = "BCDFGHJKLMNPQRSTVWXZ"


@dataclasses.dataclass(frozen=True)
class Item:
    """A prompt with planted evidence (`prompt.gold`), and the right answer (`target.text`)."""

    kind: Kind
    size: int
    """Tokens that the prompt has at most."""
    seed: int
    prompt: Prompt
    target: Target


@dataclasses.dataclass(frozen=True)
class Task:
    """What is hidden and asked, before there is any filler around it."""

    opening: str
    needles: tuple[tuple[str, bool], ...]
    """Sentences in the order of the text, and whether the answer rests on each."""
    question: str
    answer: str


@dataclasses.dataclass(frozen=True)
class Layout:
    """Where everything goes: fixed before it is known how many sentences fit."""

    task: Task
    filler: tuple[str, ...]
    depths: tuple[float, ...]
    """Of each needle, ascending, from 0 (before all filler) to 1."""

    def write(self, filler: Sequence[str]) -> Prompt:
        """The prompt with these filler sentences."""
        places = [int(depth * (len(filler) + 1)) for depth in self.depths]
        parts: list[tuple[str, bool]] = [(self.task.opening, False)]
        done = 0
        for place, needle in zip(places, self.task.needles, strict=True):
            parts += [(sentence, False) for sentence in filler[done:place]]
            parts.append(needle)
            done = place
        parts += [(sentence, False) for sentence in filler[done:]]
        text, gold = "", []
        for sentence, evidence in parts:
            start = len(text)
            text += sentence + " "
            if evidence:
                gold.append((start, start + len(sentence)))
        whole = Prompt.of(text.rstrip() + "\n\n" + self.task.question)
        return dataclasses.replace(whole, gold=tuple(gold))


def build(
    kind: str,
    size: int,
    seed: int,
    count: Callable[[Prompt], int],
    sentences: Sequence[str] = SENTENCES,
) -> Item:
    """The item of this kind, size and seed.

    Args:
        count: how many tokens the model reads for a prompt, its special tokens included.
        sentences: the filler.

    Raises:
        InputError: there is no such kind, or the size is out of bounds or too small for the task.
    """
    known = _kind(kind)
    if not SMALLEST <= size <= LARGEST:
        raise InputError(f"A prompt of {size:,} tokens.", "size", f"Use {SMALLEST} to {LARGEST:,}.")
    if seed < 0:
        raise InputError(f"The seed is {seed}.", "seed", "Use 0 or more.")
    if len(set(sentences)) < 2:
        raise InputError("The filler has fewer than two sentences.", "sentences", "Bring more.")
    dice = random.Random(f"{known}/{size}/{seed}")  # noqa: S311
    task = _TASKS[known](dice)
    depths = tuple(sorted(dice.random() for _ in task.needles))
    layout = Layout(task, tuple(_shuffled(sentences, size, dice)), depths)
    prompt = _fitted(layout, size, count)
    return Item(known, size, seed, prompt, Target(text=task.answer))


def _kind(kind: str) -> Kind:
    for known in KINDS:
        if kind == known:
            return known
    raise InputError(f"There is no kind '{shown(kind)}'.", "kinds", f"Use {', '.join(KINDS)}.")


def _shuffled(sentences: Sequence[str], size: int, dice: random.Random) -> list[str]:
    """More filler than can fit, every round in another order, no sentence twice in a row."""
    found: list[str] = []
    while len(found) < size:
        part = list(dict.fromkeys(sentences))
        dice.shuffle(part)
        if found and part[0] == found[-1]:
            part.append(part.pop(0))
        found += part
    return found[:size]


def _fitted(layout: Layout, size: int, count: Callable[[Prompt], int]) -> Prompt:
    """The prompt with as much filler as fits into `size` tokens.

    Raises:
        InputError: the task alone is longer, or no sentence is short enough to fill the rest.
    """

    def tokens(filler: Sequence[str]) -> int:
        return count(layout.write(filler))

    if (least := tokens(())) > size:
        raise InputError(
            f"The needles and the question alone have {least:,} tokens; {size:,} are asked for.",
            "size",
            "Ask for more.",
        )
    low, high = 0, len(layout.filler)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if tokens(layout.filler[:middle]) <= size else (low, middle)
    chosen = list(layout.filler[:low])
    # Shortest first would put all short sentences into every prompt.
    for sentence in sorted(set(layout.filler[low:]), key=lambda one: (-len(one), one)):
        if tokens(chosen) >= FULLNESS * size:
            break
        if sentence not in chosen[-1:] and tokens([*chosen, sentence]) <= size:
            chosen.append(sentence)
    found = layout.write(chosen)
    if not FULLNESS * size <= count(found) <= size:
        raise InputError(
            f"No filler sentence is short enough to fill {size:,} tokens.", "size", "Ask for more."
        )
    return found


def _codes(count: int, dice: random.Random) -> list[str]:
    """Distinct codes of five digits."""
    return [str(number) for number in dice.sample(range(10_000, 100_000), count)]


def _ask(place: str, needles: Sequence[tuple[str, bool]], code: str) -> Task:
    return Task(
        "Some codes are hidden in the text below. Remember them.",
        tuple(needles),
        f"Question: What is the code for the {place}?\nAnswer: The code for the {place} is",
        f" {code}",
    )


def _single(dice: random.Random) -> Task:
    [place], [code] = dice.sample(PLACES, 1), _codes(1, dice)
    return _ask(place, [(f"The code for the {place} is {code}.", True)], code)


def _multi_key(dice: random.Random) -> Task:
    places = dice.sample(PLACES, 1 + DISTRACTORS)
    codes = _codes(len(places), dice)
    asked = dice.randrange(len(places))
    needles = [
        (f"The code for the {place} is {code}.", i == asked)
        for i, (place, code) in enumerate(zip(places, codes, strict=True))
    ]
    return _ask(places[asked], needles, codes[asked])


def _multi_value(dice: random.Random) -> Task:
    [place], codes = dice.sample(PLACES, 1), _codes(VALUES, dice)
    return Task(
        "Some codes are hidden in the text below. Remember them.",
        tuple((f"One code for the {place} is {code}.", True) for code in codes),
        f"Question: What are all the codes for the {place}?\nAnswer: The codes for the {place} are",
        f" {_listed(codes)}",
    )


def _variable(dice: random.Random) -> Task:
    """Two chains of assignments, shuffled into each other; each keeps its own order."""
    names: dict[str, None] = {}
    while len(names) < 2 * CHAIN:
        names["".join(dice.sample(LETTERS, 3))] = None
    chains = [list(names)[:CHAIN], list(names)[CHAIN:]]
    values = _codes(2, dice)
    turns = [0] * CHAIN + [1] * CHAIN
    dice.shuffle(turns)
    needles, at = [], [0, 0]
    for chain in turns:
        step = at[chain]
        source = values[chain] if step == 0 else chains[chain][step - 1]
        needles.append((f"VAR {chains[chain][step]} = {source}.", chain == 0))
        at[chain] += 1
    return Task(
        "Variables are assigned in the text below. Keep track of their values.",
        tuple(needles),
        f"Question: Which variables hold the value {values[0]}?\n"
        f"Answer: The variables that hold {values[0]} are",
        f" {_listed(chains[0])}",
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}"


_TASKS: dict[Kind, Callable[[random.Random], Task]] = {
    "single": _single,
    "multi_key": _multi_key,
    "multi_value": _multi_value,
    "variable": _variable,
}
