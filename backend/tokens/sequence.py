"""Token bookkeeping: which piece of which text each token is, and how tokens group into words."""

from __future__ import annotations

import dataclasses
import re
from typing import Literal

import numpy as np

Role = Literal["template", "system", "user", "assistant", "prompt", "answer"]
Level = Literal["token", "word", "sentence"]

_WORD = re.compile(r"\s*\S+\s*?(?=\s|$)", re.UNICODE)
_SENTENCE_END = re.compile(r"[.!?。！？؟۔]+[\"'”’)\]]*(?=\s)|[。！？]|\n+")


@dataclasses.dataclass(frozen=True)
class Unit:
    """Consecutive tokens shown as one: token positions [start, stop) and their text."""

    start: int
    stop: int
    text: str


@dataclasses.dataclass(frozen=True)
class Sequence:
    """A prompt and its answer as the model reads them.

    `offsets` are half-open character spans of `text` (the decoded whole, template included);
    a byte-level piece of a character has the span of the whole character, so neighbours may
    share one. Token p is predicted at position p - 1.
    """

    ids: tuple[int, ...]
    text: str
    offsets: tuple[tuple[int, int], ...]
    roles: tuple[Role, ...]
    special: tuple[bool, ...]
    """Tokens such as BOS or <|im_start|>."""
    prompt_length: int
    gold: tuple[int, ...] = ()
    """Positions of the planted evidence, where it is known."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def answer(self) -> range:
        """Positions of the answer's tokens."""
        return range(self.prompt_length, len(self.ids))

    def explained(self, span: tuple[int, ...] | None) -> tuple[int, ...]:
        """Positions of the explained tokens; `span` indexes the answer, None is all of it."""
        positions = self.answer
        return tuple(positions) if span is None else tuple(positions[i] for i in span)

    def candidates(self) -> tuple[int, ...]:
        """Positions every method ranks and every score removes: the prompt without specials.

        A prompt made of specials alone ranks them all.
        """
        plain = tuple(p for p in range(self.prompt_length) if not self.special[p])
        return plain or tuple(range(self.prompt_length))

    def units(self, level: Level) -> tuple[Unit, ...]:
        """Group the tokens so that each group is valid text; the groups cover every token once.

        At level "token", pieces that share a character are one unit.
        """
        starts = self._starts(level)
        cuts = [0]
        reach = self.offsets[0][1] if self.offsets else 0
        for position in range(1, len(self.ids)):
            begin, end = self.offsets[position]
            shares = begin < reach
            apart = (
                level == "token"
                or self.special[position]
                or self.special[position - 1]
                or self.roles[position] != self.roles[position - 1]
                or self._crosses(starts, self.offsets[position - 1], begin, end)
            )
            if apart and not shares:
                cuts.append(position)
            reach = max(reach, end)
        return tuple(
            self._unit(a, b) for a, b in zip(cuts, [*cuts[1:], len(self.ids)], strict=True)
        )

    def _starts(self, level: Level) -> np.ndarray:
        if level == "word":
            return np.array([m.start() for m in _WORD.finditer(self.text)] or [0])
        if level == "sentence":
            return np.array([0, *(m.end() for m in _SENTENCE_END.finditer(self.text))])
        return np.array([0])

    @staticmethod
    def _crosses(starts: np.ndarray, before: tuple[int, int], begin: int, end: int) -> bool:
        """Whether a group begins inside this token or between it and the one before."""
        first = np.searchsorted(starts, before[1], side="left")
        return bool(first < len(starts) and starts[first] < max(end, begin + 1))

    def _unit(self, start: int, stop: int) -> Unit:
        spans = self.offsets[start:stop]
        text = self.text[min(a for a, _ in spans) : max(b for _, b in spans)]
        return Unit(start, stop, text)


def unit_scores(scores: np.ndarray, units: tuple[Unit, ...], *, mean: bool = False) -> np.ndarray:
    """Sum token scores inside each unit, losslessly: the totals agree.

    Args:
        scores: [tokens]; NaN where a token has no score.
        mean: average them in place of summing.

    Returns:
        [units] float64; a unit is NaN only where all its tokens are.
    """
    sums = np.full(len(units), np.nan)
    for i, unit in enumerate(units):
        part = scores[unit.start : unit.stop].astype(np.float64)
        if not np.isnan(part).all():
            sums[i] = np.nanmean(part) if mean else np.nansum(part)
    return sums
