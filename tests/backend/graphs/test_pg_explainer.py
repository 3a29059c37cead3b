"""PGExplainer: torch_geometric's own numbers, what a fit keeps, what is no fit."""

from __future__ import annotations

import dataclasses

import networkx as nx
import numpy as np
import pytest

from backend.errors import Cancelled, InputError
from backend.graphs.explanation import TEST, TRAIN, GraphExplanation, GraphTarget
from backend.graphs.fit_ms_explainer import FitMSExplainer
from backend.graphs.fit_pg_explainer import FitPGExplainer
from backend.graphs.pg_explainer import PGExplainer
from tests.backend.graphs.by_captum import directed_set, looped_everywhere, looped_set
from tests.backend.graphs.made import graph_set
from tests.fake import FakeRun

KINDS = ["gin", "gcn", "gat", "sage"]
SHORT = {"epochs": 3, "graphs": 4, "learning_rate": 0.003}


def fit(graphs, run=None, **more):
    parameters = FitPGExplainer.Parameters(**{**SHORT, **more})
    return FitPGExplainer().explain(None, graphs, GraphTarget(), parameters, run or FakeRun())


def explain(graphs, target, run=None, **more):
    parameters = PGExplainer.Parameters(**{**SHORT, **more})
    return PGExplainer().explain(None, graphs, target, parameters, run or FakeRun())


def columns(decision):
    """x, edge_index and the edge of each column; without loops that the GNN replaces."""
    import torch

    part = decision.part
    u, v = part.edges.T
    keep = (u != v) | (decision.classifier.gnn.architecture.kind in ("gin", "sage"))
    forth, back = np.flatnonzero(keep), np.flatnonzero(u != v)
    index, owners = part.edges[forth], forth
    if not part.directed:
        index = np.concatenate([index, part.edges[back, ::-1]])
        owners = np.concatenate([forth, back])
    edge_index = torch.from_numpy(np.ascontiguousarray(index.T))
    return torch.from_numpy(part.x), edge_index, owners


def by_torch_geometric(graphs, learned_from, target, seed):
    """[e] mask of the library, trained by the loop of its documentation."""
    import torch
    from torch_geometric.explain import Explainer
    from torch_geometric.explain import PGExplainer as Algorithm

    from backend.graphs.batch import Batch
    from backend.graphs.explained import Decision

    class Model(torch.nn.Module):
        def __init__(self, gnn):
            super().__init__()
            self.inner = gnn

        def forward(self, x, edge_index):
            none = torch.zeros(0, dtype=torch.long)
            graph = torch.zeros(len(x), dtype=torch.long)
            return self.inner(Batch(x, edge_index, none, graph, 1, none)).logits

    decision = Decision(graphs, target)
    model = Model(decision.classifier.gnn).eval()
    lessons = [
        one for one in (Decision(graphs, one) for one in learned_from) if len(columns(one)[2])
    ]
    torch.manual_seed(seed)
    explainer = Explainer(
        model=model,
        algorithm=Algorithm(epochs=SHORT["epochs"], lr=SHORT["learning_rate"]),
        explanation_type="phenomenon",
        edge_mask_type="object",
        model_config={
            "mode": "multiclass_classification",
            "task_level": graphs.task,
            "return_type": "raw",
        },
    )

    def goal(one, label):
        return torch.full((len(one.part.x) if graphs.task == "node" else 1,), label)

    for epoch in range(SHORT["epochs"]):
        for one in lessons:
            x, edge_index, _ = columns(one)
            explainer.algorithm.train(
                epoch, model, x, edge_index, target=goal(one, one.predicted), index=one.part.node
            )
    x, edge_index, owners = columns(decision)
    found = explainer(
        x, edge_index, target=goal(decision, decision.label), index=decision.part.node
    ).edge_mask
    masks = [found.numpy()[owners == e] for e in range(len(decision.part))]
    return np.array([mask.mean() if len(mask) else 0 for mask in masks])


@pytest.mark.parametrize("task", ["graph", "node"])
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_what_torch_geometric_learns(kind, task):
    from backend.graphs import items

    target = GraphTarget(graph=1, node=4 if task == "node" else None)
    for graphs in (graph_set(kind, task), directed_set(kind, task), looped_set(kind, task)):
        chosen = items.to_learn_from(graphs, SHORT["graphs"], np.random.default_rng(5))
        learned_from = [items.target(graphs, int(i)) for i in chosen]
        expected = by_torch_geometric(graphs, learned_from, target, 5)
        found = explain(graphs, target, FakeRun(seed=5)).arrays["scores"]
        np.testing.assert_allclose(found, expected, atol=1e-6)
        assert np.ptp(expected) > 1e-4
        subject = GraphExplanation.from_bytes(fit(graphs, FakeRun(seed=5)).to_bytes())
        again = explain(graphs, target, FakeRun(seed=9, subject=subject)).arrays["scores"]
        np.testing.assert_allclose(again, found, atol=1e-7)


