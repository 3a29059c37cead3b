"""Training: splits, what is kept, what a seed decides, and features that say nothing."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch

from backend.errors import Cancelled
from backend.graphs import batch as batches
from backend.graphs import training
from backend.graphs.explanation import TEST, TRAIN, VALIDATION, GraphSet
from backend.graphs.motifs import Built, arrays, cycle
from backend.graphs.recipes import Training
from backend.threads import one_thread
from tests.fake import FakeRun

KINDS = ("gin", "gcn", "gat", "sage")


def rings(count=60, seed=0):
    """Paths of 8 nodes, every second with a triangle; a feature tells degrees above 2 apart."""
    labels = np.arange(count, dtype=np.int32) % 2
    built = []
    for label in labels:
        one = Built.base(nx.path_graph(8 - 3 * int(label)))
        if label:
            one.attach(cycle(3), 1)
        built.append(one)
    generator = np.random.default_rng(seed)
    found, _ = arrays(built, 3, 1.0, generator)
    found["x"] += 0.1 * generator.normal(size=found["x"].shape).astype(np.float32)
    found["x"][found["node_motifs"] > 0, 0] = -1
    return GraphSet(
        arrays={**found, "labels": labels}, task="graph", class_names=("path", "triangle")
    )


def nodes(seed=0):
    """Two cycles in one graph; a node's class is its cycle, of which the features tell."""
    built = Built.base(nx.disjoint_union(nx.cycle_graph(100), nx.cycle_graph(100)))
    built.roles = np.repeat([0, 1], 100).tolist()
    generator = np.random.default_rng(seed)
    found, labels = arrays([built], 3, 0.0, generator)
    noise = generator.normal(size=(200, 3))
    found["x"] = (noise + 2 * labels[:, None]).astype(np.float32)
    return GraphSet(arrays={**found, "labels": labels}, task="node", class_names=("a", "b"))


def train(graphs, run=None, **settings):
    with one_thread():
        return training.train(
            graphs, Training(**{"kind": "gin", "epochs": 15, **settings}), run or FakeRun()
        )


def accuracy(graphs, logits, parts, part):
    right = logits.argmax(axis=1) == graphs.arrays["labels"]
    return right[parts == part].mean()


@pytest.mark.parametrize("count", [10, 188, 1000])
def test_a_split_has_each_class_in_the_same_shares(count):
    labels = np.repeat([0, 1], [count, 3 * count])
    parts = training.split(labels, 0)
    for label in (0, 1):
        counts = np.bincount(parts[labels == label], minlength=3)
        size = (labels == label).sum()
        np.testing.assert_allclose(counts, np.array([0.8, 0.1, 0.1]) * size, atol=1)
    np.testing.assert_array_equal(parts, training.split(labels, 0))
    assert (parts != training.split(labels, 1)).any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [rings, nodes])
def test_every_architecture_learns(kind, make):
    graphs = make()
    _, logits, parts = train(graphs, kind=kind, epochs=25, layers=2, learning_rate=0.01)
    assert accuracy(graphs, logits, parts, TRAIN) > 0.8
    if make is rings:
        assert accuracy(graphs, logits, parts, TEST) == 1


@pytest.mark.parametrize("make", [rings, nodes])
def test_logits_are_those_of_the_kept_gnn_in_eval_mode(make):
    graphs = make()
    gnn, logits, _ = train(graphs, epochs=3)
    assert not gnn.training
    assert not any(w.requires_grad for w in gnn.parameters())
    with torch.no_grad():
        again = gnn(batches.whole(graphs, range(len(graphs)))).logits.numpy()
    assert logits.dtype == np.float32
    np.testing.assert_allclose(logits, again, atol=1e-6)


def test_the_epoch_that_is_best_on_validation_items_is_kept(monkeypatch):
    graphs = rings()
    looked = []
    original = training._Graphs.logits

    def logits(self, gnn):
        found = original(self, gnn)
        looked.append(found)
        return found

    monkeypatch.setattr(training._Graphs, "logits", logits)
    _, kept, parts = train(graphs, epochs=31, learning_rate=0.05)
    labels = torch.from_numpy(graphs.arrays["labels"].astype(np.int64))
    held = torch.from_numpy(np.flatnonzero(parts == VALIDATION))

    def value(found):
        said = torch.from_numpy(found)[held]
        right = float((said.argmax(dim=1) == labels[held]).float().mean())
        return right, -float(torch.nn.functional.cross_entropy(said, labels[held]))

    # Epochs 1, 6, ..., 31, and once more at the end.
    assert len(looked) == 7 + 1
    np.testing.assert_allclose(kept, max(looked[:-1], key=value), atol=1e-6)


@pytest.mark.parametrize("make", [rings, nodes])
def test_labels_of_test_items_decide_nothing(make, monkeypatch):
    graphs, turned = make(), make()
    parts = training.split(graphs.arrays["labels"], 0)
    monkeypatch.setattr(training, "split", lambda *_: parts)
    turned.arrays["labels"][parts == TEST] ^= 1
    first, said, _ = train(graphs, epochs=31, learning_rate=0.05)
    again, said_again, _ = train(turned, epochs=31, learning_rate=0.05)
    np.testing.assert_array_equal(said, said_again)
    for name, weight in first.state_dict().items():
        assert torch.equal(weight, again.state_dict()[name]), name


