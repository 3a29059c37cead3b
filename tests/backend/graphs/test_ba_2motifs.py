"""BA-2Motifs as published: counts, bases, motifs, joints, labels, and what a seed decides."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from backend.graphs import ba_2motifs
from tests.backend.graphs.planted import equal, graph, motif_graphs

KNOWN = (nx.house_graph(), nx.cycle_graph(5))


@pytest.fixture(scope="module")
def graphs():
    return ba_2motifs.data(0)


def test_counts_and_features(graphs):
    assert len(graphs) == 1000
    assert (graphs.arrays["node_counts"] == 25).all()
    assert np.bincount(graphs.arrays["labels"]).tolist() == [500, 500]
    # 19 edges of the tree, 6 or 5 of the motif, 1 that joins them.
    assert graphs.arrays["edge_counts"].tolist() == [26 - i for i in graphs.arrays["labels"]]
    assert graphs.arrays["x"].shape == (25_000, 10)
    assert (graphs.arrays["x"] == np.float32(0.1)).all()
    assert graphs.class_names == ("house", "five-cycle")
    assert not graphs.directed
    assert graphs.task == "graph"


@pytest.mark.parametrize("number", range(0, 1000, 37))
def test_a_graph_is_a_tree_and_the_motif_of_its_class(graphs, number):
    label = int(graphs.arrays["labels"][number])
    whole = graph(graphs, number)
    (motif,) = motif_graphs(graphs, number)
    assert nx.is_isomorphic(motif, KNOWN[label])
    assert nx.is_connected(whole)
    base = whole.subgraph(set(whole) - set(motif))
    assert len(base) == 20
    assert nx.is_tree(base)
    assert len(list(nx.edge_boundary(whole, motif))) == 1


def test_labels_come_in_no_order(graphs):
    """Every tenth of the set holds both classes, near half and half."""
    shares = graphs.arrays["labels"].reshape(10, 100).mean(axis=1)
    assert shares.min() > 0.3
    assert shares.max() < 0.7


def test_the_seed_decides_the_set(graphs):
    assert equal(graphs, ba_2motifs.data(0))
    assert not equal(graphs, ba_2motifs.data(1))
