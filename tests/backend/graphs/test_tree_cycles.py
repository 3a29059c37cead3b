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
    base = nx.Graph(graphs.arrays["edges"][: TREE - 1].tolist())
    assert nx.is_tree(base)
    depth = np.array(list(nx.single_source_shortest_path_length(base, 0).values()))
    assert np.bincount(depth).tolist() == [2**i for i in range(9)]
    assert (graphs.arrays["edge_motifs"][: TREE - 1] == 0).all()


def test_cycles_hang_on_different_nodes(graphs):
    edges = graphs.arrays["edges"][:-NOISE]
    outside = graphs.arrays["node_motifs"][edges] == 0
    joints = edges[outside.sum(axis=1) == 1]
    assert len(joints) == len(set(joints[:, 1].tolist())) == 80


def test_the_seed_decides_the_graph(graphs):
    assert equal(graphs, tree_cycles.data(0))
    assert not equal(graphs, tree_cycles.data(1))
