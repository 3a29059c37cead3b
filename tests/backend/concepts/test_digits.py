"""Digit sums: the planted counts, no digit on both sides, and what a pixel says."""

from __future__ import annotations

import numpy as np
import pytest

from backend.concepts import digits
from tests.backend.concepts.carriers import carrier


@pytest.fixture(scope="module")
def arrays():
    return digits.read(carrier("mnist_sum"))


@pytest.fixture(scope="module")
def data(arrays):
    return digits.data(arrays, seed=3)


def pair(samples):
    """First and second digit by the concepts."""
    return samples.concepts[:, :4].argmax(axis=1), samples.concepts[:, 4:8].argmax(axis=1)


def test_the_carrier_holds_500_of_each_digit(arrays):
    assert arrays["images"].shape == (2000, 28, 28)
    assert arrays["images"].dtype == np.uint8
    np.testing.assert_array_equal(np.bincount(arrays["labels"]), [500] * 4)
    # A nought is empty in the middle, and a one is not.
    middle = arrays["images"][:, 12:16, 12:16].mean(axis=(1, 2))
    assert middle[arrays["labels"] == 0].mean() < 60 < 130 < middle[arrays["labels"] == 1].mean()


@pytest.mark.parametrize("part", ["training", "validation"])
def test_each_pair_has_its_count(data, part):
    samples = getattr(data, part)
    counts = np.zeros((4, 4), dtype=int)
    np.add.at(counts, pair(samples), 1)
    expected = np.full((4, 4), 250)
    expected[2, 2] = 25
    np.testing.assert_array_equal(counts, expected)
    assert len(samples) == 3775


def test_labels_and_concepts_are_of_the_same_digits(data):
    first, second = pair(data.validation)
    np.testing.assert_array_equal(data.validation.labels, first + second)
    for members in data.exclusive:
        assert (data.validation.concepts[:, members].sum(axis=1) == 1).all()
    assert data.concept_names[2] == "first digit is 2"
    assert data.concept_names[5] == "second digit is 1"
    assert len(data.class_names) == 7


def test_red_is_as_probable_as_planted(arrays):
    red = {}
    for seed in range(4):
        found = digits.data(arrays, seed)
        for samples in (found.training, found.validation):
            for key, each in zip(zip(*pair(samples), strict=True), samples.concepts, strict=True):
                red.setdefault((int(key[0]), int(key[1])), []).append(each[8])
    for key, found in red.items():
        p = {(1, 1): 0.9, (0, 3): 0.1}.get(key, 0.5)
        # Five standard deviations: sixteen pairs, one in a hundred thousand.
        assert abs(np.mean(found) - p) < 5 * np.sqrt(p * (1 - p) / len(found)), key


def test_groups_are_the_planted_ones(data):
    samples = data.validation
    first, second = pair(samples)
    red = samples.concepts[:, 8] == 1
    expected = {
        "2 and 2": (first == 2) & (second == 2),
        "1 and 1, not red": (first == 1) & (second == 1) & ~red,
        "0 and 3, red": (first == 0) & (second == 3) & red,
    }
    assert data.planted == data.group_names == tuple(expected)
    for number, members in enumerate(expected.values()):
        np.testing.assert_array_equal(samples.groups == number, members)
        assert 10 <= members.sum() <= 45
    assert (samples.groups == -1).sum() == 3775 - sum(m.sum() for m in expected.values())


def test_red_pictures_have_only_the_red_channel(data):
    pictures, red = data.training.inputs, data.training.concepts[:, 8] == 1
    assert pictures.shape[1:] == (28, 56, 3)
    assert not pictures[red][..., 1:].any()
    assert (pictures[~red] == pictures[~red][..., :1]).all()
    assert (pictures[..., 0].reshape(3775, -1).max(axis=1) > 100).all()


def test_pictures_show_the_digits_that_their_concepts_name(arrays, data):
    known = {image.tobytes(): label for image, label in zip(*arrays.values(), strict=True)}
    first, second = pair(data.validation)
    for picture, a, b in zip(data.validation.inputs[..., 0], first, second, strict=True):
        assert known[picture[:, :28].tobytes()] == a
        assert known[picture[:, 28:].tobytes()] == b


def test_no_digit_is_in_training_and_validation(data):
    def halves(samples):
        grey = samples.inputs[..., 0]
        return {half.tobytes() for half in (*grey[:, :, :28], *grey[:, :, 28:])}

    training, validation = halves(data.training), halves(data.validation)
    assert not training & validation
    assert min(len(training), len(validation)) > 900


def test_a_seed_decides_the_data(arrays, data):
    again, other = digits.data(arrays, seed=3), digits.data(arrays, seed=4)
    np.testing.assert_array_equal(again.training.inputs, data.training.inputs)
    np.testing.assert_array_equal(again.validation.labels, data.validation.labels)
    assert (other.training.labels != data.training.labels).any()
