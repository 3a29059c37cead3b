"""Which part of an answer is reasoning: between a model's thinking markers, or chosen by hand."""

from __future__ import annotations

import re

import numpy as np

from backend.errors import InputError, shown
from backend.tokens.sequence import Sequence

MARKERS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<seed:think>", "</seed:think>"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
)
"""What chat templates open and close reasoning with."""

STOP_PIECES = (",", ".")
"""Pieces that carry no content of their own, beside those of whitespace alone."""

WHOLE = "auto|none|\\d{1,6}:\\d{1,6}"
"""What a person may ask for: found by its markers, none, or tokens of the answer [from:to)."""


def reasoning(sequence: Sequence, asked: str = "auto") -> tuple[int, ...]:
    """Positions of the reasoning in the answer; none where there is none.

    A template may open the reasoning itself, at the end of the prompt: then it begins with the
    answer. Reasoning that is never closed reaches to the answer's end.

    Args:
        asked: "auto", "none" or "from:to", indices of the answer's tokens.

    Raises:
        InputError: the tokens asked for are not in the answer.
    """
    if asked == "none":
        return ()
    if asked != "auto":
        return _chosen(sequence, asked)
    begin = sequence.offsets[sequence.prompt_length][0] if sequence.answer else len(sequence.text)
    prompt, answer = sequence.text[:begin].rstrip(), sequence.text[begin:]
    for opening, closing in MARKERS:
        start = answer.find(opening)
        opened = start >= 0 or prompt.endswith(opening)
        first = start + len(opening) if start >= 0 else 0
        end = answer.find(closing, first)
        if opened or end >= 0:
            return _between(sequence, begin + first, begin + (end if end >= 0 else len(answer)))
    return ()


def _chosen(sequence: Sequence, asked: str) -> tuple[int, ...]:
    bounds = re.fullmatch(r"(\d{1,6}):(\d{1,6})", asked)
    start, stop = (int(bounds[1]), int(bounds[2])) if bounds else (0, 0)
    if not start < stop <= len(sequence.answer):
        raise InputError(
            f"'{shown(asked)}' is no part of the answer, which has {len(sequence.answer)} tokens.",
            "reasoning",
            "Write from:to, such as 0:40, or auto, or none.",
        )
    return tuple(sequence.answer[start:stop])


def _between(sequence: Sequence, start: int, stop: int) -> tuple[int, ...]:
    """Answer positions whose text lies in [start, stop)."""
    return tuple(p for p in sequence.answer if _inside(sequence.offsets[p], start, stop))


def _inside(span: tuple[int, int], start: int, stop: int) -> bool:
    return span[0] >= start and span[1] <= stop and span[0] < span[1]


def stop_tokens(sequence: Sequence) -> np.ndarray:
    """[N] bool: tokens of comma, full stop or whitespace alone, the template's own excepted."""
    found = np.zeros(len(sequence), dtype=bool)
    for p, (begin, end) in enumerate(sequence.offsets):
        piece = sequence.text[begin:end].strip()
        plain = sequence.roles[p] != "template" and not sequence.special[p]
        found[p] = plain and (piece == "" or piece in STOP_PIECES)
    return found
