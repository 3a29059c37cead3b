"""Numbers of one map: areas and rankings by hand, the known object by scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, jaccard_score

from backend.images import image_metrics as metrics


def test_area_is_the_trapezoids():
    curve = np.random.default_rng(0).random(9)
    assert metrics.area(curve) == pytest.approx(np.trapezoid(curve, dx=1 / 8))
    assert metrics.area(np.array([1.0, 0.0])) == 0.5
    assert metrics.area(np.full(5, 0.3)) == pytest.approx(0.3)


def test_order_is_from_the_highest_down_and_the_earlier_of_equals_first():
    scores = np.array([[0.5, 2.0, -1.0], [2.0, 0.5, 3.0]])
    np.testing.assert_array_equal(metrics.order(scores), [5, 1, 3, 0, 4, 2])


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([[-1.0, 2.0], [4.0, 0.0]], [[0, 0.5], [1, 0]]),
        ([[-1.0, -2.0]], [[0, 0]]),
        ([[0.0, 0.0]], [[0, 0]]),
    ],
)
def test_marked_is_the_positive_share_of_the_largest(scores, expected):
    np.testing.assert_allclose(metrics.marked(np.array(scores)), expected)


@pytest.mark.parametrize("seed", range(5))
def test_the_known_object_is_located_as_scikit_learn_says(seed):
    generator = np.random.default_rng(seed)
    mask = (generator.random((9, 11)) < 0.3).astype(np.uint8)
    scores = generator.normal(size=mask.shape) + 0.7 * mask
    found = metrics.located(scores, mask)
    count = int(mask.sum())
    highest = scores >= np.sort(scores.ravel())[-count]
    assert found["overlap"] == pytest.approx(jaccard_score(mask.ravel(), highest.ravel()))
    assert found["precision"] == pytest.approx(
        average_precision_score(mask.ravel(), scores.ravel())
    )
    assert found["pointing"] == mask[np.unravel_index(scores.argmax(), mask.shape)]


def test_the_mask_itself_locates_perfectly_and_its_opposite_not_at_all():
    mask = np.zeros((6, 6), dtype=np.uint8)
    mask[1:3, 2:5] = 1
    assert metrics.located(mask + 0.0, mask) == dict.fromkeys(metrics.OF_OBJECT, 1.0)
    opposite = metrics.located(-(mask + 0.0), mask)
    assert (opposite["pointing"], opposite["overlap"]) == (0, 0)
    assert opposite["precision"] == pytest.approx(6 / 36)


@pytest.mark.parametrize("value", [0, 1])
def test_a_mask_of_one_kind_locates_nothing(value):
    scores = np.arange(12.0).reshape(3, 4)
    mask = np.full((3, 4), value, dtype=np.uint8)
    found = metrics.located(scores, mask)
    assert found == dict.fromkeys(metrics.OF_OBJECT)
    assert set(metrics.undefined(found, scores, mask)) == set(metrics.OF_OBJECT)


def test_each_missing_number_has_its_reason():
    found = {"insertion": 0.5, "drop": None, "pointing": None}
    flat, other = np.ones((3, 3)), np.arange(9.0).reshape(3, 3)
    expected = {"drop": metrics.NO_SPREAD, "pointing": metrics.NO_OBJECT}
    assert metrics.undefined(found, flat, None) == expected
    mask = np.eye(3, dtype=np.uint8)
    assert metrics.undefined(found, flat, mask)["pointing"] == metrics.NO_SPREAD
    reasons = metrics.undefined(found, other, mask)
    assert reasons.keys() == {"drop", "pointing"}
    assert metrics.NO_SPREAD not in reasons.values()
