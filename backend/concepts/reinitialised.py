"""A table whose label head has forgotten: its weights drawn anew, from the output down.

Weights are drawn as Glorot and Bengio (2010) do, biases are 0. What was said of the samples stays
in the table: explainers of one decision ask the head.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from backend.concepts.explanation import ConceptTable
from backend.concepts.head import Head


def layers(table: ConceptTable) -> tuple[str, ...]:
    """Names of the head's layers from the output down; none where the table has no head."""
    head = table.head()
    count = len(head.weights) if head else 0
    return tuple("output" if i == count else f"layer {i}" for i in range(count, 0, -1))


def reinitialised(table: ConceptTable, depth: int, seed: int) -> ConceptTable:
    """The table with the first `depth` of `layers` drawn anew.

    A layer has the same new weights at every depth that reaches it.

    Raises:
        ValueError: the table has no head, or one of fewer layers.
    """
    head = table.head()
    if head is None or not 0 <= depth <= len(head.weights):
        raise ValueError(f"there are no {depth} layers to forget")
    weights, biases = list(head.weights), list(head.biases)
    for number in range(depth):
        i = len(weights) - 1 - number
        bound = math.sqrt(6 / sum(weights[i].shape))
        generator = np.random.default_rng([seed, number])
        weights[i] = generator.uniform(-bound, bound, size=weights[i].shape)
        biases[i] = np.zeros_like(biases[i])
    forgotten = Head(tuple(weights), tuple(biases)).arrays()
    return dataclasses.replace(
        table,
        arrays=table.arrays | forgotten,
        origin={"reinitialised": list(layers(table)[:depth]), "seed": seed},
    )
