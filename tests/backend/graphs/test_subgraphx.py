"""SubgraphX: exact Shapley values, a planted part, what is visited, bounds of the search."""

from __future__ import annotations

import dataclasses
import itertools
import math

import networkx as nx
import numpy as np
import pytest

from backend.errors import Cancelled, InputError
from backend.graphs import subgraph_search
from backend.graphs.explanation import GraphTarget
from backend.graphs.subgraphx import SubgraphX
from tests.backend.graphs.by_captum import directed_set
from tests.backend.graphs.made import graph_set
from tests.fake import FakeRun


def explain(graphs, target=None, run=None, **more):
    parameters = SubgraphX.Parameters(**more)
    target = target or GraphTarget(graph=0)
    return SubgraphX().explain(None, graphs, target, parameters, run or FakeRun())


def search(graphs, target=None, run=None, **more):
    from backend.graphs.explained import Decision

    parameters = SubgraphX.Parameters().model_copy(update=more)
    decision = Decision(graphs, target or GraphTarget(graph=0))
    return subgraph_search.Search(decision, parameters, run or FakeRun())


def exact(one, player):
    """Σ_S |S|! (m − |S|)! / (m + 1)! (v(S ∪ player) − v(S)) over the m nodes around."""
    from backend.graphs.classifier import probabilities

    part, layers = one.decision.part, one.decision.classifier.gnn.architecture.layers
    near = set(player)
    for _ in range(layers):
        near |= {w for v in near for w in one.graph[v]}
    around, total = sorted(near - player), 0.0
    for size in range(len(around) + 1):
        m = len(around)
        weight = math.factorial(size) * math.factorial(m - size) / math.factorial(m + 1)
        for chosen in itertools.combinations(around, size):
            said = []
            for nodes in (set(chosen) | player, set(chosen)):
                keep = [[u in nodes and v in nodes for u, v in part.edges.tolist()]]
                logits = one.decision.classifier.cut(part, np.array(keep))
                said.append(probabilities(logits)[0, one.decision.label])
            total += weight * (said[0] - said[1])
    return total


@pytest.mark.parametrize("task", ["graph", "node"])
@pytest.mark.parametrize("kind", ["gin", "gcn"])
def test_samples_come_near_the_exact_shapley_value(kind, task):
    graphs = graph_set(kind, task, [nx.barabasi_albert_graph(9, 2, seed=3)])
    target = GraphTarget(graph=0, node=4 if task == "node" else None)
    one = search(graphs, target, samples=4000)
    players = (frozenset({0, 1, 2}), frozenset({2, 5}))
    found = one._valued(list(players))
    expected = [exact(one, player) for player in players]
    largest = np.abs(expected).max()
    assert largest > 1e-5
    values = [found[player] for player in players]
    np.testing.assert_allclose(values, expected, atol=0.1 * largest)


def planted(monkeypatch, wanted):
    """Classifier whose class 1 is the likelier the more of the wanted edges stay."""
    from backend.graphs.classifier import Classifier

    def cut(self, part, keep, run=None, what=""):
        names = [frozenset(edge) for edge in part.node_ids[part.edges].tolist()]
        held = np.array([name in wanted for name in names], dtype=float)
        amount = np.asarray(keep, dtype=float) @ held
        return np.stack([np.zeros(len(amount)), 6.0 * (amount == held.sum()) - 3.0], axis=1)

    monkeypatch.setattr(Classifier, "cut", cut)


def triangle_on_a_path(nodes=14):
    graph = nx.path_graph(nodes)
    graph.add_edge(6, 8)
    return graph, {frozenset(e) for e in ((6, 7), (7, 8), (6, 8))}


@pytest.mark.parametrize("directed", [False, True])
def test_a_planted_part_is_found(monkeypatch, directed):
    graph, wanted = triangle_on_a_path()
    planted(monkeypatch, wanted)
    graphs = dataclasses.replace(graph_set(graphs=[graph]), directed=directed)
    found = explain(graphs, GraphTarget(graph=0, label=1), size=4)
    assert {6, 7, 8} <= set(found.values["best"])
    assert len(found.values["best"]) <= 4
    assert found.values["best_value"] > 0.3
    inside = [frozenset(e) in wanted for e in found.arrays["edges"].tolist()]
    scores = found.arrays["scores"]
    assert scores[inside].min() >= scores[~np.array(inside)].max()


