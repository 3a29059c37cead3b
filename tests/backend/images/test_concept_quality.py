"""VCM and CCM: closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from backend.images.concept_quality import TOP, auroc, ccm_auroc, ccm_top, vcm, vcm_auroc

E = np.array([[1.0, 0], [0.9, 0.1], [0.2, 0.8], [0.8, 0.3], [0, 1], [0.1, 0.2]])
MEMBER = np.array([0, 0, 0, 1, 1, -1])


def test_vcm_is_the_share_whose_likeliest_direction_is_their_own():
    assert vcm(E, MEMBER, np.eye(2)) == [pytest.approx(2 / 3), pytest.approx(1 / 2)]


def test_vcm_of_no_piece_is_none():
    assert vcm(E[:3], MEMBER[:3], np.eye(2)) == [pytest.approx(2 / 3), None]
    assert vcm(np.zeros((0, 2)), np.zeros(0), np.eye(2)) == [None, None]


def test_vcm_auroc_counts_pairs():
    # of concept 0: 1, .9, .2 against .8, 0, .1; of concept 1: .3, 1 against 0, .1, .8, .2
    assert vcm_auroc(E, MEMBER, np.eye(2)) == [pytest.approx(8 / 9), pytest.approx(7 / 8)]


def test_auroc_of_apart_equal_and_nothing():
    low, high = np.array([0.0, 1.0]), np.array([2.0, 3.0, 4.0])
    assert auroc(high, low) == 1
    assert auroc(low, high) == 0
    assert auroc(low, low) == 0.5
    assert auroc(np.array([1.0]), np.array([0.0, 1.0])) == 0.75
    assert auroc(low, high[:0]) is None
    assert auroc(low[:0], high) is None


def test_ccm_is_of_each_concept():
    presence = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.3], [0.0, 0.4]])
    of_class = np.array([True, True, False, False])
    assert ccm_auroc(presence, of_class) == [1, 0]
    assert ccm_top(presence, of_class) == [1, 0]
    assert ccm_top(presence, ~of_class) == [0, 1]
    assert ccm_auroc(presence, of_class | True) == [None, None]
    assert ccm_top(presence, of_class & False) == [None, None]


def test_ccm_top_counts_so_many_at_most():
    presence = np.arange(100.0)[::-1, None]
    of_class = np.zeros(100, dtype=bool)
    of_class[:5] = of_class[60:] = True  # 45 of the class, 5 of them among the first 20
    assert ccm_top(presence, of_class) == [5 / TOP]
