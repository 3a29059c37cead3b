"""Edges found again by their ends, and what noise leaves alone."""

import dataclasses

import networkx as nx
import numpy as np
import pytest

from backend.graphs.explanation import GraphExplanation, GraphTarget
from backend.graphs.noise import aligned, noisy
from backend.graphs.part import Part
from tests.backend.graphs.made import graph_set

CIRCLE = [(i, (i + 1) % 8) for i in range(8)]


def told(scores, edges=CIRCLE, nodes=None):
    """An explanation with scores of these edges between these nodes."""
    nodes = np.arange(1 + max(map(max, edges), default=0)) if nodes is None else np.array(nodes)
    return GraphExplanation(
        arrays={
            "scores": np.asarray(scores, dtype=np.float32),
            "edges": np.array(edges, dtype=np.int32).reshape(-1, 2),
            "node_ids": nodes.astype(np.int32),
        },
        values={"kind": "edges"},
    )


def pairs(graphs, number=0):
    """The edges of a graph; of an undirected one, the smaller end first."""
    edges = graphs.graph(number).edges.tolist()
    return sorted(tuple(edge if graphs.directed else sorted(edge)) for edge in edges)


def test_edges_without_a_partner_have_no_score():
    one = told([1, 2, 3], [(0, 1), (1, 2), (2, 3)])
    other = told([30, 40, 20], [(2, 3), (0, 3), (1, 2)])
    first, second = aligned([one, other])
    assert first.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(second, [np.nan, 20, 30])


def test_edges_of_parts_are_found_by_numbers_of_the_graph():
    one = told([1, 2], [(0, 1), (1, 2)], nodes=[4, 7, 9])
    other = told([10, 20], [(0, 1), (1, 2)], nodes=[7, 9, 11])
    np.testing.assert_array_equal(aligned([one, other])[1], [np.nan, 10])


def test_parallel_edges_are_paired_in_their_order():
    one = told([1, 2, 3, 9], [(0, 1), (0, 1), (1, 1), (1, 2)])
    other = told([10, 20, 30], [(0, 1), (0, 1), (1, 1)])
    np.testing.assert_array_equal(aligned([one, other])[1], [10, 20, 30, np.nan])


def planted(task="graph", directed=False):
    """Two graphs of 40 nodes, a circle of five nodes in the first being the known reason."""
    graph = nx.barabasi_albert_graph(35, 2, seed=1)
    graph = nx.disjoint_union(graph, nx.cycle_graph(5))
    graph.add_edge(0, 35)
    graph = nx.DiGraph(list(graph.edges)) if directed else graph
    graphs = graph_set(
        "gcn", task, [graph, nx.path_graph(6, create_using=nx.DiGraph if directed else None)]
    )
    motif = graphs.arrays["edges"].min(axis=1) >= 35
    graphs.arrays["edge_motifs"] = motif.astype(np.int32)
    nodes = np.zeros(len(graphs.arrays["x"]), dtype=np.int32)
    nodes[35:40] = 1
    graphs.arrays["node_motifs"] = nodes
    return graphs


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_noise_replaces_its_share_and_leaves_the_known_reason(share, directed):
    graphs = planted(directed=directed)
    target = GraphTarget(graph=0)
    before = pairs(graphs)
    replaced = round(share * len(before))
    for seed in range(5):
        found = noisy(graphs, target, seed, share)
        after = pairs(found)
        assert len(found) == 1
        assert len(after) == len(before)
        assert len(set(before) - set(after)) == replaced
        new = set(after) - set(before)
        assert not [edge for edge in new if min(edge) >= 35], "none among the reason's nodes"
        assert not [edge for edge in new if edge[0] == edge[1]]
        old, now = Part.of(graphs, target), Part.of(found, target)
        ends = [{tuple(e) for e in part.edges[part.truth].tolist()} for part in (old, now)]
        assert ends[0] == ends[1]
        np.testing.assert_array_equal(now.x, old.x)


def test_noise_adds_no_edge_that_is_there():
    graphs = planted()
    found = noisy(graphs, GraphTarget(graph=0), 0, 0.5)
    assert len(set(pairs(found))) == len(pairs(found))


def test_noise_is_that_of_its_seed():
    graphs, target = planted(), GraphTarget(graph=0)
    one, again, other = (noisy(graphs, target, seed) for seed in (1, 1, 2))
    assert one.digest() == again.digest() != other.digest()


def test_noise_of_a_node_stays_in_its_part():
    graph = nx.path_graph(60)
    graphs = graph_set("gcn", "node", [graph])
    target = GraphTarget(graph=0, node=5)
    part = Part.of(graphs, target)
    assert len(part) < 15
    found = noisy(graphs, target, 0, 0.4)
    changed = set(pairs(graphs)) ^ set(pairs(found))
    assert changed
    assert max(max(edge) for edge in changed) <= part.node_ids.max()
    assert len(found.graph(0).x) == 60


@pytest.mark.parametrize("graph", [nx.empty_graph(3), nx.empty_graph(1), nx.complete_graph(4)])
def test_graphs_with_no_room_for_noise_survive_it(graph):
    graphs = graph_set(graphs=[graph])
    found = noisy(graphs, GraphTarget(graph=0), 0, 0.4)
    assert len(found.graph(0).x) == len(graph)
    assert len(pairs(found)) <= graph.number_of_edges()
    assert set(pairs(found)) <= {tuple(sorted(e)) for e in graph.edges}


def test_self_loops_and_parallel_edges_are_edges_like_others():
    graph = nx.MultiGraph(CIRCLE)
    graph.add_edges_from([(0, 1), (3, 3)])
    graphs = graph_set(graphs=[graph])
    arrays = dict(graphs.arrays)
    arrays["edges"] = np.array([edge[:2] for edge in graph.edges], dtype=np.int32)
    arrays["edge_counts"] = np.array([10], dtype=np.int32)
    found = noisy(dataclasses.replace(graphs, arrays=arrays), GraphTarget(graph=0), 0, 0.2)
    assert len(found.graph(0).edges) == 10


def test_a_noisy_copy_can_be_explained_and_compared():
    from backend.graphs.explained import Decision, explained

    graphs, target = planted(), GraphTarget(graph=0)
    whole = Decision(graphs, target)
    copy = Decision(noisy(graphs, target, 3), target)
    made = [explained(one, one.part.edges.sum(axis=1).astype(float)) for one in (whole, copy)]
    before, after = aligned(made)
    here = np.isfinite(after)
    assert 0 < here.sum() < len(before)
    assert before[here].tolist() == after[here].tolist(), "a score of the ends does not change"


def test_names_and_features_come_along():
    graphs = planted()
    graphs.arrays["edge_attr"] = np.eye(4, dtype=np.float32)[
        np.arange(len(graphs.arrays["edges"])) % 4
    ]
    names = tuple(f"n{i}" for i in range(len(graphs.arrays["x"])))
    graphs = dataclasses.replace(graphs, node_names=names, graph_names=("one", "two"))
    found = noisy(graphs, GraphTarget(graph=1), 0, 0.4)
    assert found.graph_names == ("two",)
    assert found.node_names == names[40:]
    assert found.arrays["edge_attr"].shape == (5, 4)
    # A new edge has the features of one that it replaces.
    theirs = graphs.graph(1).edge_attr
    assert sorted(found.arrays["edge_attr"].tolist()) == sorted(theirs.tolist())
    assert {name for name in found.arrays if name.startswith("gnn/")} == {
        name for name in graphs.arrays if name.startswith("gnn/")
    }
