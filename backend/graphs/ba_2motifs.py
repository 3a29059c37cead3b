"""BA-2Motifs: a random tree with a house (class 0) or a five-cycle (class 1) attached.

Luo et al., "Parameterized Explainer for Graph Neural Network" (PGExplainer), NeurIPS 2020: a
Barabási-Albert graph of 20 nodes with one edge a node, the motif joined to it by one edge, ten
features that are all 0.1.
"""

from __future__ import annotations

import networkx as nx
import numpy as np

from backend.graphs.explanation import GraphSet
from backend.graphs.motifs import HOUSE, Built, arrays, cycle

GRAPHS = 1000
BASE = 20
FEATURES = 10


def data(seed: int) -> GraphSet:
    """1,000 graphs of 25 nodes, half of each class, in random order."""
    generator = np.random.default_rng(seed)
    labels = generator.permutation(np.arange(GRAPHS) % 2).astype(np.int32)
    built = []
    for label in labels:
        base = nx.barabasi_albert_graph(BASE, 1, seed=int(generator.integers(2**31)))
        one = Built.base(base)
        one.attach(cycle(5) if label else HOUSE, int(generator.integers(BASE)))
        built.append(one)
    made, _ = arrays(built, FEATURES, 0.1, generator)
    return GraphSet(
        arrays={**made, "labels": labels},
        title="BA-2Motifs",
        task="graph",
        class_names=("house", "five-cycle"),
        feature_names=tuple(f"constant {i}" for i in range(FEATURES)),
    )
