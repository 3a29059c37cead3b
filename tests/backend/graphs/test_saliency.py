"""Saliency of edges: torch_geometric's own numbers by captum, finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from backend.graphs.explanation import GraphTarget
from backend.graphs.saliency import Saliency
from tests.backend.graphs.by_captum import by_captum, directed_set, looped_everywhere, looped_set
from tests.backend.graphs.made import graph_set
from tests.fake import FakeRun

KINDS = ["gin", "gcn", "gat", "sage"]


def scores(graphs, target, **more):
    parameters = Saliency.Parameters(**more)
    return Saliency().explain(None, graphs, target, parameters, FakeRun()).arrays["scores"]


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("task", ["graph", "node"])
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_what_torch_geometric_gets_of_captum(kind, task, label):
    target = GraphTarget(graph=1, node=4 if task == "node" else None, label=label)
    for graphs in (graph_set(kind, task), directed_set(kind, task), looped_set(kind, task)):
        expected = by_captum("Saliency", graphs, target, abs=False)
        assert np.abs(expected).max() > 1e-4
        np.testing.assert_allclose(scores(graphs, target, absolute=False), expected, atol=1e-5)
        np.testing.assert_allclose(scores(graphs, target), np.abs(expected), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_the_slope_of_the_logit(kind):
    import torch

    from backend.graphs import batch as batches
    from backend.graphs.explained import Decision

    graphs = graph_set(kind)
    decision = Decision(graphs, GraphTarget(graph=0))
    gnn = decision.classifier.gnn.double()
    one = batches.parts([decision.part])
    one.__dict__["x"] = one.x.double()

    def logit(weights):
        with torch.no_grad():
            return float(decision.classifier.logits(one, weights)[0, decision.label])

    expected, step = [], 1e-6
    for e in range(one.edges):
        moved = torch.zeros(one.edges, dtype=torch.float64)
        moved[e] = step
        expected.append((logit(1 + moved) - logit(1 - moved)) / (2 * step))
    assert gnn.training is False
    found = scores(graphs, GraphTarget(graph=0), absolute=False)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_sign_and_unit_are_said():
    for absolute in (True, False):
        parameters = Saliency.Parameters(absolute=absolute)
        run = FakeRun()
        found = Saliency().explain(None, graph_set(), GraphTarget(graph=0), parameters, run)
        assert found.values["signed"] is not absolute
        assert found.values["unit"] == "logit per weight"
        assert (run.forward, run.backward) == (1, 1)


@pytest.mark.parametrize("kind", ["gcn", "gat"])
def test_a_loop_that_the_gnn_replaces_has_no_slope(kind):
    graphs = looped_set(kind)
    u, v = graphs.graph(1).edges.T
    found = scores(graphs, GraphTarget(graph=1))
    assert (found[u == v] == 0).all()
    assert (found[u != v] > 0).any()


@pytest.mark.parametrize("kind", ["gcn", "gat"])
def test_loops_at_all_nodes_change_nothing_for_a_gnn_with_its_own(kind):
    plain, looped = looped_everywhere(kind)
    u, v = looped.graph(0).edges.T
    expected = scores(plain, GraphTarget(graph=0))
    found = scores(looped, GraphTarget(graph=0))
    np.testing.assert_allclose(found[u != v], expected, atol=1e-6)
    assert (found[u == v] == 0).all()
