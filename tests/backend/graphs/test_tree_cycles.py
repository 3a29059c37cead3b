"""Tree-Cycles as published: 80 six-cycles on a binary tree of height 8, 10 % noise."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from backend.graphs import tree_cycles
from tests.backend.graphs.planted import equal, graph, motif_graphs

TREE = 2**9 - 1
NOISE = 99


@pytest.fixture(scope="module")
def graphs():
    return tree_cycles.data(0)


def test_counts(graphs):
    assert len(graphs) == 1
    assert graphs.task == "node"
    assert graphs.arrays["node_counts"].tolist() == [TREE + 480]
    assert graphs.arrays["edge_counts"].tolist() == [TREE - 1 + 80 * 7 + NOISE]
    assert np.bincount(graphs.arrays["labels"]).tolist() == [TREE, 480]
    np.testing.assert_array_equal(graphs.arrays["labels"], graphs.arrays["node_motifs"] > 0)


def test_the_base_is_a_balanced_binary_tree_and_each_motif_a_six_cycle(graphs):
    cycles = motif_graphs(graphs, 0)
    assert len(cycles) == 80
    assert all(nx.is_isomorphic(one, nx.cycle_graph(6)) for one in cycles)
    graph(graphs, 0)
    base = np.flatnonzero(graphs.arrays["node_motifs"] == 0)
    inside = graph(graphs, 0).subgraph(base.tolist())
    assert nx.is_connected(inside)
    assert TREE - 1 <= inside.number_of_edges() <= TREE - 1 + NOISE
    # Of a binary tree of height 8 half the nodes are leaves; noise makes some of them more.
    assert abs((np.array([d for _, d in inside.degree]) == 1).sum() - 256) <= 2 * NOISE


def test_every_cycle_hangs_on_the_tree_by_an_edge_that_is_no_reason(graphs):
    edges, motifs = graphs.arrays["edges"], graphs.arrays["node_motifs"]
    joints = (motifs[edges] == 0).sum(axis=1) == 1
    assert set(motifs[edges[joints]].max(axis=1).tolist()) == set(range(1, 81))
    assert (graphs.arrays["edge_motifs"][joints] == 0).all()


def test_the_seed_decides_the_graph(graphs):
    assert equal(graphs, tree_cycles.data(0))
    assert not equal(graphs, tree_cycles.data(1))
