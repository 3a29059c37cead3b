"""Heads trained on shuffled labels: chance, with concepts as good as ever, all else equal."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from backend.concepts import cbm
from backend.concepts.cbm import learned_from
from backend.concepts.explanation import ConceptTable, ConceptTarget, Recipe
from backend.concepts.models import Source
from backend.concepts.plan import table_of
from backend.concepts.train_cbm import TrainCbm
from backend.errors import InputError
from backend.explainer import NoParameters
from tests.backend.concepts.test_train_cbm import COMBINATIONS, planted, trained
from tests.fake import FakeRun

SEEDS = range(3)
LABELS = np.random.default_rng(0).integers(0, 5, 300).astype(np.int32)


def test_true_labels_are_the_samples_own():
    assert Recipe().labels == "true"
    np.testing.assert_array_equal(learned_from(LABELS, Recipe(seed=4)), LABELS)
    data = planted()
    found = cbm.Training(data.training, 3, Recipe(), FakeRun())
    np.testing.assert_array_equal(found.labels.numpy(), data.training.labels)


def test_shuffled_labels_are_those_of_other_samples():
    before = LABELS.copy()
    one, again, other = (learned_from(LABELS, Recipe(labels="shuffled", seed=s)) for s in (4, 4, 5))
    np.testing.assert_array_equal(one, again)
    np.testing.assert_array_equal(np.bincount(one), np.bincount(LABELS))
    # Of five classes about a fifth stay as they were by chance.
    for each in (one, other):
        assert (each == LABELS).mean() == pytest.approx(0.2, abs=0.08)
    assert (one == other).mean() == pytest.approx(0.2, abs=0.08)
    np.testing.assert_array_equal(LABELS, before)


@pytest.mark.parametrize(("bottleneck", "training"), COMBINATIONS)
def test_the_head_is_at_chance_and_the_concepts_are_not(bottleneck, training):
    """Half of the samples are of the middle class, so that chance is a half."""
    data, accuracies = planted(), []
    recipe = {"bottleneck": bottleneck, "training": training, "epochs": 20}
    for seed in SEEDS:
        table = table_of(trained(data, labels="shuffled", seed=seed, **recipe))
        origin = table.origin
        accuracies.append(origin["task_accuracy"])
        assert min(origin["concept_accuracy"]) > 0.95
        assert origin["recipe"]["labels"] == "shuffled"
        np.testing.assert_array_equal(table.arrays["labels"], data.validation.labels)
    assert np.mean(accuracies) == pytest.approx(0.5, abs=0.1)
    assert max(accuracies) < 0.7
    true = table_of(trained(data, seed=0, **recipe)).origin
    assert true["task_accuracy"] > 0.85


@pytest.mark.parametrize("training", ["sequential", "independent"])
def test_an_encoder_that_never_sees_the_label_is_the_same(training):
    true, shuffled = (
        trained(planted(), training=training, epochs=2, labels=labels).arrays
        for labels in ("true", "shuffled")
    )
    for name in true:
        if name.startswith("encoder/") or name in ("logits", "embedding", "concepts", "labels"):
            np.testing.assert_array_equal(true[name], shuffled[name])
    assert (true["head/0/weight"] != shuffled["head/0/weight"]).any()


def test_shuffled_is_trained_as_it_would_be_on_labels_shuffled_by_hand():
    data, recipe = planted(), Recipe(labels="shuffled", epochs=2, seed=7, training="joint")
    by_hand = dataclasses.replace(data.training, labels=learned_from(data.training.labels, recipe))
    found = cbm.train(data.training, 3, recipe, FakeRun())
    expected = cbm.train(by_hand, 3, recipe.model_copy(update={"labels": "true"}), FakeRun())
    assert found.keys() == expected.keys()
    for name, weight in found.items():
        np.testing.assert_array_equal(weight.numpy(), expected[name].numpy())


@pytest.mark.parametrize("id", ["xor", "table"])
def test_what_is_not_trained_has_no_labels_to_shuffle(id):
    target = ConceptTarget(recipe=Recipe(labels="shuffled"))
    with pytest.raises(InputError, match="not trained, so no labels can be shuffled"):
        TrainCbm().explain(Source(id, {}), ConceptTable.none(), target, NoParameters(), FakeRun())


def test_the_table_that_is_not_trained_is_there_with_its_true_labels():
    target = ConceptTarget(recipe=Recipe())
    found = TrainCbm().explain(
        Source("xor", {}), ConceptTable.none(), target, NoParameters(), FakeRun()
    )
    assert len(table_of(found)) == 3000