@pytest.mark.parametrize("kind", ["gcn", "gat"])
def test_loops_at_all_nodes_change_nothing_for_a_gnn_with_its_own(kind):
    plain, looped = looped_everywhere(kind)
    u, v = looped.graph(0).edges.T
    expected = explain(plain, GraphTarget(graph=0)).arrays["scores"]
    found = explain(looped, GraphTarget(graph=0)).arrays["scores"]
    np.testing.assert_allclose(found[u != v], expected, atol=1e-6)
    assert (found[u == v] == 0).all()


def test_it_learns_from_training_graphs_that_have_an_edge():
    graphs = graph_set(graphs=[nx.path_graph(4), nx.empty_graph(3), nx.path_graph(5)])
    assert fit(graphs).values["items"] == 2
    graphs.arrays["split"] = np.array([TRAIN, TRAIN, TEST], dtype=np.int8)
    assert fit(graphs).values["items"] == 1
    only = graph_set(graphs=[nx.path_graph(4)])
    for name, array in fit(graphs).arrays.items():
        assert array.dtype == np.float32
        assert array.shape == fit(only).arrays[name].shape


def test_a_set_without_edges_cannot_be_learned_from():
    with pytest.raises(InputError, match="No graph here has an edge"):
        fit(graph_set(graphs=[nx.empty_graph(3)]))


def test_loops_alone_cannot_be_learned_from_where_the_gnn_has_its_own():
    loop = nx.Graph([(0, 0)])
    with pytest.raises(InputError, match="No graph here has an edge"):
        fit(graph_set("gcn", graphs=[loop]))
    assert fit(graph_set("gin", graphs=[loop])).values["items"] == 1


def broken(graphs):
    """What is no fit to this set's GNN, and what is said of it."""
    good = fit(graphs)
    missing = {n: a for n, a in good.arrays.items() if n != "mlp/2.bias"}
    short = {**good.arrays, "mlp/0.weight": good.arrays["mlp/0.weight"][:, 1:]}
    flat = {**good.arrays, "mlp/0.bias": good.arrays["mlp/0.bias"][:, None]}
    endless = {**good.arrays, "mlp/2.bias": np.array([np.nan], dtype=np.float32)}
    ms = FitMSExplainer.Parameters(epochs=1, restarts=1)
    nodes = graph_set("gin", "node")
    no, other = "no fit of PGExplainer", "another GNN"
    return [
        (FitMSExplainer().explain(None, graphs, GraphTarget(), ms, FakeRun()), no),
        (explain(graphs, GraphTarget(graph=0)), no),
        (GraphExplanation(arrays={}, values={}), no),
        (GraphExplanation(arrays={}, values={"kind": "fit"}), no),
        (dataclasses.replace(good, values={"kind": "score"}), no),
        (dataclasses.replace(good, values={}), no),
        (dataclasses.replace(good, arrays=missing), no),
        (dataclasses.replace(good, arrays={**good.arrays, "mlp/4.bias": np.zeros(1)}), no),
        (object(), no),
        (dataclasses.replace(good, arrays=short), other),
        (dataclasses.replace(good, arrays=flat), other),
        (fit(nodes), other),
        (dataclasses.replace(good, arrays=endless), "no numbers"),
    ]


def test_what_is_no_fit_is_refused():
    graphs = graph_set()
    for subject, said in broken(graphs):
        with pytest.raises(InputError, match=said):
            explain(graphs, GraphTarget(graph=0), FakeRun(subject=subject))


def test_another_class_is_noted():
    graphs = graph_set()
    predicted = explain(graphs, GraphTarget(graph=0))
    assert not predicted.notes
    label = 1 - predicted.values["predicted"]
    other = explain(graphs, GraphTarget(graph=0, label=label))
    assert other.notes
    assert np.array_equal(other.arrays["scores"], predicted.arrays["scores"])


def test_a_fit_can_be_cancelled_while_it_reads_and_while_it_learns():
    run = FakeRun()
    fit(graph_set(), run)
    assert {what for _, _, what in run.reports} == {
        "reading the training graphs",
        "learning to score edges",
    }
    assert (run.forward, run.backward) == (18, 9)
    for after in range(1, len(run.reports) + 1):
        with pytest.raises(Cancelled):
            fit(graph_set(), FakeRun(cancel_after=after))


def test_batch_norm_stays_as_it_was_trained(monkeypatch):
    """torch_geometric's get_embeddings calls `model.train(model.training)` after each look."""
    from backend.graphs import pyg

    seen = []
    forward = pyg.Bare.forward

    def watched(self, x, edge_index):
        seen.append(any(module.training for module in self.modules()))
        means = [norm.running_mean.clone() for norm in self.gnn.norms]
        found = forward(self, x, edge_index)
        for before, norm in zip(means, self.gnn.norms, strict=True):
            assert np.array_equal(before, norm.running_mean)
        return found

    monkeypatch.setattr(pyg.Bare, "forward", watched)
    explain(graph_set(), GraphTarget(graph=0))
    assert len(seen) > 10
    assert not any(seen)
