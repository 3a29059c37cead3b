"""Tree-Cycles: whether a node is in a six-cycle or in the tree the cycles hang on.

Ying et al., "GNNExplainer: Generating Explanations for Graph Neural Networks", NeurIPS 2019: a
balanced binary tree of height 8, 80 six-cycles joined to it by one edge each, and 10 % as many
random edges as there are nodes. Features are constant.
"""

from __future__ import annotations

import networkx as nx
import numpy as np

from backend.graphs.explanation import GraphSet
from backend.graphs.motifs import Built, arrays, cycle

HEIGHT, CYCLES, LENGTH = 8, 80, 6
NOISE = 0.1
FEATURES = 10


def data(seed: int) -> GraphSet:
    """One graph of 991 nodes in two classes."""
    generator = np.random.default_rng(seed)
    built = Built.base(nx.balanced_tree(2, HEIGHT))
    for at in generator.choice(len(built.node_motifs), CYCLES, replace=False):
        built.attach(cycle(LENGTH), int(at))
    built.add_noise(round(NOISE * len(built.node_motifs)), generator)
    made, roles = arrays([built], FEATURES, 1.0, generator)
    return GraphSet(
        arrays={**made, "labels": roles},
        title="Tree-Cycles",
        task="node",
        class_names=("tree", "six-cycle"),
        feature_names=tuple(f"constant {i}" for i in range(FEATURES)),
    )
