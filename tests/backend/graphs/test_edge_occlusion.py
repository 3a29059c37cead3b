"""Edge occlusion: an edge really deleted from the set, one at a time."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from backend.graphs import edge_occlusion
from backend.graphs.edge_occlusion import EdgeOcclusion
from backend.graphs.explanation import GraphTarget
from tests.backend.graphs.by_captum import directed_set, looped_set
from tests.backend.graphs.made import graph_set
from tests.fake import FakeRun


def explain(graphs, target, run=None):
    run = run or FakeRun()
    return EdgeOcclusion().explain(None, graphs, target, EdgeOcclusion.Parameters(), run)


def without(graphs, number, edge):
    """The set, but for one edge of one graph."""
    first = int(graphs.arrays["edge_counts"][:number].sum())
    counts = graphs.arrays["edge_counts"].copy()
    counts[number] -= 1
    edges = np.delete(graphs.arrays["edges"], first + edge, axis=0)
    return dataclasses.replace(
        graphs, arrays={**graphs.arrays, "edges": edges, "edge_counts": counts}
    )


def probability(graphs, target, label):
    """Of a class, by the whole graph and not by what is cut out of it for a node."""
    import torch

    from backend.graphs import batch as batches
    from backend.graphs.classifier import Classifier

    with torch.no_grad():
        logits = Classifier.of(graphs).logits(batches.whole(graphs, [target.graph]))
    return float(logits.double().softmax(dim=1)[target.node or 0, label])


@pytest.mark.parametrize("task", ["graph", "node"])
@pytest.mark.parametrize("kind", ["gin", "gcn", "gat", "sage"])
def test_it_is_what_the_class_loses_without_the_edge(kind, task):
    target = GraphTarget(graph=1, node=4 if task == "node" else None)
    for graphs in (graph_set(kind, task), directed_set(kind, task), looped_set(kind, task)):
        run = FakeRun()
        found = explain(graphs, target, run)
        label = found.values["label"]
        whole = probability(graphs, target, label)
        expected = [
            whole - probability(without(graphs, 1, int(e)), target, label)
            for e in found.arrays["edge_ids"]
        ]
        np.testing.assert_allclose(found.arrays["scores"], expected, atol=1e-5)
        assert np.abs(expected).max() > 1e-4
        assert run.forward == len(expected)


def test_few_copies_at_once_give_the_same(monkeypatch):
    graphs = graph_set("gcn")
    at_once = explain(graphs, GraphTarget(graph=0)).arrays["scores"]
    monkeypatch.setattr(edge_occlusion, "ROWS", 3)
    run = FakeRun()
    one_by_one = explain(graphs, GraphTarget(graph=0), run).arrays["scores"]
    np.testing.assert_allclose(one_by_one, at_once, atol=1e-6)
    assert [done for done, _, _ in run.reports] == [0, 3, 6, 9]


@pytest.mark.parametrize("kind", ["gcn", "gat"])
def test_a_loop_that_the_gnn_replaces_loses_nothing(kind):
    graphs = looped_set(kind)
    u, v = graphs.graph(1).edges.T
    scores = explain(graphs, GraphTarget(graph=1)).arrays["scores"]
    np.testing.assert_allclose(scores[u == v], 0, atol=1e-6)


def test_parallel_edges_are_deleted_one_at_a_time():
    graphs = looped_set("gin")
    scores = explain(graphs, GraphTarget(graph=1)).arrays["scores"]
    same = np.flatnonzero((graphs.graph(1).edges == [4, 5]).all(axis=1))
    assert len(same) >= 2
    assert np.ptp(scores[same]) < 1e-6
