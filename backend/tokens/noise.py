"""Prompts with a few tokens replaced, and the scores of the tokens that are still there.

A share of the prompt's ordinary tokens gives way, each to another ordinary token of the same
prompt: no paraphrase, so every other token keeps its place. Planted evidence stays where it is, and
is put nowhere else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from backend.tokens.explanation import Prompt, TokenExplanation
from backend.tokens.sequence import Sequence as Tokens

NOISE = 0.05


def noisy(prompt: Prompt, tokens: Tokens, seed: int, share: float = NOISE) -> Prompt:
    """The prompt with a share of its tokens replaced, at least one; none where all are alike.

    Args:
        tokens: the prompt as the model reads it.
    """
    candidates = np.array(tokens.candidates(), dtype=np.int64)
    ids = np.array(tokens.ids, dtype=np.int64)
    generator = np.random.default_rng(seed)
    free = np.setdiff1d(candidates, np.array(tokens.gold, dtype=np.int64))
    among = ids[free]
    count = min(len(free), max(1, round(share * len(candidates))))
    replaced = []
    for position in np.sort(generator.choice(free, count, replace=False)).tolist() if count else []:
        others = among[among != ids[position]]
        if len(others):
            replaced.append((position, int(generator.choice(others))))
    return dataclasses.replace(prompt, replaced=tuple(replaced))


def aligned(found: Sequence[TokenExplanation]) -> list[np.ndarray]:
    """[N] float64 scores of each explanation; NaN where its token is not the first one's."""
    ids = np.array(found[0].sequence.ids)
    rows = []
    for one in found:
        scores = one.arrays["scores"].astype(np.float64)
        scores[np.array(one.sequence.ids) != ids] = np.nan
        rows.append(scores)
    return rows
