"""What every explainer of the family keeps: odd graphs, order of nodes, an untouched GNN, an end.

Of the order of nodes only SubgraphX is left out: which of equal moves it tries and which coalitions
it draws depends on their numbers, as `backend.graphs.subgraph_search` says.
"""

from __future__ import annotations

import dataclasses
import functools

import networkx as nx
import numpy as np
import pytest

from backend import consensus
from backend.errors import Cancelled, InputError
from backend.graphs import FAMILY
from backend.graphs.explanation import GraphSet, GraphTarget
from tests.backend.graphs.made import FEATURES, edge_attr, graph_set
from tests.fake import FakeRun, sourced

QUICK = {
    "ms_explainer": {"epochs": 1, "restarts": 1},
    "gnn_explainer": {"epochs": 4},
    "pg_explainer": {"epochs": 1, "graphs": 2},
    "subgraphx": {"rollouts": 2, "samples": 2},
}
EXPLAINERS = [cls.id for cls in FAMILY.explainers]
IN_ANY_ORDER = [id for id in EXPLAINERS if id != "subgraphx"]
KINDS = ["gin", "gcn", "gat", "sage", "dmpnn"]


def given(edges, nodes, kind="gin", task="graph", directed=False, seed=0) -> GraphSet:
    """A set of one graph whose edges may be loops and parallel, behind a graph to learn from."""
    graphs = graph_set(kind, task, [nx.path_graph(5)], seed=seed)
    x = np.random.default_rng(seed).normal(size=(nodes, FEATURES)).astype(np.float32)
    edges = np.array(edges, dtype=np.int32).reshape(-1, 2)
    graphs.arrays.update(
        x=np.concatenate([graphs.arrays["x"], x]),
        edges=np.concatenate([graphs.arrays["edges"], edges]),
        node_counts=np.array([5, nodes], dtype=np.int32),
        edge_counts=np.array([4, len(edges)], dtype=np.int32),
    )
    if kind == "dmpnn":
        graphs.arrays["edge_attr"] = edge_attr(graphs.arrays["edges"])
    return dataclasses.replace(graphs, directed=directed)


ODD = {
    "no edges": ([], 3, False),
    "one node": ([], 1, False),
    "one edge": ([[0, 1]], 2, False),
    "only a self-loop": ([[0, 0]], 2, False),
    "self-loop": ([[0, 1], [1, 1], [1, 2]], 3, False),
    "a self-loop at each node": ([[1, 1], [0, 1], [2, 2], [1, 2], [0, 0]], 3, False),
    "parallel self-loops": ([[0, 0], [0, 0], [0, 1]], 2, False),
    "parallel edges": ([[0, 1], [0, 1], [1, 0], [1, 2]], 3, False),
    "isolated nodes": ([[1, 2], [2, 4]], 6, False),
    "directed": ([[0, 1], [1, 0], [2, 1], [3, 2], [1, 1]], 5, True),
    "pieces": ([[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [5, 6], [6, 3]], 8, False),
}
LARGER = [*nx.barabasi_albert_graph(12, 2, seed=1).edges, (3, 3), (0, 2), (0, 2)]


def explain(id, graphs, target=None, run=None):
    explainer = FAMILY.find(id)
    parameters = explainer.Parameters(**QUICK.get(id, {}))
    run = run or FakeRun()
    if id == consensus.ID:
        run.members = [
            sourced(explain(one, graphs, target), one) for one in ("saliency", "edge_occlusion")
        ]
    return explainer.explain(None, graphs, target or GraphTarget(graph=1), parameters, run)


def kinds(id):
    few = {
        "gat_attention": ["gat"],
        "random_edges": ["gin"],
        "ms_explainer": ["gin", "gcn", "dmpnn"],
    }
    return few.get(id, KINDS)


EACH = [(id, kind) for id in EXPLAINERS for kind in kinds(id)]


@functools.cache
def fit(id, kind, task, directed):
    """A fit on the first of the two graphs, the same for any order of the second's nodes."""
    step = getattr(type(FAMILY.find(id)), "fit", None)
    if step is None:
        return None
    graphs = given([[0, 1]], 2, kind, task, directed)
    parameters = FAMILY.find(step).Parameters(epochs=1)
    return FAMILY.find(step).explain(None, graphs, GraphTarget(), parameters, FakeRun())


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    ("id", "kind", "task"),
    [(id, kind, "graph") for id, kind in EACH]
    + [(id, "gat" if id == "gat_attention" else "gin", "node") for id in EXPLAINERS],
)
def test_odd_graphs_have_a_finite_score_an_edge(id, kind, odd, task):
    edges, nodes, directed = ODD[odd]
    graphs = given(edges, nodes, kind, task, directed)
    node = {"graph": None, "node": 1 if nodes > 1 else 0}[task]
    run = FakeRun(subject=fit(id, kind, task, directed))
    found = explain(id, graphs, GraphTarget(graph=1, node=node), run)
    assert found.arrays["scores"].shape == (len(found.arrays["edges"]),)
    if task == "graph":
        assert found.arrays["scores"].shape == (len(edges),)
    for name, array in found.arrays.items():
        assert np.isfinite(array).all(), name
    assert found.values["kind"] == "edges"
    assert type(found).from_bytes(found.to_bytes()).digest() == found.digest()


