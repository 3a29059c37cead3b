"""Integrated gradients of edges: torch_geometric's own numbers by captum, completeness."""

from __future__ import annotations

import numpy as np
import pytest

from backend.graphs.explanation import GraphTarget
from backend.graphs.integrated_gradients_edges import IntegratedGradientsEdges, quadrature
from tests.backend.graphs.by_captum import by_captum, directed_set, looped_set
from tests.backend.graphs.made import graph_set
from tests.fake import FakeRun

KINDS = ["gin", "gcn", "gat", "sage"]


def explain(graphs, target, run=None, **more):
    parameters = IntegratedGradientsEdges.Parameters(**more)
    return IntegratedGradientsEdges().explain(None, graphs, target, parameters, run or FakeRun())


@pytest.mark.parametrize("task", ["graph", "node"])
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_what_torch_geometric_gets_of_captum(kind, task):
    target = GraphTarget(graph=1, node=4 if task == "node" else None)
    for graphs in (graph_set(kind, task), directed_set(kind, task), looped_set(kind, task)):
        expected = by_captum("IntegratedGradients", graphs, target, n_steps=50)
        found = explain(graphs, target).arrays["scores"]
        assert np.abs(expected).max() > 1e-4
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_scores_add_up_to_the_difference_of_the_logit(kind):
    from backend.graphs.explained import Decision

    graphs = graph_set(kind)
    target = GraphTarget(graph=2, label=1)
    run = FakeRun()
    found = explain(graphs, target, run, steps=200)
    decision = Decision(graphs, target)
    if kind in ("gin", "sage"):  # Without messages is without edges: no degree is divided by.
        none = decision.classifier.cut(decision.part, np.zeros((1, len(decision.part))))[0]
        difference = decision.logits[1] - none[1]
        assert found.values["difference"] == pytest.approx(difference, abs=1e-5)
    assert found.values["sum"] == pytest.approx(found.values["difference"], rel=0.03, abs=1e-3)
    assert found.arrays["scores"].sum() == pytest.approx(found.values["sum"], abs=1e-4)
    assert (run.forward, run.backward) == (202, 200)


def test_a_gap_is_warned_of():
    run = FakeRun()
    found = explain(graph_set("gin"), GraphTarget(graph=0), run, steps=2)
    gap = abs(found.values["sum"] / found.values["difference"] - 1)
    assert found.values["completeness_gap"] == pytest.approx(gap, rel=1e-4)
    assert bool(run.warnings) == (gap > 0.05)


def test_the_quadrature_is_exact_for_polynomials():
    at, weights = quadrature(5)
    assert ((at > 0) & (at < 1)).all()
    for power in range(10):
        assert weights @ at**power == pytest.approx(1 / (power + 1), abs=1e-12)
