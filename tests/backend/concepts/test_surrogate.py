"""The stand-in for a label head: it follows a linear one, and says where it cannot follow."""

from __future__ import annotations

import numpy as np
import pytest

from backend.concepts.explanation import ConceptTable
from backend.concepts.head import Head
from backend.concepts.surrogate import FAITHFUL, label_head


def table(logits, predictions, classes=2, bottleneck="hard", head=None) -> ConceptTable:
    predictions = np.asarray(predictions, dtype=np.int32)
    return ConceptTable(
        arrays={
            "logits": np.asarray(logits, dtype=np.float32),
            "labels": predictions,
            "predictions": predictions,
            **(head.arrays() if head else {}),
        },
        class_names=tuple("abcdefgh"[:classes]),
        bottleneck=bottleneck,
    )


def planted(classes, bottleneck, n=400, k=4, seed=0):
    rng = np.random.default_rng(seed)
    logits = 4 * rng.normal(size=(n, k))
    weight = 2 * rng.normal(size=(1 if classes == 2 else classes, k))
    head = Head((weight,), (rng.normal(size=len(weight)),))
    inputs = (logits > 0).astype(float) if bottleneck == "hard" else logits
    return logits, head.predictions(inputs)


@pytest.mark.parametrize("bottleneck", ["hard", "soft"])
@pytest.mark.parametrize("classes", [2, 5])
def test_a_linear_head_is_followed(classes, bottleneck) -> None:
    given = table(*planted(classes, bottleneck), classes, bottleneck)
    head, fidelity = label_head(given)
    assert head.weights[0].shape == (1 if classes == 2 else classes, 4)
    assert fidelity >= FAITHFUL
    repeated = head.predictions(given.head_inputs()) == given.arrays["predictions"]
    assert repeated.mean() >= fidelity


def test_the_tables_own_head_comes_first() -> None:
    own = Head((np.array([[1.0, -1.0]]),), (np.zeros(1),))
    head, fidelity = label_head(table(np.ones((3, 2)), [0, 1, 0], head=own))
    assert fidelity is None
    np.testing.assert_array_equal(head.weights[0], own.weights[0])


def test_exclusive_or_is_not_followed() -> None:
    logits = 4 * np.random.default_rng(1).normal(size=(600, 2))
    fidelity = label_head(table(logits, (logits > 0).sum(axis=1) == 1))[1]
    assert fidelity < 0.8


def test_fidelity_is_held_out() -> None:
    # Predictions that nothing decides: by heart they can be told, from others they cannot.
    rng = np.random.default_rng(2)
    logits, predictions = 4 * rng.normal(size=(60, 50)), rng.integers(0, 2, size=60)
    given = table(logits, predictions, bottleneck="soft")
    head, fidelity = label_head(given)
    assert (head.predictions(given.head_inputs()) == predictions).all()
    assert fidelity < 0.75


def test_a_class_never_predicted_stays_so() -> None:
    logits, predictions = planted(3, "hard")
    head, fidelity = label_head(table(logits, np.array([0, 2, 4])[predictions], classes=6))
    assert fidelity >= FAITHFUL
    for never in (1, 3, 5):
        assert not head.weights[0][never].any()
        assert head.probabilities(np.ones(4))[never] == 0.0


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("only", [0, 1])
def test_one_class_alone(classes, only) -> None:
    head, fidelity = label_head(table(np.zeros((30, 2)), [only] * 30, classes))
    assert fidelity == 1.0
    assert head.predictions(np.random.default_rng(0).normal(size=(9, 2))).tolist() == [only] * 9


def test_two_of_three_classes_agree_with_a_binary_fit() -> None:
    logits, predictions = planted(2, "soft")
    inputs = table(logits, predictions, 2, "soft").head_inputs()
    two = label_head(table(logits, predictions, 2, "soft"))[0]
    three = label_head(table(logits, predictions, 3, "soft"))[0]
    np.testing.assert_allclose(three.probabilities(inputs)[:, :2], two.probabilities(inputs))


def test_few_samples_are_read_in_sample_and_the_same_again() -> None:
    given = table([[3.0, 1.0], [-3.0, 1.0], [3.0, -1.0]], [1, 0, 1])
    head, fidelity = label_head(given)
    assert fidelity == 1.0
    again = label_head(given)[0]
    np.testing.assert_array_equal(head.weights[0], again.weights[0])
