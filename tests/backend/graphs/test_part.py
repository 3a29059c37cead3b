"""What of a graph is explained: graphs of a set, neighbourhoods, known reasons, first items."""

from __future__ import annotations

import dataclasses

import networkx as nx
import numpy as np
import pytest

from backend.errors import InputError
from backend.graphs.explanation import TEST, TRAIN, GraphSet, GraphTarget
from backend.graphs.part import Part, first_item, neighbourhood
from tests.backend.graphs.made import graph_set


def test_a_set_gives_each_graph_its_own_arrays():
    graphs = graph_set(graphs=[nx.path_graph(3), nx.path_graph(5), nx.empty_graph(2)])
    sizes = [(len(graphs.graph(i).x), len(graphs.graph(i).edges)) for i in range(3)]
    assert sizes == [(3, 2), (5, 4), (2, 0)]
    assert graphs.graph(1).first_node == 3
    assert graphs.graph(1).edges.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]
    assert np.array_equal(graphs.graph(2).x, graphs.arrays["x"][8:])
    with pytest.raises(IndexError):
        graphs.graph(3)


def test_a_set_is_stored_and_read_whole():
    graphs = graph_set("gat", "node", node_names=tuple(f"n{i}" for i in range(36)))
    again = GraphSet.from_bytes(graphs.to_bytes())
    assert again.digest() == graphs.digest()
    assert again.architecture == graphs.architecture
    assert again.graph(1).node_names[0] == "n12"


def test_a_graph_task_is_about_the_whole_graph():
    part = Part.of(graph_set(), GraphTarget(graph=2))
    assert part.item == 2
    assert part.node is None
    assert len(part) == 11
    assert part.edge_ids.tolist() == list(range(11))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("depth", [0, 1, 2, 4])
def test_a_neighbourhood_is_what_reaches_the_node(directed, depth):
    graph = nx.gnp_random_graph(40, 0.06, seed=3, directed=directed)
    edges = np.array(graph.edges)
    nodes, kept = neighbourhood(edges, 40, 7, depth, directed)
    reached = graph.reverse() if directed else graph
    expected = sorted(nx.single_source_shortest_path_length(reached, 7, cutoff=depth))
    assert nodes.tolist() == expected
    inside = [i for i, (u, v) in enumerate(edges) if u in expected and v in expected]
    assert kept.tolist() == inside


def test_a_node_task_is_about_a_neighbourhood():
    graphs = graph_set(task="node", graphs=[nx.path_graph(20)])
    part = Part.of(graphs, GraphTarget(node=10))
    # Three layers, and one more step for the degrees of the outermost nodes.
    assert part.node_ids.tolist() == list(range(6, 15))
    assert part.node_ids[part.node] == 10
    assert part.edges.tolist() == [[i, i + 1] for i in range(8)]


def test_self_loops_parallel_edges_and_isolated_nodes_stay():
    graph = nx.MultiGraph([(0, 0), (0, 1), (0, 1), (1, 2)])
    graph.add_node(3)
    graphs = graph_set(graphs=[nx.path_graph(4)])
    edges = np.array([(u, v) for u, v, _ in graph.edges], dtype=np.int32)
    graphs.arrays.update(edges=edges, edge_counts=np.array([4], dtype=np.int32))
    part = Part.of(graphs, GraphTarget())
    assert part.edges.tolist() == [[0, 0], [0, 1], [0, 1], [1, 2]]
    assert len(part.x) == 4


def test_the_known_reason_of_a_node_is_its_own_motif():
    graphs = graph_set(task="node", graphs=[nx.path_graph(8)])
    graphs.arrays["edge_motifs"] = np.array([1, 1, 0, 2, 2, 0, 0], dtype=np.int32)
    graphs.arrays["node_motifs"] = np.array([1, 1, 1, 2, 2, 2, 0, 0], dtype=np.int32)
    truth = Part.of(graphs, GraphTarget(node=4)).truth
    assert np.flatnonzero(truth).tolist() == [3, 4]
    assert Part.of(graphs, GraphTarget(node=7)).truth is None


def test_the_known_reason_of_a_graph_is_all_its_motifs():
    graphs = graph_set(graphs=[nx.path_graph(4), nx.path_graph(4)])
    graphs.arrays["edge_motifs"] = np.array([1, 0, 2, 0, 0, 0], dtype=np.int32)
    assert Part.of(graphs, GraphTarget(graph=0)).truth.tolist() == [True, False, True]
    assert Part.of(graphs, GraphTarget(graph=1)).truth is None


def test_the_first_item_is_a_right_test_item_with_a_known_reason():
    graphs = graph_set(graphs=[nx.path_graph(3)] * 5)
    assert first_item(graphs) == 0
    graphs.arrays["split"] = np.array([TRAIN, TEST, TEST, TEST, TEST], dtype=np.int8)
    assert first_item(graphs) == 1
    motifs = np.zeros(15, dtype=np.int32)
    motifs[[7, 10]] = 1  # In graphs 2 and 3.
    graphs.arrays["node_motifs"] = motifs
    assert first_item(graphs) == 2
    graphs.arrays["labels"] = np.array([0, 0, 1, 0, 0], dtype=np.int32)
    graphs.arrays["logits"] = np.tile(np.array([1.0, 0.0], dtype=np.float32), (5, 1))
    assert first_item(graphs) == 3


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (GraphTarget(graph=3), "There is no graph 3"),
        (GraphTarget(graph=0, node=12), "There is no node 12"),
    ],
)
def test_what_is_not_there_is_said(target, said):
    with pytest.raises(InputError, match=said):
        Part.of(graph_set(task="node"), target)


def test_no_graphs_are_no_part():
    with pytest.raises(InputError, match="no graphs"):
        Part.of(GraphSet.none(), GraphTarget())


def test_a_set_without_a_model_has_neighbourhoods_too():
    graphs = dataclasses.replace(graph_set(task="node"), architecture=None)
    assert Part.of(graphs, GraphTarget(node=3)).node is not None