def test_directions_do_not_matter_to_the_search(monkeypatch):
    graph, wanted = triangle_on_a_path()
    planted(monkeypatch, wanted)
    plain = graph_set(graphs=[graph])
    one, two = (search(dataclasses.replace(plain, directed=d)).run() for d in (False, True))
    assert one == two


@pytest.mark.parametrize("task", ["graph", "node"])
def test_a_score_is_the_best_value_of_a_small_part_that_holds_the_edge(task):
    graphs = graph_set("gin", task)
    largest = []
    for label in (0, 1):
        target = GraphTarget(graph=1, node=4 if task == "node" else None, label=label)
        found = explain(graphs, target, rollouts=4)
        one = search(graphs, target, rollouts=4)
        values = one.run()
        expected = []
        for u, v in found.arrays["edges"].tolist():
            holding = [x for part, x in values.items() if {u, v} <= part and len(part) <= 6]
            expected.append(max([0.0, *holding]))
        np.testing.assert_allclose(found.arrays["scores"], expected, atol=1e-6)
        largest.append(max(expected))
        for part in values:
            assert nx.is_connected(one.graph.subgraph(part))
            assert task == "graph" or found.values["target"] in part
        assert found.values["visited"] == len(values)
    assert max(largest) > 0


def test_passes_are_counted_and_each_part_is_valued_once():
    run = FakeRun()
    found = explain(graph_set(), run=run, samples=3)
    assert run.forward == 2 * 3 * found.values["visited"]


def test_few_copies_at_once_give_the_same(monkeypatch):
    at_once = explain(graph_set()).arrays["scores"]
    monkeypatch.setattr(subgraph_search, "AT_ONCE", 1)
    np.testing.assert_allclose(explain(graph_set()).arrays["scores"], at_once, atol=1e-6)


def test_of_pieces_the_largest_is_searched():
    graph = nx.disjoint_union(nx.path_graph(3), nx.path_graph(9))
    found = explain(graph_set(graphs=[graph]), rollouts=3)
    assert (found.arrays["scores"][:2] == 0).all()
    assert min(found.values["best"]) >= 3


@pytest.mark.parametrize("kind", ["gin", "gcn"])
def test_a_walk_through_a_large_graph_has_few_moves(kind):
    graph = nx.barabasi_albert_graph(900, 1, seed=0)
    run = FakeRun()
    more = {"rollouts": 2, "samples": 1, "children": 2}
    one = search(graph_set(kind, graphs=[graph]), run=run, **more)
    values = one.run()
    large, share = subgraph_search.LARGE, subgraph_search.SHARE
    most = large + math.ceil(share * math.log(900 / large)) + share
    assert len(values) <= 2 * 2 * most
    assert any(len(part) <= 6 for part in values)


def test_a_small_graph_loses_one_node_a_move():
    one = search(graph_set(graphs=[nx.complete_graph(20)]), rollouts=1)
    sizes = {len(part) for part in one.run()}
    assert sizes == set(range(6, 20))


@pytest.mark.parametrize(("bound", "most"), [("MOST_NODES", 12), ("MOST_EDGES", 11)])
def test_a_part_too_large_to_search_is_refused(monkeypatch, bound, most):
    monkeypatch.setattr(subgraph_search, bound, most - 1)
    with pytest.raises(InputError, match=f"at most .*{most - 1}.*; here are 12 and 11"):
        explain(graph_set())
    monkeypatch.setattr(subgraph_search, bound, most)
    assert len(explain(graph_set()).arrays["scores"]) == 11


def test_it_can_be_cancelled_while_a_part_is_valued():
    class Impatient(FakeRun):
        asked = 0

        def check_cancelled(self):
            self.asked += 1
            if self.asked > 3:
                raise Cancelled("cancelled")

    run = Impatient()
    with pytest.raises(Cancelled):
        explain(graph_set(), run=run)
    assert run.forward <= 2 * 8 * 8


def test_a_directed_graph_has_one_score_an_edge():
    graphs = directed_set("gin")
    found = explain(graphs, rollouts=2)
    assert found.arrays["scores"].shape == (len(graphs.graph(0).edges),)
    both = {
        tuple(e): s
        for e, s in zip(found.arrays["edges"].tolist(), found.arrays["scores"], strict=True)
    }
    for (u, v), score in both.items():
        assert both.get((v, u), score) == score
