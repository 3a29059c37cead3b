"""Training: all six combinations learn, and what the table says is what its head says."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
import torch

from backend.concepts import cbm, encoder
from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget, Recipe
from backend.concepts.head import Head
from backend.concepts.plan import table_of
from backend.concepts.samples import Data, Samples
from backend.concepts.train_cbm import TrainCbm
from backend.errors import Cancelled, InputError
from backend.explainer import NoParameters
from tests.backend.concepts.carriers import source
from tests.fake import FakeRun

COMBINATIONS = list(itertools.product(("hard", "soft"), ("joint", "sequential", "independent")))


class Given:
    """A source of one data set, as `models.load` gives it."""

    id = "planted"

    def __init__(self, data):
        self._data = data

    def data(self, seed):
        return self._data

    def table(self, seed):
        return None


def rows(count, seed, classes=3):
    """Four concepts, each the sign of a column; the class counts the first ones that are true."""
    generator = np.random.default_rng(seed)
    concepts = (generator.random((count, 4)) < 0.5).astype(np.int8)
    inputs = generator.normal(size=(count, 6)).astype(np.float32)
    inputs[:, :4] = 2 * concepts - 1 + 0.3 * inputs[:, :4]
    return Samples(
        inputs=inputs,
        concepts=concepts,
        labels=concepts[:, : classes - 1].sum(axis=1).astype(np.int32),
        groups=(inputs[:, 5] > 0).astype(np.int32) - 1,
        references=tuple(f"row {i}" for i in range(count)),
    )


def planted(classes=3):
    return Data(
        title="Signs",
        training=rows(400, 0, classes),
        validation=rows(200, 1, classes),
        concept_names=("a", "b", "c", "d"),
        class_names=tuple(str(i) for i in range(classes)),
        group_names=("odd",),
        planted=("odd",),
        exclusive=((0, 1),),
    )


def small(tmp_path):
    """A quarter of the training digits and fewer validation pictures: training takes a second."""
    data = source("mnist_sum", tmp_path).data(0)

    def first(samples, count):
        return dataclasses.replace(
            samples,
            **{
                name: getattr(samples, name)[:count]
                for name in ("inputs", "concepts", "labels", "groups")
            },
        )

    return dataclasses.replace(
        data, training=first(data.training, 900), validation=first(data.validation, 300)
    )


def trained(data, run=None, **recipe):
    target = ConceptTarget(recipe=Recipe(**recipe))
    return TrainCbm().explain(
        Given(data), ConceptTable.none(), target, NoParameters(), run or FakeRun()
    )


@pytest.mark.parametrize(("bottleneck", "training"), COMBINATIONS)
@pytest.mark.parametrize("classes", [2, 3])
def test_every_combination_learns_and_its_head_says_what_the_table_says(
    bottleneck, training, classes
):
    found = trained(planted(classes), bottleneck=bottleneck, training=training, epochs=25)
    table = table_of(found)
    assert table.origin["task_accuracy"] > 0.85
    assert min(table.origin["concept_accuracy"]) > 0.97
    head, inputs = table.head(), table.head_inputs()
    assert head.classes == classes
    assert head.linear
    np.testing.assert_array_equal(head.predictions(inputs), table.arrays["predictions"])
    np.testing.assert_array_equal(
        head.logits(inputs).astype(np.float32), table.arrays["task_logits"]
    )
    assert table.arrays["task_logits"].shape == (200, classes)
    assert table.arrays["head/0/weight"].shape == (1 if classes == 2 else classes, 4)
    assert table.bottleneck == bottleneck


def test_pictures_are_learnt(tmp_path):
    run = FakeRun()
    table = table_of(trained(small(tmp_path), run, epochs=6))
    assert table.arrays["images"].shape == (300, 28, 56, 3)
    assert np.mean(table.origin["concept_accuracy"]) > 0.93
    assert table.origin["task_accuracy"] > 0.6
    assert run.forward == run.backward == 6 * 900
    head = table.head()
    np.testing.assert_array_equal(
        head.predictions(table.head_inputs()), table.arrays["predictions"]
    )


def test_the_encoder_in_the_explanation_gives_the_tables_logits():
    data = planted()
    found = trained(data, epochs=2)
    weights = {n: torch.from_numpy(a) for n, a in found.arrays.items() if n.startswith("encoder/")}
    embedding, logits = encoder.encode(weights, encoder.tensor(data.validation.inputs))
    np.testing.assert_array_equal(logits.numpy(), found.arrays["logits"])
    np.testing.assert_array_equal(embedding.numpy(), found.arrays["embedding"])


@pytest.mark.parametrize("bottleneck", ["hard", "soft"])
def test_an_independent_head_sees_true_concepts_only(bottleneck):
    """What the encoder reads is made meaningless: no head can tell, unless it reads its output."""
    data = planted()
    noise = np.random.default_rng(9).normal(size=data.training.inputs.shape).astype(np.float32)
    other = dataclasses.replace(data, training=dataclasses.replace(data.training, inputs=noise))
    heads = {
        (training, name): Head.of(
            trained(each, bottleneck=bottleneck, training=training, epochs=20).arrays
        )
        for training in ("independent", "sequential")
        for name, each in (("data", data), ("noise", other))
    }
    weights = {key: head.weights[0] for key, head in heads.items()}
    np.testing.assert_array_equal(weights["independent", "data"], weights["independent", "noise"])
    assert abs(weights["sequential", "data"] - weights["sequential", "noise"]).max() > 0.1
    every = np.array(list(itertools.product((0, 1), repeat=4)))
    read = every if bottleneck == "hard" else (2 * every - 1) * cbm.TRUE_LOGIT
    np.testing.assert_array_equal(
        heads["independent", "data"].predictions(read), every[:, 0] + every[:, 1]
    )


def test_only_joint_training_lets_the_label_move_the_encoder():
    data = planted()
    turned = dataclasses.replace(
        data, training=dataclasses.replace(data.training, labels=2 - data.training.labels)
    )
    for training in ("joint", "sequential", "independent"):
        same = all(
            np.array_equal(a, b)
            for a, b in zip(
                *(
                    [w for n, w in sorted(trained(each, training=training, epochs=2).arrays.items())
                     if n.startswith("encoder/")]
                    for each in (data, turned)
                ),
                strict=True,
            )
        )  # fmt: skip
        assert same == (training != "joint")


def test_equal_seeds_give_equal_weights_and_others_do_not():
    first, again, other = (trained(planted(), epochs=2, seed=seed) for seed in (4, 4, 5))
    assert first.arrays.keys() == again.arrays.keys()
    for name, array in first.arrays.items():
        np.testing.assert_array_equal(array, again.arrays[name])
    assert first.values == again.values
    assert (first.arrays["head/0/weight"] != other.arrays["head/0/weight"]).any()


def test_the_table_survives_the_store():
    found = trained(planted(), epochs=2)
    table = table_of(ConceptExplanation.from_bytes(found.to_bytes()))
    assert table.digest() == table_of(found).digest()
    assert ConceptTable.from_bytes(table.to_bytes()).digest() == table.digest()
    assert table.concept_names == ("a", "b", "c", "d")
    assert table.exclusive == ((0, 1),)
    assert table.references[3] == "row 3"
    assert not any(name.startswith("encoder/") for name in table.arrays)
    origin = table.origin
    assert origin["example"] == "planted"
    assert Recipe.model_validate(origin["recipe"]) == Recipe(epochs=2)
    wrong = table.arrays["labels"] != table.arrays["predictions"]
    odd = table.arrays["groups"] == 0
    assert origin["group_errors"] == {"odd": [(wrong & odd).sum(), odd.sum()]}
    assert origin["task_accuracy"] == pytest.approx(1 - wrong.mean())
    right = (table.probabilities > 0.5) == table.arrays["concepts"]
    assert origin["concept_accuracy"] == pytest.approx(right.mean(axis=0).tolist())


def test_progress_names_the_epoch():
    run = FakeRun()
    trained(planted(), run, epochs=3)
    said = [what for _, _, what in run.reports]
    assert said[1].startswith("epoch 2 of 3, loss ")
    assert said[-1].startswith("label head, pass 18 of 18, loss ")
    losses = [float(what.rsplit(" ", 1)[1]) for what in said]
    assert losses[2] < losses[0]
    assert losses[-1] < losses[3]


def test_a_cancelled_training_stops():
    run = FakeRun(cancel_after=2)
    with pytest.raises(Cancelled):
        trained(planted(), run, epochs=50)
    assert len(run.reports) == 2
    assert run.forward == 2 * 400


def test_a_training_is_cancelled_within_an_epoch():
    class Impatient(FakeRun):
        def count(self, forward=0, backward=0):
            super().count(forward, backward)
            self.cancelled = self.forward >= 3 * 64

    run = Impatient()
    with pytest.raises(Cancelled):
        trained(planted(), run, epochs=1)
    assert run.forward == 3 * 64
    assert not run.reports


@pytest.mark.slow
@pytest.mark.parametrize(
    ("id", "failing", "task", "concepts"),
    [
        ("mnist_sum", ("2 and 2", "1 and 1, not red"), 0.9, 0.98),
        ("shapes", ("plain on water", "striped on land"), 0.85, 0.95),
    ],
)
def test_the_default_recipe_fails_where_it_was_planted(id, failing, task, concepts, tmp_path):
    target = ConceptTarget(recipe=Recipe(seed=201))
    found = TrainCbm().explain(
        source(id, tmp_path), ConceptTable.none(), target, NoParameters(), FakeRun()
    )
    table = table_of(found)
    origin = table.origin
    assert origin["task_accuracy"] > task
    assert np.mean(origin["concept_accuracy"]) > concepts
    for group in failing:
        wrong, every = origin["group_errors"][group]
        assert wrong >= 10
        assert wrong / every > 0.5
    others = ~np.isin(table.arrays["groups"], [table.group_names.index(g) for g in failing])
    wrong = table.arrays["labels"] != table.arrays["predictions"]
    assert wrong[others].mean() < 0.1


def test_predictions_of_ones_own_need_no_training(tmp_path):
    with pytest.raises(InputError, match="nothing to train here"):
        TrainCbm().explain(
            source("table", tmp_path), ConceptTable.none(), ConceptTarget(), NoParameters(),
            FakeRun(),
        )  # fmt: skip


def test_a_table_that_comes_ready_made_is_handed_on():
    table = table_of(trained(planted(), epochs=1))

    class Ready(Given):
        def table(self, seed):
            return table

    found = TrainCbm().explain(
        Ready(None), ConceptTable.none(), ConceptTarget(), NoParameters(), FakeRun()
    )
    made = table_of(found)
    assert made.origin["example"] == "planted"
    assert Recipe.model_validate(made.origin["recipe"]) == Recipe()
    assert dataclasses.replace(made, origin=table.origin).digest() == table.digest()