@pytest.mark.parametrize("task", ["graph", "node"])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("id", "kind"), [(id, kind) for id, kind in EACH if id in IN_ANY_ORDER])
def test_permuting_nodes_permutes_scores(id, kind, directed, task):
    graphs = given(LARGER, 12, kind, task, directed)
    order = np.random.default_rng(3).permutation(12)  # New number of each node.
    edges, x = graphs.arrays["edges"].copy(), graphs.arrays["x"].copy()
    edges[4:] = order[edges[4:]]
    x[5 + order] = graphs.arrays["x"][5:]
    other = dataclasses.replace(graphs, arrays={**graphs.arrays, "edges": edges, "x": x})
    run = functools.partial(FakeRun, subject=fit(id, kind, task, directed))
    node, moved = (None, None) if task == "graph" else (11, int(order[11]))
    before = explain(id, graphs, GraphTarget(graph=1, node=node), run())
    after = explain(id, other, GraphTarget(graph=1, node=moved), run())
    assert (before.arrays["edge_ids"] == after.arrays["edge_ids"]).all()
    assert len(before.arrays["scores"]) > 2
    np.testing.assert_allclose(after.arrays["scores"], before.arrays["scores"], atol=1e-5)
    numbers = order[before.arrays["node_ids"]]
    at = np.searchsorted(after.arrays["node_ids"], numbers)
    sizes = np.abs(after.arrays["node_scores"][at])
    np.testing.assert_allclose(sizes, np.abs(before.arrays["node_scores"]), atol=1e-5)


@pytest.mark.parametrize(
    ("id", "kind"),
    [(id, kind) for id, kind in EACH if id not in ("gnn_explainer", "subgraphx")],
)
def test_which_end_of_an_undirected_edge_is_named_first_does_not_matter(id, kind):
    graphs = given(LARGER, 12, kind)
    edges = graphs.arrays["edges"].copy()
    edges[5::2] = edges[5::2, ::-1]
    other = dataclasses.replace(graphs, arrays={**graphs.arrays, "edges": edges})
    run = functools.partial(FakeRun, subject=fit(id, kind, "graph", False))
    one, two = (explain(id, each, run=run()).arrays["scores"] for each in (graphs, other))
    np.testing.assert_allclose(one, two, atol=1e-5)


@pytest.mark.parametrize("id", EXPLAINERS)
def test_the_same_seed_gives_the_same_scores_whatever_torch_drew_before(id):
    import torch

    graphs = given(LARGER, 12, kinds(id)[0])
    one = explain(id, graphs)
    torch.rand(3)
    two = explain(id, graphs)
    assert np.array_equal(one.arrays["scores"], two.arrays["scores"])


@pytest.mark.parametrize("task", ["graph", "node"])
@pytest.mark.parametrize(("id", "kind"), EACH)
def test_the_gnn_answers_afterwards_as_before(id, kind, task, monkeypatch):
    from torch_geometric.nn import MessagePassing

    from backend.graphs.classifier import Classifier
    from backend.graphs.explained import Decision

    graphs = given(LARGER, 12, kind, task)
    digest = graphs.digest()
    classifier = Classifier.of(graphs)
    monkeypatch.setattr(Classifier, "of", lambda *_: classifier)
    target = GraphTarget(graph=1, node=None if task == "graph" else 11)
    before = Decision(graphs, target)
    names = set(classifier.gnn.state_dict())
    run = FakeRun()
    explain(id, graphs, target, run)
    assert np.array_equal(Decision(graphs, target).logits, before.logits)
    assert set(classifier.gnn.state_dict()) == names
    assert not classifier.gnn.training
    for module in classifier.gnn.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks
        if isinstance(module, MessagePassing):
            assert module._edge_mask is None
            assert "_edge_mask" not in module._parameters
            assert not module.explain
    assert not any(w.requires_grad or w.grad is not None for w in classifier.gnn.parameters())
    assert graphs.digest() == digest


@pytest.mark.parametrize("id", EXPLAINERS)
def test_cancelling_ends_it_at_the_first_report_and_at_the_last(id):
    graphs = given(LARGER, 12, kinds(id)[0])
    run = FakeRun()
    explain(id, graphs, run=run)
    # One pass, or none, is over before anybody could ask for its end.
    assert bool(run.reports) == (id not in ("gat_attention", "random_edges"))
    for after in {1, len(run.reports)} if run.reports else ():
        with pytest.raises(Cancelled):
            explain(id, graphs, run=FakeRun(cancel_after=after))


@pytest.mark.parametrize("id", EXPLAINERS)
def test_progress_never_exceeds_its_total(id):
    run = FakeRun()
    explain(id, given(LARGER, 12, kinds(id)[0]), run=run)
    for done, total, what in run.reports:
        assert 0 <= done <= total
        assert what


@pytest.mark.parametrize("id", EXPLAINERS)
@pytest.mark.parametrize(
    ("task", "target", "said"),
    [
        ("graph", GraphTarget(graph=2), "There is no graph 2"),
        ("graph", GraphTarget(graph=1, label=2), "There is no class 2"),
        ("node", GraphTarget(graph=1, node=12), "There is no node 12"),
    ],
)
def test_what_is_not_there_is_said(id, task, target, said):
    with pytest.raises(InputError, match=said):
        explain(id, given(LARGER, 12, kinds(id)[0], task), target)


@pytest.mark.parametrize("id", EXPLAINERS)
def test_a_set_without_a_gnn_is_refused(id):
    graphs = dataclasses.replace(given(LARGER, 12), architecture=None)
    with pytest.raises(InputError, match="no GNN"):
        explain(id, graphs)
