"""MSExplainer: nested parts, symmetry under permutation, odd graphs, and what a fit keeps."""

from __future__ import annotations

import dataclasses

import networkx as nx
import numpy as np
import pytest

from backend.errors import Cancelled, InputError
from backend.graphs.explanation import GraphTarget
from backend.graphs.fit_ms_explainer import FitMSExplainer
from backend.graphs.ms_explainer import MSExplainer
from tests.backend.graphs.made import graph_set
from tests.fake import FakeRun

SHORT = {"epochs": 2, "restarts": 1}


def fitted(graphs, **more):
    parameters = FitMSExplainer.Parameters(**{**SHORT, **more})
    return FitMSExplainer().explain(None, graphs, GraphTarget(), parameters, FakeRun())


def explain(graphs, target=None, subject=None, **more):
    parameters = MSExplainer.Parameters(**{**SHORT, **more})
    run = FakeRun(subject=subject)
    return MSExplainer().explain(None, graphs, target or GraphTarget(graph=0), parameters, run)


@pytest.mark.parametrize("kind", ["gin", "gcn", "gat", "sage"])
def test_key_parts_are_nested_and_sizes_add_up(kind):
    found = explain(graph_set(kind))
    key = found.arrays["key"].astype(bool)
    assert (key[:-1] <= key[1:]).all()
    assert [int(row.sum()) for row in key] == [1, 3, 6]  # of 11 edges
    joins = [edge for row in found.values["hierarchy"] for edge in row["joins"]]
    assert sorted(joins) == list(range(11))
    assert [row["joined"] for row in found.values["scales"]] == [1, 2, 3]


def test_kept_and_lost_are_of_really_deleted_edges():
    from backend.graphs.classifier import probabilities
    from backend.graphs.explained import Decision

    graphs = graph_set("gin")
    found = explain(graphs)
    decision = Decision(graphs, GraphTarget(graph=0))
    for row, values in zip(found.arrays["key"].astype(bool), found.values["scales"], strict=True):
        for keep, name in ((row, "kept"), (~row, "lost")):
            logits = decision.classifier.cut(decision.part, keep[None])
            expected = probabilities(logits)[0, decision.label]
            assert values[name] == pytest.approx(expected, abs=1e-6)


def test_the_masks_mean_is_the_budget():
    masks = explain(graph_set("gin")).arrays["masks"]
    np.testing.assert_allclose(masks.mean(axis=1), [0.1, 0.25, 0.5], atol=1e-4)


@pytest.mark.parametrize("task", ["graph", "node"])
@pytest.mark.parametrize("kind", ["gin", "gcn"])
def test_permuting_nodes_permutes_scores(kind, task):
    graphs = graph_set(kind, task, [nx.barabasi_albert_graph(14, 2, seed=1)])
    subject = fitted(graphs)
    order = np.random.default_rng(3).permutation(14)  # new number of each node
    arrays = dict(graphs.arrays)
    arrays["edges"] = order[arrays["edges"]].astype(np.int32)
    arrays["x"] = arrays["x"][np.argsort(order)]
    other = dataclasses.replace(graphs, arrays=arrays)
    node = 3 if task == "node" else None
    moved = int(order[3]) if task == "node" else None
    before = explain(graphs, GraphTarget(graph=0, node=node), subject)
    after = explain(other, GraphTarget(graph=0, node=moved), subject)
    assert (before.arrays["edge_ids"] == after.arrays["edge_ids"]).all()
    np.testing.assert_allclose(before.arrays["scores"], after.arrays["scores"], atol=1e-5)


def odd():
    graph = nx.Graph([(0, 1), (1, 2), (2, 2)])
    graph.add_node(3)
    return graph


@pytest.mark.parametrize("kind", ["gin", "gcn", "gat", "sage"])
def test_loops_isolated_nodes_parallel_edges_and_single_edges(kind):
    graphs = graph_set(kind, graphs=[odd(), nx.path_graph(2), nx.path_graph(2)])
    graphs.arrays["edges"] = np.concatenate([graphs.arrays["edges"], [[0, 1]]]).astype(np.int32)
    graphs.arrays["edge_counts"][-1] += 1  # A parallel edge of the last graph.
    for number, edges in enumerate((3, 1, 2)):
        found = explain(graphs, GraphTarget(graph=number))
        assert found.arrays["scores"].shape == (edges,)
        assert np.isfinite(found.arrays["scores"]).all()


def test_a_graph_without_edges_has_an_empty_explanation():
    graphs = graph_set("gin", graphs=[nx.path_graph(4), nx.empty_graph(3)])
    found = explain(graphs, GraphTarget(graph=1))
    assert found.arrays["key"].shape == (3, 0)
    with pytest.raises(InputError, match="edge to learn from"):
        explain(graph_set("gin", graphs=[nx.empty_graph(3)]))


def test_the_same_seed_gives_the_same_fit_and_cancelling_ends_it():
    graphs = graph_set("gin")
    one, two = fitted(graphs), fitted(graphs)
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array, two.arrays[name])
    parameters, run = FitMSExplainer.Parameters(**SHORT), FakeRun(cancel_after=2)
    with pytest.raises(Cancelled):
        FitMSExplainer().explain(None, graphs, GraphTarget(), parameters, run)


def test_refining_and_connecting():
    graphs = graph_set("gin")
    subject = fitted(graphs)
    plain = explain(graphs, subject=subject)
    found = explain(graphs, subject=subject, refine=True, refine_steps=5, connected=True)
    assert np.abs(plain.arrays["scores"] - found.arrays["scores"]).max() > 1e-6
    for row in found.arrays["key"].astype(bool):
        assert nx.is_connected(nx.Graph(found.arrays["edges"][row].tolist()))


def test_large_parts_are_learned_from_up_to_a_number_of_edges(monkeypatch):
    from backend.graphs import fit_ms_explainer as fits

    graphs = graph_set("gcn", "node", [nx.barabasi_albert_graph(60, 2, seed=0)])
    every = fits.training_parts(graphs, FakeRun())
    assert len(every) == 60
    monkeypatch.setattr(fits, "FEWEST", 3)
    monkeypatch.setattr(fits, "EDGES", sum(map(len, every)) // 4)
    some = fits.training_parts(graphs, FakeRun())
    assert 3 < len(some) < 60
    assert sum(map(len, some)) <= fits.EDGES
    nodes = [one.item for one in some]
    assert nodes == sorted(nodes)
    assert nodes == [one.item for one in fits.training_parts(graphs, FakeRun())]
    assert nodes != [one.item for one in fits.training_parts(graphs, FakeRun(seed=1))]
    monkeypatch.setattr(fits, "EDGES", 1)
    assert len(fits.training_parts(graphs, FakeRun())) == 3


@pytest.mark.parametrize(
    ("consensus", "path", "expected"),
    [
        (0.20, 0.31, "path"),
        (0.20, 0.29, "consensus"),  # not far enough ahead
        (0.00, 0.14, "consensus"),  # far ahead, but by a measure that tells nothing
        (0.04, 0.15, "path"),
    ],
)
def test_a_single_score_is_the_start_where_it_is_ahead_by_a_guide(consensus, path, expected):
    from backend.graphs.ms_fit import start, tells

    fidelities = {"consensus": consensus, "evidence": 0.1, "gradient": -0.3, "path": path}
    assert start(fidelities) == expected
    assert tells(fidelities) == (max(consensus, path) >= 0.15)