def test_test_items_never_reach_the_training():
    graphs = rings()
    parts = training.split(graphs.arrays["labels"], 0)
    feed = training._Graphs(graphs, parts, graphs.arrays["labels"])
    seen = sum(batch.count for batch, _, _ in feed.epoch(7, np.random.default_rng(0)))
    assert seen == (parts == TRAIN).sum()
    labels = nodes().arrays["labels"]
    feed = training._Nodes(nodes(), training.split(labels, 0), labels)
    rows = next(iter(feed.epoch(7, np.random.default_rng(0))))[1]
    assert len(rows) == 160


@pytest.mark.parametrize("make", [rings, nodes])
def test_equal_seeds_give_equal_weights_whatever_the_global_generator(make):
    graphs = make()
    torch.manual_seed(1)
    first, said, _ = train(graphs, epochs=3, seed=4)
    torch.manual_seed(2)
    before = torch.random.get_rng_state()
    again, said_again, _ = train(graphs, epochs=3, seed=4)
    assert torch.equal(before, torch.random.get_rng_state())
    np.testing.assert_array_equal(said, said_again)
    for name, weight in first.state_dict().items():
        assert torch.equal(weight, again.state_dict()[name]), name
    other, _, _ = train(graphs, epochs=3, seed=5)
    assert not torch.equal(first.out.weight, other.out.weight)


def test_progress_is_told_by_epoch_and_passes_are_counted():
    run = FakeRun()
    graphs = rings()
    train(graphs, run, epochs=4)
    assert [(done, total) for done, total, _ in run.reports] == [(i, 4) for i in range(4)]
    assert run.reports[0][2] == "training epoch 1 of 4"
    assert run.forward == run.backward == 4 * 48
    run = FakeRun()
    train(nodes(), run, epochs=4)
    assert run.forward == run.backward == 4


def test_training_can_be_cancelled():
    run = FakeRun(cancel_after=3)
    with pytest.raises(Cancelled):
        train(rings(), run, epochs=50)
    assert len(run.reports) == 3


@pytest.mark.parametrize("kind", ["gat", "sage"])
def test_what_only_averages_sees_nothing_in_equal_features(kind):
    """All nodes stay equal, so every graph gets the same logits; a GIN and a GCN count."""
    graphs = rings()
    graphs.arrays["x"][:] = 1
    run = FakeRun()
    _, logits, _ = train(graphs, run, kind=kind, epochs=2)
    np.testing.assert_allclose(logits, np.broadcast_to(logits[0], logits.shape), atol=1e-5)
    (said,) = run.warnings
    assert "equal features" in said
    assert "GIN" in said


@pytest.mark.parametrize("kind", ["gin", "gcn"])
def test_what_counts_is_not_warned_of(kind):
    graphs = rings()
    graphs.arrays["x"][:] = 1
    run = FakeRun()
    _, logits, _ = train(graphs, run, kind=kind, epochs=2)
    assert np.ptp(logits[:, 0]) > 1e-4
    assert not run.warnings


@pytest.mark.parametrize("kind", KINDS)
def test_a_graph_without_edges_and_self_loops_are_trained_on(kind):
    plain, looped = nx.empty_graph(4), nx.path_graph(4)
    looped.add_edge(1, 1)
    built = [Built.base(plain if i % 2 else looped) for i in range(20)]
    labels = np.arange(20, dtype=np.int32) % 2
    found, _ = arrays(built, 2, 1.0, np.random.default_rng(0))
    found["x"] += np.random.default_rng(0).normal(size=found["x"].shape).astype(np.float32)
    graphs = GraphSet(arrays={**found, "labels": labels}, class_names=("a", "b"))
    _, logits, _ = train(graphs, kind=kind, epochs=2)
    assert np.isfinite(logits).all()


def test_shuffled_labels_are_those_of_other_items_of_the_same_part():
    labels = np.repeat([0, 1, 2], 40).astype(np.int32)
    parts = training.split(labels, 0)
    found = training.learned_from(labels, parts, Training(kind="gin", labels="shuffled"))
    for part in (TRAIN, VALIDATION, TEST):
        assert (
            np.bincount(found[parts == part]).tolist()
            == np.bincount(labels[parts == part]).tolist()
        )
    assert (found[parts == TEST] == labels[parts == TEST]).all()
    same = (found == labels)[parts == TRAIN].mean()
    assert 0.15 < same < 0.55, "a third by chance"
    assert training.learned_from(labels, parts, Training(kind="gin")) is labels
    again = training.learned_from(labels, parts, Training(kind="gin", labels="shuffled"))
    assert (again == found).all()


def test_of_shuffled_labels_nothing_true_is_learned():
    graphs = rings(200)
    right = {}
    for labels in ("true", "shuffled"):
        recipe = Training(kind="gin", epochs=20, labels=labels)
        _, logits, parts = training.train(graphs, recipe, FakeRun())
        hits = logits.argmax(axis=1) == graphs.arrays["labels"]
        right[labels] = hits[parts != VALIDATION].mean()
    assert right["true"] > 0.95
    assert 0.2 < right["shuffled"] < 0.8
