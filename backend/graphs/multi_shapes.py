"""Multi-shapes: a random tree with up to three shapes; the class depends on how many kinds.

After Azzolin et al., "Global Explainability of GNNs via Logic Combination of Learned Concepts",
ICLR 2023 (BAMultiShapes): graphs of 40 nodes on a Barabási-Albert base with one edge a node, joined
by one edge each to a house, a grid and a wheel or some of them. Class 1 has exactly two of the
three kinds, class 0 none, one or all.
"""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np

from backend.graphs.explanation import GraphSet
from backend.graphs.motifs import GRID, HOUSE, WHEEL, Built, arrays

GRAPHS = 1000
NODES = 40
FEATURES = 10
SHAPES = {"house": (HOUSE, 5), "grid": (GRID, 9), "wheel": (WHEEL, 6)}


def data(seed: int) -> GraphSet:
    """1,000 graphs of 40 nodes, half of each class, in random order."""
    generator = np.random.default_rng(seed)
    every = [c for n in range(4) for c in itertools.combinations(SHAPES, n)]
    of_class = [[c for c in every if len(c) != 2], [c for c in every if len(c) == 2]]
    labels = generator.permutation(np.arange(GRAPHS) % 2).astype(np.int32)
    built = []
    for label in labels:
        chosen = of_class[label][int(generator.integers(len(of_class[label])))]
        size = NODES - sum(SHAPES[name][1] for name in chosen)
        one = Built.base(nx.barabasi_albert_graph(size, 1, seed=int(generator.integers(2**31))))
        for name in chosen:
            one.attach(SHAPES[name][0], int(generator.integers(size)))
        built.append(one)
    made, _ = arrays(built, FEATURES, 0.1, generator)
    return GraphSet(
        arrays={**made, "labels": labels},
        title="Multi-shapes",
        task="graph",
        class_names=("none, one or all shapes", "two kinds of shapes"),
        feature_names=tuple(f"constant {i}" for i in range(FEATURES)),
    )
