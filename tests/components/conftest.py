"""Explanations made by hand, so that every expected number is known."""

from __future__ import annotations

import numpy as np
import pytest

from backend.tokens.explanation import TokenExplanation
from backend.tokens.sequence import Sequence

ENGLISH = ["The", " capital", " of", " France", " is", " Paris", "."]


def explain(
    tokens, scores=None, *, answer=1, gold=(), special=(), signed=True, unit="log-prob", **arrays
):
    """An explanation of these tokens; the last `answer` of them are the explained answer."""
    offsets, at = [], 0
    for token in tokens:
        offsets.append((at, at + len(token)))
        at += len(token)
    n, prompt = len(tokens), len(tokens) - answer
    sequence = Sequence(
        ids=tuple(range(n)),
        text="".join(tokens),
        offsets=tuple(offsets),
        roles=tuple(["user"] * prompt + ["answer"] * answer),
        special=tuple(i in special for i in range(n)),
        prompt_length=prompt,
        gold=tuple(gold),
    )
    if scores is None:
        scores = np.linspace(-1.0, 1.0, n)
        scores[prompt:] = np.nan
    return TokenExplanation(
        arrays={"scores": np.asarray(scores, dtype=np.float32), **arrays},
        sequence=sequence,
        explained=tuple(range(prompt, n)),
        unit=unit,
        signed=signed,
    )


@pytest.fixture
def capital():
    """Seven tokens, two of them the answer; scores -1, -0.5, 0, 0.5, 1."""
    return explain(ENGLISH, [-1.0, -0.5, 0.0, 0.5, 1.0, np.nan, np.nan], answer=2, gold=(3,))


def heads_of(n, layers=2, heads=3, seed=0):
    """Causal attention and signed contributions, [layers, heads, n, n]."""
    rng = np.random.default_rng(seed)
    attention = np.tril(rng.random((layers, heads, n, n))).astype(np.float32)
    attention /= attention.sum(axis=-1, keepdims=True)
    contributions = attention * rng.normal(size=attention.shape).astype(np.float32)
    return {"attention": attention, "contributions": contributions}


@pytest.fixture
def matrices():
    """Twelve tokens with attention and contributions of 2 layers and 3 heads."""
    return explain([f" w{i}" for i in range(12)], **heads_of(12))
