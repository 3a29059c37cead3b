"""BA-Shapes: which place in a house a node has, or that it is in none.

Ying et al., "GNNExplainer: Generating Explanations for Graph Neural Networks", NeurIPS 2019: a
Barabási-Albert graph of 300 nodes with five edges a node, 80 houses joined to it by one edge each,
and 10 % as many random edges as there are nodes. Features are constant.
"""

from __future__ import annotations

import networkx as nx
import numpy as np

from backend.graphs.explanation import GraphSet
from backend.graphs.motifs import HOUSE, Built, arrays

BASE, HOUSES = 300, 80
NOISE = 0.1
FEATURES = 10
ROLES = (1, 1, 2, 2, 3)


def data(seed: int) -> GraphSet:
    """One graph of 700 nodes in four classes."""
    generator = np.random.default_rng(seed)
    built = Built.base(nx.barabasi_albert_graph(BASE, 5, seed=int(generator.integers(2**31))))
    for at in generator.choice(BASE, HOUSES, replace=False):
        built.attach(HOUSE, int(at), ROLES)
    built.add_noise(round(NOISE * len(built.node_motifs)), generator)
    made, roles = arrays([built], FEATURES, 1.0, generator)
    return GraphSet(
        arrays={**made, "labels": roles},
        title="BA-Shapes",
        task="node",
        class_names=("base", "middle of a house", "bottom of a house", "top of a house"),
        feature_names=tuple(f"constant {i}" for i in range(FEATURES)),
    )
