"""Figures of concepts: what each adds, where each is, and in which pictures."""

from __future__ import annotations

import numpy as np
import pytest

from backend.images.explanation import ImageExplanation
from components.figures import concepts_seen
from components.image_concepts import montage
from components.plain import counted


@pytest.fixture
def seen():
    """Two concepts on a grid of 2 × 2 in a picture of 8 × 16."""
    presence = np.array([[[0.0, 0.2], [0.9, 0.0]], [[0.6, 0.1], [0.1, 0.0]]], dtype=np.float32)
    parts = np.array(
        [[[0, 0.5], [2, 0]], [[-1, 0], [0, 0]], [[0.1, 0, ], [0, 0.2]]], dtype=np.float32
    )  # fmt: skip
    return ImageExplanation(
        arrays={
            "scores": np.zeros((8, 16), dtype=np.float32),
            "seen": np.zeros((8, 16, 3), dtype=np.uint8),
            "presence": presence,
            "contributions": parts,
        },
        values={
            "kind": "map", "thresholds": [0.5, 0.5], "adds": [2.5, -1.0, 0.3], "base": 0.2,
            "logit": 2.0, "explained": 0.83,
        },
    )  # fmt: skip


def test_bars_are_what_each_adds_and_last_the_rest(seen):
    figure = concepts_seen.added(seen)
    assert list(figure.data[0].x) == [2.5, -1.0, 0.3]
    assert list(figure.layout.yaxis.ticktext) == ["Concept 1", "Concept 2", "no concept"]
    positive, negative, rest = figure.data[0].marker.color
    assert len({positive, negative, rest}) == 3
    assert "83%" in figure.layout.title.text or any(
        "83%" in (a.text or "") for a in figure.layout.annotations
    )


@pytest.mark.parametrize(
    ("place", "presence", "adds", "said"),
    [
        ((0.1, 0.1), [0.0, 0.6], [0, -1, 0.1], "Concept 2"),
        ((0.9, 0.1), [0.9, 0.1], [2, 0, 0], "Concept 1"),
        ((0.1, 0.9), [0.2, 0.1], [0.5, 0, 0], "no concept here"),
        ((1.0, 1.0), [0.0, 0.0], [0, 0, 0.2], "no concept here"),
    ],
)
def test_a_place_has_the_concepts_of_its_cell(seen, place, presence, adds, said):
    there, added = concepts_seen.at(seen, *place)
    np.testing.assert_allclose(there, presence, atol=1e-6)
    np.testing.assert_allclose(added, adds, atol=1e-6)
    assert concepts_seen.strongest(seen, *place) == said


def test_spots_to_click_lie_in_the_picture_and_know_their_place(seen):
    figure = concepts_seen.where(seen, seen.arrays["seen"])
    spots = figure.data[1]
    assert len(spots.x) == concepts_seen.SPOTS**2
    for x, y, (down, across) in zip(spots.x, spots.y, spots.customdata, strict=True):
        assert 0 < x < 16
        assert 0 < y < 8
        assert (down, across) == pytest.approx((y / 8, x / 16))


def test_presence_is_spread_over_the_picture(seen):
    grown = concepts_seen.spread(seen, 0)
    assert grown.shape == (8, 16)
    assert grown[7, 0] == grown.max() == pytest.approx(0.9)
    assert grown[0, 0] == grown.min() == pytest.approx(0.0)


@pytest.fixture
def found():
    """A discovery: two concepts, three views of the class and one other, two prototypes each."""
    outlines = np.zeros((2, 2, 8, 8), dtype=np.uint8)
    outlines[:, 0, 2:5, 1:7] = 1
    prototypes = np.full((2, 2, 8, 8, 3), 200, dtype=np.uint8)
    return ImageExplanation(
        arrays={
            "of_class": np.array([1, 1, 1, 0], dtype=np.uint8),
            "presence": np.array([[1, 0], [2, 0], [1, 1], [0, 3]], dtype=np.float32),
            "contributions": np.array([[4, 0], [5, 0], [3, -2], [0, 0]], dtype=np.float32),
            "thresholds": np.array([0.5, 1.0], dtype=np.float32),
            "prototypes": prototypes,
            "outlines": outlines,
        },
        values={"kind": "concepts", "names": ["a", "b", "c", "d"]},
    )


def test_the_matrix_of_presence_is_relative_to_the_most_of_each_concept(found):
    found.arrays["thresholds"][:] = [0, -1]  # a concept may be above its threshold everywhere
    found.arrays["presence"][0, 1] = -0.5
    figure = concepts_seen.matrix(found)
    np.testing.assert_allclose(figure.data[0].z, [[0.5, 1, 0.5, 0], [0, 0, 1 / 3, 1]])
    assert (figure.layout.coloraxis.cmin, figure.layout.coloraxis.cmax) == (0, 1)


def test_one_is_counted_without_an_s():
    assert (counted(1, "picture"), counted(2, "picture")) == ("1 picture", "2 pictures")


def test_the_matrix_of_contributions_has_the_class_alone(found):
    figure = concepts_seen.matrix(found, "contributions")
    np.testing.assert_allclose(figure.data[0].z, [[4, 5, 3], [0, 0, -2]])
    assert (figure.layout.coloraxis.cmin, figure.layout.coloraxis.cmax) == (-5, 5)


def test_a_montage_shows_prototypes_that_are_there_in_context_and_cut_out(found):
    shown = montage(found, 0)
    assert shown.shape == (2 * 112, 112, 3), "one of the two prototypes is there"
    assert (shown == 200).any(), "its own pixels keep their colour"
