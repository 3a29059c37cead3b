"""Occlusion: captum's numbers, a linear model's closed form, and windows that leave nothing out."""

from __future__ import annotations

import numpy as np
import pytest

from backend.errors import InputError
from backend.images.occlusion import Occlusion, windows
from tests.backend.images import made
from tests.backend.images.made import explain


@pytest.mark.parametrize(("window", "stride"), [(8, 8), (4, 4), (8, 4), (7, 5), (32, 32)])
@pytest.mark.parametrize("fill", ["grey", "mean"])
def test_it_is_captums(cnn, photos, window, stride, fill):
    from captum.attr import Occlusion as Peer

    decision = made.decision(cnn, photos, 1, 2)
    expected = Peer(cnn.logits).attribute(
        decision.x,
        sliding_window_shapes=(3, window, window),
        strides=(3, stride, stride),
        baselines=cnn.fill(decision.seen, fill),
        target=2,
    )
    found = explain(
        Occlusion, cnn, photos, image=1, label=2, window=window, stride=stride, fill=fill
    )
    assert np.abs(found.scores).max() > 1e-3
    np.testing.assert_allclose(found.scores, expected[0].mean(dim=0).detach(), atol=1e-5)


def test_of_a_linear_model_a_window_scores_what_it_held(flat, photos):
    decision = made.decision(flat, photos, 0, 1)
    weights = flat.module.head.weight[1].view(3, made.SIDE, made.SIDE)
    held = (weights * decision.x[0]).sum(dim=0).numpy()
    sums = held.reshape(4, 8, 4, 8).sum(axis=(1, 3)).repeat(8, 0).repeat(8, 1)
    found = explain(Occlusion, flat, photos, label=1, window=8, stride=8, fill="grey")
    np.testing.assert_allclose(found.scores, sums, atol=1e-5)
    assert found.values["windows"] == 16
    assert found.run.forward_passes == 17


def test_what_the_model_does_not_look_at_scores_nothing(looking, bright):
    found = explain(Occlusion, looking, bright, label=0, window=8, stride=8).scores
    assert (found[made.SQUARE] > 1).all()
    assert np.count_nonzero(found) == 64


@pytest.mark.parametrize("shape", [(5, 9), (32, 32), (33, 47)])
@pytest.mark.parametrize(("size", "stride"), [(1, 1), (4, 3), (8, 8), (10, 7), (40, 16), (64, 1)])
def test_windows_cover_every_pixel_and_stop_at_the_edge(shape, size, stride):
    counts = np.zeros(shape, dtype=int)
    places = windows(shape, size, stride)
    for rows, columns in places:
        counts[rows, columns] += 1
        for side, place in zip(shape, (rows, columns), strict=True):
            assert place.start % stride == 0
            assert place.stop == min(place.start + size, side) > place.start
    assert counts.min() >= 1
    assert len({(r.start, c.start) for r, c in places}) == len(places)
    for side, last in zip(shape, places[-1], strict=True):
        assert last.stop == side
        assert last.start == 0 or last.start - stride + size < side


def test_windows_that_leave_gaps_are_refused(cnn, photos):
    with pytest.raises(InputError, match="Use at most 8"):
        explain(Occlusion, cnn, photos, window=8, stride=16)
