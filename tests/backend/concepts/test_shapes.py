"""Coloured shapes: the label's rule, the planted company of stripes and water, and the pixels."""

from __future__ import annotations

import numpy as np
import pytest

from backend.concepts import shapes


@pytest.fixture(scope="module")
def data():
    return shapes.data({}, seed=1)


def column(data, samples, name):
    return samples.concepts[:, data.concept_names.index(name)] == 1


def test_sizes_and_names(data):
    assert data.training.inputs.shape == (4000, 32, 32, 3)
    assert data.validation.inputs.shape == (2000, 32, 32, 3)
    assert len(data.concept_names) == data.training.concepts.shape[1] == 10
    for members in data.exclusive:
        assert (data.training.concepts[:, members].sum(axis=1) == 1).all()


def test_the_label_is_the_rule(data):
    samples = data.validation
    votes = (
        2 * column(data, samples, "striped").astype(int)
        + column(data, samples, "red")
        + column(data, samples, "big")
    )
    np.testing.assert_array_equal(samples.labels, votes >= 2)


@pytest.mark.parametrize(("part", "p"), [("training", 0.97), ("validation", 0.85)])
def test_stripes_and_water_go_together(data, part, p):
    samples = getattr(data, part)
    striped, water = column(data, samples, "striped"), column(data, samples, "water")
    bound = 5 * np.sqrt(p * (1 - p) / (len(samples) / 2.2))
    assert abs(water[striped].mean() - p) < bound
    assert abs((~water)[~striped].mean() - p) < bound
    for name in ("circle", "red", "big"):
        share = column(data, samples, name)
        assert abs(share[striped].mean() - share[~striped].mean()) < 0.1


def test_groups(data):
    samples = data.validation
    striped, water = column(data, samples, "striped"), column(data, samples, "water")
    names = np.array(data.group_names)[samples.groups]
    np.testing.assert_array_equal(names == "plain on water", ~striped & water)
    np.testing.assert_array_equal(names == "striped on land", striped & ~water)
    assert set(data.planted) == {"plain on water", "striped on land"}


def test_colours_of_ground_and_shape(data):
    samples = data.validation
    centre = samples.inputs[:, 14:18, 14:18].mean(axis=(1, 2))
    big = column(data, samples, "big")
    for channel, name in enumerate(("red", "green", "blue")):
        assert (centre[big & column(data, samples, name)].argmax(axis=1) == channel).all()
    # A corner is never in a shape: water is blue there, land is brown.
    corner = samples.inputs[:, :2, :2].mean(axis=(1, 2))
    np.testing.assert_array_equal(corner[:, 2] > corner[:, 0], column(data, samples, "water"))


def test_stripes_are_darker_rows(data):
    samples = data.training
    big = column(data, samples, "big") & column(data, samples, "square")
    rows = samples.inputs[big][:, 12:20, 12:20].astype(float).mean(axis=(2, 3))
    dark, light = rows[:, [2, 3, 6, 7]].mean(axis=1), rows[:, [0, 1, 4, 5]].mean(axis=1)
    striped = column(data, samples, "striped")[big]
    assert (dark / light)[striped].mean() == pytest.approx(1 - shapes.STRIPES, abs=0.005)
    assert (dark / light)[~striped].mean() == pytest.approx(1, abs=0.005)


def test_big_shapes_cover_more_and_no_shape_more_than_another(monkeypatch):
    monkeypatch.setattr(shapes, "NOISE", 0.0)
    samples = shapes.pictures(600, 0.5, np.random.default_rng(0))
    ground = samples.inputs[:, :1, :1]
    area = (samples.inputs != ground).any(axis=-1).sum(axis=(1, 2))
    big = samples.concepts[:, 7] == 1
    assert area[big].min() > 1.8 * area[~big].max()
    each = [area[big & (samples.concepts[:, i] == 1)].mean() for i in range(3)]
    assert max(each) < 1.05 * min(each)
    # Whole shapes: the area of a kind and size hardly depends on the place.
    assert area[big & (samples.concepts[:, 2] == 1)].std() < 0.04 * each[2]


def test_a_seed_decides_the_data(monkeypatch):
    monkeypatch.setattr(shapes, "TRAINING", 60)
    monkeypatch.setattr(shapes, "VALIDATION", 40)
    first, again, other = (shapes.data({}, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.validation.inputs, again.validation.inputs)
    assert (other.training.labels != first.training.labels).any()
    assert (first.training.inputs[:40] != first.validation.inputs).any()
