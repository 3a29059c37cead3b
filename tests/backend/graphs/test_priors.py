"""Simple scores of edges against what their definitions say."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch

from backend.graphs import priors
from backend.graphs.batch import parts
from backend.graphs.explained import Decision
from backend.graphs.explanation import GraphTarget
from tests.backend.graphs.made import graph_set

GRAPHS = [nx.barabasi_albert_graph(9, 2, seed=s) for s in range(3)]


def decisions(kind):
    graphs = graph_set(kind, "graph", GRAPHS)
    return [Decision(graphs, GraphTarget(graph=g)) for g in range(len(GRAPHS))]


@pytest.mark.parametrize("at_once", [1, 100, 10**6])
@pytest.mark.parametrize("kind", ["gin", "gcn", "gat", "sage"])
def test_path_is_the_mean_slope_of_the_log_odds(kind, at_once, monkeypatch):
    monkeypatch.setattr(priors, "AT_ONCE", at_once)
    found = decisions(kind)
    classifier, labels = found[0].classifier, torch.tensor([d.label for d in found])
    paths = priors.path(classifier, [d.part for d in found], labels)
    slopes = []
    for decision in found:
        batch = parts([decision.part])
        for step in range(priors.STEPS):
            mask = torch.full((batch.edges,), (step + 0.5) / priors.STEPS, requires_grad=True)
            p = torch.softmax(classifier.logits(batch, mask), dim=1)[0, decision.label]
            slopes.append(torch.autograd.grad(torch.log(p / (1 - p)), mask)[0])
    one_by_one = torch.cat([torch.stack(slopes[s : s + 8]).mean(dim=0) for s in (0, 8, 16)])
    torch.testing.assert_close(paths, one_by_one, atol=1e-5, rtol=1e-3)


def test_path_sums_to_what_the_edges_add():
    """Completeness of integrated gradients: of a graph with few edges the sum is near exact."""
    decision = decisions("gat")[0]
    batch = parts([decision.part])
    labels = torch.tensor([decision.label])
    total = priors.path(decision.classifier, [decision.part], labels).sum().item()
    ends = [
        priors.log_odds(decision.classifier.logits(batch, torch.full((batch.edges,), at)), labels)
        for at in (0.0, 1.0)
    ]
    assert total == pytest.approx((ends[1] - ends[0]).item(), rel=0.1, abs=0.02)


def test_ranks_share_the_mean_where_values_are_alike():
    assert priors.ranks(np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [2.5 / 3, 0.0, 2.5 / 3, 1 / 3]
    assert priors.ranks(np.array([1.0, 1.0 + 1e-9])).tolist() == [0.5, 0.5]
    assert priors.ranks(np.array([7.0])).tolist() == [0.0]
