"""Items of a set: which graph a node is of, which are learned from, which are scored."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from backend.graphs import items
from backend.graphs.explanation import TEST, TRAIN, VALIDATION, GraphSet, GraphTarget
from tests.backend.graphs.made import graph_set


def of_nodes():
    return graph_set(task="node", graphs=[nx.path_graph(3), nx.empty_graph(1), nx.path_graph(4)])


def split(graphs, *values):
    graphs.arrays["split"] = np.array(values, dtype=np.int8)
    return graphs


def test_items_are_graphs_or_nodes():
    assert items.count(graph_set()) == 3
    assert items.count(of_nodes()) == 8
    assert items.count(GraphSet.none()) == 0


def test_a_node_has_a_number_in_its_graph():
    graphs, number = of_nodes(), 0
    for graph, nodes in enumerate((3, 1, 4)):
        for node in range(nodes):
            assert items.target(graphs, number) == GraphTarget(graph=graph, node=node)
            assert graphs.graph(graph).first_node + node == number
            number += 1


def test_a_graph_without_nodes_is_passed_over():
    graphs = of_nodes()
    graphs.arrays["node_counts"] = np.array([3, 0, 1, 4], dtype=np.int32)
    assert items.target(graphs, 2) == GraphTarget(graph=0, node=2)
    assert items.target(graphs, 3) == GraphTarget(graph=2, node=0)


def test_the_class_goes_along():
    assert items.target(graph_set(), 2, 1) == GraphTarget(graph=2, label=1)
    assert items.target(of_nodes(), 7, 0) == GraphTarget(graph=2, node=3, label=0)


def test_what_is_learned_from_are_training_items_in_an_order_of_the_seed():
    graphs = split(of_nodes(), TRAIN, TEST, TRAIN, VALIDATION, TRAIN, TEST, TRAIN, TRAIN)

    def chosen(most, seed=0):
        return items.to_learn_from(graphs, most, np.random.default_rng(seed)).tolist()

    assert sorted(chosen(100)) == [0, 2, 4, 6, 7]
    assert chosen(3) == chosen(100)[:3]
    assert chosen(100) == chosen(100)
    assert len({tuple(chosen(100, seed)) for seed in range(5)}) > 1


@pytest.mark.parametrize("known", [(), (TEST,) * 8, (VALIDATION,) * 8])
def test_where_no_training_is_known_all_are_learned_from(known):
    graphs = split(of_nodes(), *known) if known else of_nodes()
    found = items.to_learn_from(graphs, 100, np.random.default_rng(0))
    assert sorted(found.tolist()) == list(range(8))


def test_what_is_scored_are_test_items_first_those_with_a_reason():
    graphs = split(of_nodes(), TRAIN, TEST, TEST, TEST, TEST, TRAIN, TEST, TRAIN)
    assert items.to_score(graphs, 3).tolist() == [1, 2, 3]
    graphs.arrays["node_motifs"] = np.array([1, 0, 0, 0, 2, 2, 2, 0], dtype=np.int32)
    assert items.to_score(graphs, 1).tolist() == [4]
    assert items.to_score(graphs, 3).tolist() == [1, 4, 6]
    assert items.to_score(graphs, 100).tolist() == [1, 2, 3, 4, 6]


@pytest.mark.parametrize("known", [(), (TRAIN,) * 8])
def test_where_no_test_items_are_known_all_are_scored(known):
    graphs = split(of_nodes(), *known) if known else of_nodes()
    assert items.to_score(graphs, 100).tolist() == list(range(8))


def test_a_graph_has_a_reason_where_one_of_its_nodes_has():
    graphs = graph_set(graphs=[nx.path_graph(2), nx.path_graph(3), nx.path_graph(2)])
    assert items.with_reason(graphs) is None
    graphs.arrays["node_motifs"] = np.array([0, 0, 0, 3, 0, 1, 1], dtype=np.int32)
    assert items.with_reason(graphs).tolist() == [False, True, True]
    nodes = of_nodes()
    nodes.arrays["node_motifs"] = np.array([0, 1, 0, 0, 2, 0, 0, 0], dtype=np.int32)
    assert np.flatnonzero(items.with_reason(nodes)).tolist() == [1, 4]
