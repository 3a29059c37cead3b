"""Scores of edges by real deletion: each number again on graphs that were built without the edges,
torch_geometric's own values, planted truth, random rankings, and what cannot be scored."""

import dataclasses

import networkx as nx
import numpy as np
import pytest

from backend.errors import Cancelled, InputError
from backend.graphs import graph_metrics as metrics
from backend.graphs.explanation import GraphExplanation, GraphTarget
from backend.graphs.graph_faithfulness import (
    NO_EDGES,
    NO_REASON,
    RANDOM_HALVES,
    GraphFaithfulness,
    Parameters,
)
from tests.backend.graphs.made import graph_set
from tests.fake import FakeRun

KINDS = ["gcn", "gin", "gat", "sage"]


def subject(graphs, scores=None, *, seed=0, **target):
    """An explanation with these scores, or random ones."""
    from backend.graphs.explained import Decision, explained

    decision = Decision(graphs, GraphTarget(graph=0, **target))
    if scores is None:
        scores = np.random.default_rng(seed).normal(size=len(decision.part))
    return explained(decision, np.asarray(scores), signed=True)


def score(graphs, about=None, *, run=None, seed=0, target=None, **parameters):
    run = run or FakeRun(subject=about, seed=seed)
    target = target or GraphTarget(graph=0)
    return GraphFaithfulness().explain(None, graphs, target, Parameters(**parameters), run)


def row(found):
    return found.values["metrics"]


def left(graphs, keep, label, node=None):
    """Probabilities [classes] and that of a class, of a set built anew with the kept edges."""
    from backend.graphs.batch import whole
    from backend.graphs.classifier import Classifier

    count = int(graphs.arrays["edge_counts"][0])
    arrays = dict(graphs.arrays)
    arrays["edges"] = np.concatenate([arrays["edges"][:count][keep], arrays["edges"][count:]])
    arrays["edge_counts"] = graphs.arrays["edge_counts"].copy()
    arrays["edge_counts"][0] = keep.sum()
    smaller = dataclasses.replace(graphs, arrays=arrays)
    logits = Classifier.of(graphs).logits(whole(smaller, [0])).detach().double().numpy()
    z = logits[node or 0]
    p = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
    return p, p[label]


@pytest.mark.parametrize("kind", KINDS)
def test_fidelity_is_that_of_graphs_built_without_the_edges(kind):
    graphs = graph_set(kind)
    about = subject(graphs)
    found, label, e = row(score(graphs, about)), about.values["label"], 11
    order = np.argsort(-about.arrays["scores"])
    whole, p = left(graphs, np.ones(e, dtype=bool), label)
    plus, minus, held = [], [], {}
    for share in metrics.SHARES:
        key = np.zeros(e, dtype=bool)
        key[order[: max(1, round(share * e))]] = True
        held[share], only = left(graphs, key, label)
        plus.append(p - left(graphs, ~key, label)[1])
        minus.append(p - only)
    assert found["fidelity_plus"] == pytest.approx(np.mean(plus), abs=1e-6)
    assert found["fidelity_minus"] == pytest.approx(np.mean(minus), abs=1e-6)
    expected = metrics.characterisation(float(np.mean(plus)), float(np.mean(minus)))
    assert found["characterisation"] == pytest.approx(expected, abs=1e-5)
    divergence = (held[0.25] * np.log(held[0.25] / whole)).sum()
    assert found["unfaithfulness"] == pytest.approx(1 - np.exp(-divergence), abs=1e-6)


def test_curves_are_those_of_graphs_built_without_the_edges():
    graphs = graph_set("gcn")
    about = subject(graphs)
    found, label, e = score(graphs, about), about.values["label"], 11
    order, at = np.argsort(-about.arrays["scores"]), found.arrays["fractions"]
    for i, size in enumerate((at * e).round().astype(int)):
        key = np.isin(np.arange(e), order[:size])
        kept, gone = left(graphs, key, label)[1], left(graphs, ~key, label)[1]
        assert found.arrays["curve/edges/keep"][i] == pytest.approx(kept, abs=1e-6)
        assert found.arrays["curve/edges/remove"][i] == pytest.approx(gone, abs=1e-6)
    for name in ("keep", "remove"):
        area = np.trapezoid(found.arrays[f"curve/edges/{name}"], at)
        assert row(found)[f"{name}_area"] == pytest.approx(area)


