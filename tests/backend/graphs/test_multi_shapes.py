"""Multi-shapes: each graph of 40 nodes, its class by how many kinds of shapes it holds."""

from __future__ import annotations

import collections

import networkx as nx
import numpy as np
import pytest

from backend.graphs import multi_shapes
from tests.backend.graphs.planted import equal, graph, motif_graphs

KNOWN = {
    "house": nx.house_graph(),
    "grid": nx.grid_2d_graph(3, 3),
    "wheel": nx.wheel_graph(6),
}


@pytest.fixture(scope="module")
def graphs():
    return multi_shapes.data(0)


def kinds(graphs, number):
    found = []
    for motif in motif_graphs(graphs, number):
        found += [name for name, known in KNOWN.items() if nx.is_isomorphic(motif, known)]
    return found


def test_counts(graphs):
    assert len(graphs) == 1000
    assert (graphs.arrays["node_counts"] == 40).all()
    assert np.bincount(graphs.arrays["labels"]).tolist() == [500, 500]


def test_the_class_is_whether_there_are_exactly_two_kinds(graphs):
    seen = collections.Counter()
    for number in range(0, 1000, 4):
        names = kinds(graphs, number)
        motifs = motif_graphs(graphs, number)
        assert len(names) == len(motifs) == len(set(names))
        assert graphs.arrays["labels"][number] == (len(names) == 2)
        seen[len(names)] += 1
    assert set(seen) == {0, 1, 2, 3}


@pytest.mark.parametrize("number", range(0, 1000, 51))
def test_without_its_shapes_a_graph_is_a_tree(graphs, number):
    whole = graph(graphs, number)
    motifs = motif_graphs(graphs, number)
    base = whole.subgraph(set(whole).difference(*motifs))
    assert nx.is_tree(base)
    assert len(list(nx.edge_boundary(whole, base))) == len(motifs)


def test_the_seed_decides_the_set(graphs):
    assert equal(graphs, multi_shapes.data(0))
    assert not equal(graphs, multi_shapes.data(1))
