"""Small sets of graphs with a GNN of random weights."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
import numpy as np

from backend.graphs.architecture import Architecture
from backend.graphs.explanation import GraphSet

FEATURES = 4
EDGE_FEATURES = 2


def weights(architecture, seed=0):
    """A GNN's random weights as a set holds them."""
    import torch

    from backend.graphs.gnn import Gnn

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        gnn = Gnn(architecture)
    return {
        f"gnn/{name}": w.numpy() for name, w in gnn.state_dict().items() if w.is_floating_point()
    }


def edge_attr(edges):
    """Features that depend on where among the edges one stands."""
    return np.random.default_rng(9).normal(size=(len(edges), EDGE_FEATURES)).astype(np.float32)


def graph_set(kind="gin", task="graph", graphs: Sequence[nx.Graph] | None = None, seed=0, **more):
    """Graphs (by default three trees of 12 nodes), random features, a random GNN.

    `more` goes to the set: task-specific arrays can be put into its `arrays` afterwards.
    """
    graphs = graphs or [nx.barabasi_albert_graph(12, 1, seed=i) for i in range(3)]
    generator = np.random.default_rng(seed)
    reads_edges = kind == "dmpnn"
    architecture = Architecture(
        kind=kind,
        task=task,
        features=FEATURES,
        edge_features=EDGE_FEATURES if reads_edges else 0,
        hidden=8,
        batch_norm=not reads_edges,
    )
    edges = [np.array(g.edges, dtype=np.int32).reshape(-1, 2) for g in graphs]
    nodes = sum(map(len, graphs))
    return GraphSet(
        arrays={
            "node_counts": np.array([len(g) for g in graphs], dtype=np.int32),
            "edge_counts": np.array([len(e) for e in edges], dtype=np.int32),
            "edges": np.concatenate(edges),
            "x": generator.normal(size=(nodes, FEATURES)).astype(np.float32),
            **({"edge_attr": edge_attr(np.concatenate(edges))} if reads_edges else {}),
            **weights(architecture, seed),
        },
        task=task,
        architecture=architecture,
        directed=graphs[0].is_directed(),
        **more,
    )
