"""Superpixels that are chosen, and what a model says while some of them are covered."""

from __future__ import annotations

import itertools
import math

import numpy as np
import torch

from backend.images import superpixels
from tests.backend.images import made

QUARTERS = np.arange(4).reshape(2, 2).repeat(16, 0).repeat(16, 1)


def cut_into(monkeypatch, numbers):
    """Every picture is cut into these segments."""
    monkeypatch.setattr(superpixels, "segments", lambda _seen, _count: numbers)


def worth(model, pictures, numbers, label, fill="mean"):
    """A logit of each coalition (a tuple of segments), by a pass of its own."""
    decision = made.decision(model, pictures, 0, label)
    base = model.fill(decision.seen, fill)
    found = {}
    for size in range(numbers.max() + 2):
        for coalition in itertools.combinations(range(numbers.max() + 1), size):
            x = base.clone()
            place = torch.from_numpy(np.isin(numbers, coalition))
            x[:, :, place] = decision.x[:, :, place]
            found[coalition] = float(made.logits(model, x)[0, label])
    return found


def shapley(game, count):
    """[M]: the mean over all orders of what a segment adds to those before it."""
    values = np.zeros(count)
    for order in itertools.permutations(range(count)):
        for i, one in enumerate(order):
            before = tuple(sorted(order[:i]))
            values[one] += game[tuple(sorted((*before, one)))] - game[before]
    return values / math.factorial(count)


def of_segments(scores, numbers):
    """[M]: the one score that all pixels of a segment have."""
    found = [np.unique(scores[numbers == i]) for i in range(numbers.max() + 1)]
    assert all(len(one) == 1 for one in found)
    return np.concatenate(found)