def test_robust_fidelity_deletes_random_halves():
    graphs = graph_set("gin")
    about = subject(graphs)
    draws, e, label = 3, 11, about.values["label"]
    found = row(score(graphs, about, seed=5, draws=draws))
    halves = np.random.default_rng(5).random((draws, len(metrics.SHARES), e)) < 0.5
    order, (_, p) = (
        np.argsort(-about.arrays["scores"]),
        left(graphs, np.ones(e, dtype=bool), label),
    )
    plus, minus = [], []
    for draw in range(draws):
        for i, share in enumerate(metrics.SHARES):
            key = np.isin(np.arange(e), order[: max(1, round(share * e))])
            plus.append(p - left(graphs, ~(key & halves[draw, i]), label)[1])
            minus.append(p - left(graphs, key | halves[draw, i], label)[1])
    assert found["robust_plus"] == pytest.approx(np.mean(plus), abs=1e-6)
    assert found["robust_minus"] == pytest.approx(np.mean(minus), abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_values_of_torch_geometric(seed):
    """A GIN adds what it is sent, so that a hard mask of messages is a deletion."""
    import torch
    from torch_geometric import explain
    from torch_geometric.explain.metric import fidelity, unfaithfulness

    from backend.graphs import batch, pyg
    from backend.graphs.explained import Decision

    graphs = graph_set("gin", seed=seed)
    about = subject(graphs, seed=seed)
    found = score(graphs, about)
    decision = Decision(graphs, GraphTarget(graph=0))
    one = batch.parts([decision.part])
    key = np.zeros(one.edges, dtype=bool)
    key[metrics.ranking(about.arrays["scores"])[: round(0.25 * one.edges)]] = True
    model = pyg.Bare(decision.classifier.gnn)
    explainer = explain.Explainer(
        model,
        explain.DummyExplainer(),
        explanation_type="model",
        edge_mask_type="object",
        model_config=pyg.config(decision),
    )
    given = explainer(one.x, one.edge_index)
    given.edge_mask = torch.from_numpy(key)[one.slots].float()
    assert row(found)["unfaithfulness"] == pytest.approx(unfaithfulness(explainer, given), abs=1e-5)
    at = int(np.flatnonzero(np.isclose(found.arrays["fractions"], key.mean()))[0])
    lost = [float(found.arrays[f"curve/edges/{name}"][at] < 0.5) for name in ("remove", "keep")]
    assert lost == list(fidelity(explainer, given)), "of two classes the likelier one is answered"


def planted(kind="gin"):
    """The default graphs, of which edges 2, 3 and 7 of the first are the known reason."""
    graphs = graph_set(kind)
    motifs = np.zeros(len(graphs.arrays["edges"]), dtype=np.int32)
    motifs[[2, 3, 7]] = 1
    graphs.arrays["edge_motifs"] = motifs
    return graphs, (motifs[:11] > 0).astype(float)


def test_the_known_reason_is_found_by_scores_of_it():
    graphs, truth = planted()
    right, wrong = (
        row(score(graphs, subject(graphs, truth))),
        row(score(graphs, subject(graphs, -truth))),
    )
    assert (right["edge_auc"], right["precision"]) == (1.0, 1.0)
    assert (wrong["edge_auc"], wrong["precision"]) == (0.0, 0.0)


def test_without_a_known_reason_its_numbers_are_undefined():
    graphs = graph_set()
    found = score(graphs, subject(graphs))
    assert row(found)["edge_auc"] is None
    assert found.values["undefined"] == {"edge_auc": NO_REASON, "precision": NO_REASON}


def test_ranking_by_size_counts_what_speaks_against():
    graphs, truth = planted()
    about = subject(graphs, -truth)
    assert row(score(graphs, about, rank_by="absolute"))["edge_auc"] == 1.0
    assert row(score(graphs, about, rank_by="value"))["edge_auc"] == 0.0


def test_ties_are_told_as_they_are_ranked():
    graphs = graph_set()
    scores = np.arange(1.0, 12.0)
    assert score(graphs, subject(graphs, scores)).notes == ()
    scores[1] = -1.0
    assert score(graphs, subject(graphs, scores)).notes == ()
    [note] = score(graphs, subject(graphs, scores), rank_by="absolute").notes
    assert "equal scores" in note
    [note] = score(graphs, subject(graphs, np.full(11, 0.5))).notes
    assert note.startswith("All scores are equal (0.5)")


def test_the_random_row_has_means_and_a_band():
    graphs, _ = planted()
    found = score(graphs, draws=40)
    for metric in metrics.METRICS:
        low, high = found.values["spread"][metric.id]
        assert low <= row(found)[metric.id] <= high
    assert abs(row(found)["edge_auc"] - 0.5) < 0.1
    for name in ("keep", "remove"):
        low, high = found.arrays[f"spread/edges/{name}"]
        curve = found.arrays[f"curve/edges/{name}"]
        assert ((low - 1e-12 <= curve) & (curve <= high + 1e-12)).all()
    assert found.values["seconds"] == found.values["forward_passes"] == 0
    assert found.values["undefined"] == {}


def test_a_random_row_is_that_of_its_seed():
    graphs = graph_set()
    one, again, other = (score(graphs, seed=seed, draws=3) for seed in (1, 1, 2))
    assert one.to_bytes() == again.to_bytes()
    assert one.to_bytes() != other.to_bytes()


def test_an_explanation_has_no_band():
    graphs = graph_set()
    found = score(graphs, subject(graphs))
    assert found.values["spread"] == {}
    assert not [name for name in found.arrays if name.startswith("spread/")]


@pytest.mark.parametrize("about", [True, False])
def test_a_graph_without_edges_has_no_numbers(about):
    graphs = graph_set(graphs=[nx.empty_graph(4)])
    found = score(graphs, subject(graphs) if about else None)
    assert set(row(found).values()) == {None}
    assert set(found.values["undefined"].values()) == {NO_EDGES}
    assert found.values["spread"] == {}
    assert len(found.arrays["curve/edges/keep"]) == len(found.arrays["fractions"])
    found.to_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_self_loops_and_isolated_nodes_are_scored_like_others(kind):
    graph = nx.path_graph(5)
    graph.add_edge(2, 2)
    graph.add_node(9)
    graphs = graph_set(kind, graphs=[nx.convert_node_labels_to_integers(graph)])
    scores = np.arange(5.0)
    found, label = score(graphs, subject(graphs, scores)), subject(graphs).values["label"]
    at = found.arrays["fractions"]
    for i, size in enumerate((at * 5).round().astype(int)):
        kept = left(graphs, np.argsort(np.argsort(-scores)) < size, label)[1]
        assert found.arrays["curve/edges/keep"][i] == pytest.approx(kept, abs=1e-6)


@pytest.mark.parametrize("directed", [False, True])
def test_a_nodes_decision_is_scored_in_its_part(directed):
    graph = nx.path_graph(20)
    graph = nx.DiGraph(list(graph.edges)[::-1]) if directed else graph
    graphs = graph_set("gcn", "node", [nx.convert_node_labels_to_integers(graph)])
    about, target = subject(graphs, node=3), GraphTarget(graph=0, node=3)
    found, label = score(graphs, about, target=target), about.values["label"]
    e, ids = len(about.arrays["scores"]), about.arrays["edge_ids"]
    assert e < 19
    key = metrics.ranking(about.arrays["scores"])[: round(0.5 * e)]
    keep = np.ones(19, dtype=bool)
    keep[ids[key]] = False
    at = int(np.flatnonzero(np.isclose(found.arrays["fractions"], round(0.5 * e) / e))[0])
    without = left(graphs, keep, label, node=3)[1]
    assert found.arrays["curve/edges/remove"][at] == pytest.approx(without, abs=1e-6)


def test_the_order_of_nodes_and_edges_changes_nothing():
    graph = nx.barabasi_albert_graph(15, 2, seed=1)
    graphs = graph_set("gcn", graphs=[graph])
    scores = np.random.default_rng(3).normal(size=graph.number_of_edges())
    generator = np.random.default_rng(4)
    nodes, edges = generator.permutation(15), generator.permutation(len(scores))
    arrays = dict(graphs.arrays)
    arrays["x"] = arrays["x"][np.argsort(nodes)]
    arrays["edges"] = nodes[arrays["edges"]][edges].astype(np.int32)
    mixed = dataclasses.replace(graphs, arrays=arrays)
    one = score(graphs, subject(graphs, scores))
    other = score(mixed, subject(mixed, scores[edges]))
    for name in ("curve/edges/keep", "curve/edges/remove"):
        np.testing.assert_allclose(one.arrays[name], other.arrays[name], atol=1e-5)
    for name in ("fidelity_plus", "fidelity_minus", "unfaithfulness"):
        assert row(one)[name] == pytest.approx(row(other)[name], abs=1e-5)


def test_a_graph_of_thousands_of_edges_takes_a_grid_of_passes():
    graphs = graph_set("gin", graphs=[nx.gnm_random_graph(1000, 5000, seed=0)])
    run = FakeRun(subject=subject(graphs))
    found = score(graphs, run=run, draws=2)
    points, shares = len(metrics.LEVELS) + 2, len(metrics.SHARES)
    assert len(found.arrays["fractions"]) == points
    assert run.forward == 2 * points + 2 * shares + 2 * 2 * shares
    assert found.values["key_edges"] == {"0.1": 500, "0.25": 1250, "0.5": 2500}


def test_passes_of_the_random_row_are_counted():
    run = FakeRun()
    found = score(graph_set(), run=run, draws=7)
    points, shares = len(found.arrays["fractions"]), len(metrics.SHARES)
    assert run.forward == 7 * (2 * points + 2 * shares + 2 * RANDOM_HALVES * shares)


def test_it_can_be_cancelled():
    with pytest.raises(Cancelled):
        score(graph_set(), run=FakeRun(cancel_after=3))
    graphs = graph_set()
    run = FakeRun(subject=subject(graphs), cancel_after=1)
    with pytest.raises(Cancelled):
        score(graphs, run=run)


def test_an_explanation_of_another_decision_is_refused():
    graphs = graph_set()
    about = subject(graphs)
    other = 1 - about.values["label"]
    for target in (GraphTarget(graph=1), GraphTarget(graph=0, label=other)):
        with pytest.raises(InputError, match="another decision"):
            score(graphs, about, target=target)


@pytest.mark.parametrize("kind", ["fit", "set", "score"])
def test_what_has_no_scores_of_edges_is_refused(kind):
    about = GraphExplanation(arrays={}, values={"kind": kind})
    with pytest.raises(InputError, match="no scores of edges"):
        score(graph_set(), about)
