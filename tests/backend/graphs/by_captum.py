"""Scores of edges as torch_geometric computes them with captum: the second opinion of tests."""

from __future__ import annotations

import dataclasses

import networkx as nx
import numpy as np

from tests.backend.graphs.made import FEATURES, graph_set


def by_captum(method, graphs, target, **more):
    """[e] float64: captum's attributions to the columns of an edge, added up."""
    import torch
    from torch_geometric.explain import CaptumExplainer, Explainer

    from backend.graphs import batch as batches
    from backend.graphs.explained import Decision
    from backend.graphs.pyg import Bare, config

    decision = Decision(graphs, target)
    one = batches.parts([decision.part])
    rows = 1 if decision.part.node is None else len(decision.part.node_ids)
    found = Explainer(
        model=Bare(decision.classifier.gnn),
        algorithm=CaptumExplainer(method, **more),
        explanation_type="phenomenon",
        edge_mask_type="object",
        model_config=config(decision),
    )(
        one.x,
        one.edge_index,
        target=torch.full((rows,), decision.label),
        index=decision.part.node,
    )
    return np.bincount(one.slots, weights=found.edge_mask.detach(), minlength=one.edges)


def directed_set(kind, task="graph"):
    """Directed graphs, some edges of which go both ways."""
    return graph_set(
        kind, task, [nx.gnp_random_graph(12, 0.2, seed=i, directed=True) for i in range(2)]
    )


def looped_set(kind, task="graph"):
    """A graph with a few self-loops and parallel edges, behind a plain one."""
    graphs = graph_set(kind, task, [nx.path_graph(5)])
    edges = [*nx.barabasi_albert_graph(9, 2, seed=4).edges, (3, 3), (4, 4), (4, 5), (4, 5), (8, 8)]
    x = np.random.default_rng(5).normal(size=(9, FEATURES)).astype(np.float32)
    arrays = {
        **graphs.arrays,
        "x": np.concatenate([graphs.arrays["x"], x]),
        "edges": np.concatenate([graphs.arrays["edges"], edges]).astype(np.int32),
        "node_counts": np.array([5, 9], dtype=np.int32),
        "edge_counts": np.array([4, len(edges)], dtype=np.int32),
    }
    return dataclasses.replace(graphs, arrays=arrays)


def looped_everywhere(kind, task="graph"):
    """A graph, and the same with a loop at each of its nodes, in between its edges.

    A GCN and a GAT cannot tell them apart. torch_geometric alone takes the mask of the second, in
    the order of the edges, for one in the order of the messages: it has as many entries.
    """
    plain = graph_set(kind, task, [nx.barabasi_albert_graph(7, 2, seed=2)])
    edges = plain.arrays["edges"]
    loops = np.repeat(np.arange(7, dtype=np.int32)[:, None], 2, axis=1)
    mixed = np.concatenate([loops[:4], edges[:5], loops[4:], edges[5:]])
    arrays = {**plain.arrays, "edges": mixed, "edge_counts": np.array([len(mixed)], np.int32)}
    return plain, dataclasses.replace(plain, arrays=arrays)
