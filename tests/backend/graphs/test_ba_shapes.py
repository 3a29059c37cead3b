"""BA-Shapes as published: 80 houses on a base of 300 nodes, roles as classes, 10 % noise."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from backend.graphs import ba_shapes
from tests.backend.graphs.planted import equal, graph, motif_graphs


@pytest.fixture(scope="module")
def graphs():
    return ba_shapes.data(0)


def test_counts(graphs):
    assert len(graphs) == 1
    assert graphs.task == "node"
    assert graphs.arrays["node_counts"].tolist() == [700]
    # (300 - 5) * 5 of the base, 80 * (6 + 1) of the houses, 70 of noise.
    assert graphs.arrays["edge_counts"].tolist() == [1475 + 560 + 70]
    assert np.bincount(graphs.arrays["labels"]).tolist() == [300, 160, 160, 80]
    assert len(graphs.class_names) == 4
    assert (graphs.arrays["x"] == 1).all()


def test_each_house_is_one_and_its_nodes_have_their_places(graphs):
    houses = motif_graphs(graphs, 0)
    labels = graphs.arrays["labels"]
    assert len(houses) == 80
    for house in houses:
        assert nx.is_isomorphic(house, nx.house_graph())
        top = [v for v in house if labels[v] == 3]
        middle = {v for v in house if labels[v] == 1}
        bottom = {v for v in house if labels[v] == 2}
        assert len(top) == 1
        assert set(house[top[0]]) == middle
        assert {house.degree(v) for v in middle} == {3}
        assert {house.degree(v) for v in bottom} == {2}
    assert (labels == 0).sum() == (graphs.arrays["node_motifs"] == 0).sum()


def test_every_house_hangs_on_the_base_by_an_edge_that_is_no_reason(graphs):
    assert nx.is_connected(graph(graphs, 0))
    edges, motifs = graphs.arrays["edges"], graphs.arrays["node_motifs"]
    joints = (motifs[edges] == 0).sum(axis=1) == 1
    assert set(motifs[edges[joints]].max(axis=1).tolist()) == set(range(1, 81))
    assert 80 <= joints.sum() <= 80 + 70  # Noise may join them once more.
    assert (graphs.arrays["edge_motifs"][joints] == 0).all()


def test_the_seed_decides_the_graph(graphs):
    assert equal(graphs, ba_shapes.data(0))
    assert not equal(graphs, ba_shapes.data(1))
