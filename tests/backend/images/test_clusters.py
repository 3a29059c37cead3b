"""Groups of pieces: planted ones are found, accidents are dropped, others fall into the nearest."""

from __future__ import annotations

import numpy as np
import pytest

from backend.images.clusters import FEWEST, clusters


def planted(sizes, channels=12, spread=0.1, seed=0):
    """Points of unit length about as many axes, and the group of each."""
    generator = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    e = np.eye(channels)[truth] + spread * generator.normal(size=(len(truth), channels))
    return e / np.linalg.norm(e, axis=1, keepdims=True), truth


def takes_turns(count, of):
    return np.arange(count) % of


def test_planted_groups_are_found():
    e, truth = planted([30] * 5)
    found = clusters(e, takes_turns(150, 10), takes_turns(150, 10), 0, 0)
    assert max(found.silhouettes, key=found.silhouettes.get) == 5
    assert set(found.silhouettes) == set(range(4, 13))
    pairs = set(zip(found.member.tolist(), truth.tolist(), strict=True))
    assert len(pairs) == 5
    assert found.dropped == ()
    np.testing.assert_allclose(np.linalg.norm(found.centres, axis=1), 1)
    for group, axis in pairs:
        assert found.centres[group, axis] > 0.99


def test_the_number_can_be_given():
    e, _ = planted([30] * 5)
    found = clusters(e, takes_turns(150, 10), takes_turns(150, 10), 3, 0)
    assert set(found.silhouettes) == {3}
    assert len(found.centres) == 3


def test_equal_seeds_give_equal_groups():
    e, _ = planted([40, 40, 40], spread=0.5)
    one, two = (clusters(e, takes_turns(120, 9), takes_turns(120, 9), 0, 7) for _ in range(2))
    np.testing.assert_array_equal(one.member, two.member)
    assert one.silhouettes == two.silhouettes


def test_a_group_of_one_picture_is_dropped():
    e, truth = planted([30, 30])
    view = np.where(truth == 0, takes_turns(60, 10), takes_turns(60, 5) + 10)
    source = np.where(truth == 0, view, 10)
    found = clusters(e, view, source, 2, 0)
    assert found.dropped == ("A group of 30 pieces is no concept: it comes from one picture.",)
    assert (found.member[truth == 0] == 0).all()
    assert (found.member[truth == 1] == -1).all()


def test_of_one_picture_alone_a_group_may_come_from_it():
    e, _ = planted([30, 30])
    found = clusters(e, takes_turns(60, 10), np.zeros(60, dtype=int), 2, 0)
    assert found.dropped == ()
    assert len(found.centres) == 2


def test_too_few_pieces_and_too_few_views_are_dropped():
    few = FEWEST - 2
    e, truth = planted([40, few])
    found = clusters(e, takes_turns(40 + few, 5), takes_turns(40 + few, 5), 2, 0)
    assert found.dropped == (f"A group of {few} pieces is no concept: {few} pieces are too few.",)
    e, truth = planted([40, 20])
    view = np.where(truth == 0, takes_turns(60, 20), takes_turns(60, 2))
    found = clusters(e, view, view, 2, 0)
    assert found.dropped == ("A group of 20 pieces is no concept: it occurs in 2 of 20 views.",)
    assert len(found.centres) == 1


def test_nearest_is_the_kept_group_or_none():
    e, truth = planted([30, 30, 30])
    source = np.where(truth == 1, 0, takes_turns(90, 10))
    found = clusters(e, takes_turns(90, 10), source, 3, 0)
    assert len(found.centres) == 2
    assert len(found.every) == 3
    first, third = found.member[0], found.member[-1]
    assert found.nearest(np.eye(12)[:3]).tolist() == [first, -1, third]
    assert found.nearest(np.zeros((0, 12))).tolist() == []


def test_many_channels_and_few_pieces_go_through_fewer_components():
    e, truth = planted([30, 30, 30, 30], channels=600, spread=0.02)
    found = clusters(e, takes_turns(120, 10), takes_turns(120, 10), 0, 0)
    assert len(found.centres) == 4
    assert found.centres.shape[1] == 600
    assert len(set(zip(found.member.tolist(), truth.tolist(), strict=True))) == 4


def test_a_handful_of_pieces_makes_no_concept():
    e, _ = planted([3, 2])
    found = clusters(e, takes_turns(5, 5), takes_turns(5, 5), 0, 0)
    assert len(found.centres) == 0
    assert len(found.dropped) == 2
    assert found.nearest(e).tolist() == [-1] * 5
    with pytest.raises(ValueError):
        clusters(np.zeros((0, 4)), np.zeros(0), np.zeros(0), 0, 0)
