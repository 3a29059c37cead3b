"""Pieces of a picture: of fit sizes, no two the same; a map along its edges."""

from __future__ import annotations

import numpy as np
import pytest

from backend.images import parts
from backend.images.edges import along_edges
from backend.images.regions import LARGEST, LEVELS, SAME, SMALLEST, overlap, regions


@pytest.fixture(scope="module")
def drawn():
    return parts.pictures(9, 4)


def test_sizes_are_within_the_limits_and_no_two_are_the_same(drawn):
    for image in drawn.images[:4]:
        found = regions(image)
        shares = found.mean(axis=(1, 2))
        assert found.dtype == bool
        assert len(found) > len(LEVELS)
        assert shares.min() >= SMALLEST
        assert shares.max() <= LARGEST
        same = [overlap(a, b) for i, a in enumerate(found) for b in found[:i]]
        assert max(same) < SAME


def test_the_coarsest_come_first(drawn):
    found = regions(drawn.images[0]).mean(axis=(1, 2))
    few = regions(drawn.images[0], LEVELS[:1]).mean(axis=(1, 2))
    np.testing.assert_allclose(found[: len(few)], few)
    assert few.mean() > found[len(few) :].mean()


def test_a_part_is_a_piece(drawn):
    for image, masks in zip(drawn.images[:8], drawn.masks[:8], strict=True):
        found = regions(image)
        assert max(overlap(one, m) for m in masks if m.any() for one in found) > 0.6


def test_one_piece_too_large_is_none():
    found = regions(np.full((64, 64, 3), 90, dtype=np.uint8), levels=(1,))
    assert found.shape == (0, 64, 64)


def test_a_flat_picture_falls_into_even_pieces():
    found = regions(np.full((64, 64, 3), 90, dtype=np.uint8))
    assert len(found) > 4
    assert found.mean(axis=(1, 2)).max() <= LARGEST


def test_overlap():
    one, other = np.zeros((2, 4, 4), dtype=bool)
    assert overlap(one, other) == 0
    one[:2], other[1:3] = True, True
    assert overlap(one, other) == pytest.approx(1 / 3)
    assert overlap(one, one) == 1


def test_along_edges_a_map_keeps_its_mean_and_takes_the_outlines():
    seen = np.full((64, 64, 3), 40, dtype=np.uint8)
    seen[16:48, 16:48] = 220
    rows, columns = np.mgrid[:64, :64] - 32
    scores = np.exp(-(rows**2 + columns**2) / 400)
    found = along_edges(seen, scores)
    assert found.mean() == pytest.approx(scores.mean())
    step, before = (abs(m[32, 46] - m[32, 49]) for m in (found, scores))
    assert step > 2 * before, "a pixel on either side of the outline belongs to a sliver of its own"
    np.testing.assert_allclose(along_edges(seen, np.full((64, 64), 0.7)), 0.7)
