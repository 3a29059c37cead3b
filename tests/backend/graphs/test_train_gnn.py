"""The step that trains: what its set holds, how it was trained, and that it learns BA-2Motifs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from backend.errors import InputError
from backend.explainer import NoParameters
from backend.graphs import ba_2motifs, ba_shapes, recipes
from backend.graphs.classifier import Classifier
from backend.graphs.explained import Decision
from backend.graphs.explanation import (
    TEST,
    TRAIN,
    VALIDATION,
    GraphExplanation,
    GraphSet,
    GraphTarget,
    Recipe,
)
from backend.graphs.plan import set_of
from backend.graphs.recipes import Training, resolved
from backend.graphs.train_gnn import TrainGnn
from tests.fake import FakeRun


class Given:
    """A source of one data set, as `models.load` gives it."""

    id = "planted"

    def __init__(self, data, id="planted"):
        self._data, self.id = data, id

    def data(self, seed):
        return self._data


def few(count=120):
    """The first graphs of BA-2Motifs."""
    every = ba_2motifs.data(0)
    a = every.arrays
    nodes, edges = (int(a[f"{name}_counts"][:count].sum()) for name in ("node", "edge"))
    sizes = {"node_counts": count, "edge_counts": count, "labels": count}
    sizes |= {"x": nodes, "node_motifs": nodes, "edges": edges, "edge_motifs": edges}
    return dataclasses.replace(every, arrays={name: a[name][:n] for name, n in sizes.items()})


def trained(data, run=None, id="planted", **recipe):
    target = GraphTarget(recipe=Recipe(**recipe))
    return TrainGnn().explain(
        Given(data, id), GraphSet.none(), target, NoParameters(), run or FakeRun()
    )


@pytest.fixture(scope="module")
def found():
    return trained(few(), epochs=20)


def test_the_set_holds_the_data_the_gnn_and_what_it_says(found):
    graphs, data = set_of(found), few()
    for name, array in data.arrays.items():
        np.testing.assert_array_equal(graphs.arrays[name], array)
    assert graphs.arrays["logits"].shape == (120, 2)
    assert graphs.arrays["split"].dtype == np.int8
    assert np.bincount(graphs.arrays["split"]).tolist() == [96, 12, 12]
    weights = {n: a for n, a in graphs.arrays.items() if n.startswith("gnn/")}
    assert "gnn/norms.0.running_var" in weights
    assert not any("num_batches_tracked" in name for name in weights)
    assert all(a.dtype == np.float32 for a in weights.values())
    assert graphs.class_names == ("house", "five-cycle")


def test_the_weights_of_the_set_give_its_logits(found):
    graphs = set_of(found)
    classifier = Classifier.of(graphs)
    assert classifier.gnn.architecture == graphs.architecture
    for number in (0, 7, 119):
        decision = Decision(graphs, GraphTarget(graph=number))
        np.testing.assert_allclose(decision.logits, graphs.arrays["logits"][number], atol=1e-5)


def test_the_origin_says_how_it_was_trained_and_how_well(found):
    graphs = set_of(found)
    origin = graphs.origin
    assert origin["example"] == "planted"
    assert Recipe.model_validate(origin["recipe"]) == Recipe(epochs=20)
    assert Training.model_validate(origin["training"]) == Training(kind="gin", epochs=20)
    right = graphs.arrays["logits"].argmax(axis=1) == graphs.arrays["labels"]
    split = graphs.arrays["split"]
    parts = (("training", TRAIN), ("validation", VALIDATION), ("test", TEST))
    assert origin["accuracy"] == {name: right[split == part].mean() for name, part in parts}
    assert "seconds" not in str(origin)


def test_the_set_survives_the_store(found):
    again = GraphExplanation.from_bytes(found.to_bytes())
    assert set_of(again).digest() == set_of(found).digest()


def test_equal_recipes_give_equal_sets_and_other_seeds_do_not(found):
    assert set_of(trained(few(), epochs=20)).digest() == set_of(found).digest()
    other = set_of(trained(few(), epochs=20, seed=1))
    assert (other.arrays["gnn/out.weight"] != found.arrays["gnn/out.weight"]).any()


def test_nodes_are_classified_where_the_task_is_about_them():
    graphs = set_of(trained(ba_shapes.data(0), epochs=2))
    assert graphs.architecture.task == "node"
    assert graphs.architecture.classes == 4
    assert graphs.arrays["logits"].shape == (700, 4)
    assert graphs.arrays["split"].shape == (700,)


def test_nothing_to_train_on_says_what_to_do():
    with pytest.raises(InputError, match="no labelled graphs here to train on") as refused:
        trained(None)
    assert "choose a data set" in refused.value.todo


def test_defaults_go_from_the_general_to_the_special(monkeypatch):
    monkeypatch.setattr(
        recipes,
        "DEFAULTS",
        {"data": {"epochs": 7, "hidden": 16}, "data/gcn": {"epochs": 9, "pooling": "sum"}},
    )
    assert resolved(Recipe(), "other") == Training(kind="gin")
    assert resolved(Recipe(), "data") == Training(kind="gin", epochs=7, hidden=16)
    assert resolved(Recipe(kind="gcn", hidden=8), "data") == Training(
        kind="gcn", epochs=9, hidden=8, pooling="sum"
    )


@pytest.mark.parametrize("kind", ["gin", "gcn"])
def test_node_tasks_are_learnt_by_the_defaults(kind):
    graphs = set_of(trained(ba_shapes.data(0), id="ba_shapes", kind=kind))
    assert graphs.origin["training"]["epochs"] == 500
    assert graphs.origin["accuracy"]["test"] >= 0.85


@pytest.mark.parametrize("kind", ["gin", "gcn"])
def test_ba_2motifs_is_learnt(kind):
    """A third of the graphs and of the epochs is enough to be nearly right."""
    graphs = set_of(trained(few(360), id="ba_2motifs", kind=kind, epochs=60))
    assert graphs.origin["accuracy"]["validation"] >= 0.9
    assert graphs.origin["accuracy"]["test"] >= 0.9
