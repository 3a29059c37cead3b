"""Superpixels: numbered without gaps, never one alone, covered and uncovered where they are."""

from __future__ import annotations

import numpy as np
import pytest

from backend.errors import InputError
from backend.images.kernel_shap import KernelShap
from backend.images.lime import Lime
from backend.images.superpixels import Cut, SuperpixelParameters, segments
from tests.backend.images import made
from tests.backend.images import segments as chosen


@pytest.mark.parametrize("count", [4, 6, 50, 400])
@pytest.mark.parametrize("image", [0, 1, 2])
def test_numbers_have_no_gaps(cnn, photos, count, image):
    found = segments(made.decision(cnn, photos, image).seen, count)
    assert found.shape == cnn.shape
    np.testing.assert_array_equal(np.unique(found), np.arange(found.max() + 1))
    assert 2 <= found.max() + 1 <= 2 * count


def test_flat_patches_are_found():
    seen = np.zeros((32, 32, 3), dtype=np.uint8)
    seen[:16, :16], seen[:16, 16:], seen[16:, :16] = (250, 0, 0), (0, 250, 0), (0, 0, 250)
    found = segments(seen, 4)
    assert len({found[r, c] for r, c in [(4, 4), (4, 28), (28, 4), (28, 28)]}) == 4
    for rows in (slice(2, 13), slice(19, 30)):
        for columns in (slice(2, 13), slice(19, 30)):
            assert len(np.unique(found[rows, columns])) == 1


def test_one_superpixel_is_refused(cnn, monkeypatch, photos):
    one = np.full((6, 6, 3), 99, dtype=np.uint8)
    monkeypatch.setattr("skimage.segmentation.slic", lambda *_, **__: np.zeros((32, 32), int))
    with pytest.raises(InputError, match="one superpixel"):
        segments(one, 2)
    for method in (Lime, KernelShap):
        with pytest.raises(InputError, match="one superpixel"):
            made.explain(method, cnn, photos)


def test_segments_that_slic_left_out_of_its_count_are_renumbered(monkeypatch):
    odd = np.full((4, 4), 7)
    odd[2:], odd[3:] = 3, 11
    monkeypatch.setattr("skimage.segmentation.slic", lambda *_, **__: odd)
    expected = np.array([1, 1, 0, 2])[:, None].repeat(4, 1)
    np.testing.assert_array_equal(segments(np.zeros((4, 4, 3), np.uint8), 3), expected)


@pytest.mark.parametrize("fill", ["black", "grey", "mean", "blur"])
def test_only_kept_segments_are_seen(cnn, photos, monkeypatch, fill):
    chosen.cut_into(monkeypatch, chosen.QUARTERS)
    game = chosen.worth(cnn, photos, chosen.QUARTERS, 3, fill)
    cut = Cut(made.decision(cnn, photos, 0, 3), SuperpixelParameters(fill=fill))
    assert cut.count == 4
    kept = np.array([[i in coalition for i in range(4)] for coalition in game])
    np.testing.assert_allclose(cut.logits(kept, ""), list(game.values()), rtol=1e-4, atol=1e-4)
    spread = cut.spread(np.array([5.0, 6.0, 7.0, 8.0]))
    np.testing.assert_array_equal(chosen.of_segments(spread, chosen.QUARTERS), [5, 6, 7, 8])
