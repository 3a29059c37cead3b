"""One colour scale, or one axis, over methods: of ranks and of scores each their own."""

from __future__ import annotations

import dataclasses
import types

import numpy as np
import pytest

from backend import consensus
from components import agree, decision_views, token_views
from components.figures import tokens
from tests.components.conftest import ENGLISH, explain
from tests.components.test_decision import told

SCORES = [4.0, 0.0, 0.0, 0.0, -1.0, np.nan, np.nan]
RANKS = [1.0, 0.25, 0.5, 0.75, 0.0, np.nan, np.nan]


def ranked(ranks=RANKS, **arrays):
    made = explain(ENGLISH, ranks, answer=2, unit=consensus.UNIT, signed=False, **arrays)
    return dataclasses.replace(made, additive=False)


def test_equal_shares_of_the_totals_have_equal_colours_and_ranks_reach_to_one():
    scores = explain(ENGLISH, SCORES, answer=2)
    halved = explain(ENGLISH, [1.0, 1.0, 0.0, 0.0, 0.0, np.nan, np.nan], answer=2)
    # The largest share of a total is 4 of 5; of a total of 2 it is 1.6.
    limits = token_views.shared_limits([scores, ranked(), halved], "token")
    assert limits == [4.0, 1.0, pytest.approx(1.6)]
    assert token_views.shared_limits([ranked()], "token") == [1.0]


def test_a_word_of_two_tokens_has_the_mean_of_their_ranks():
    words = ["The", " cap", "ital", " of"]
    ranks = dataclasses.replace(ranked(), sequence=explain(words).sequence, explained=())
    ranks = dataclasses.replace(ranks, arrays={"scores": np.array([1.0, 0.25, 0.75, 0.0])})
    cells = tokens.cells(ranks, "word")
    assert [cell.score for cell in cells] == [1.0, 0.5, 0.0]


def test_an_axis_is_shared_by_methods_of_one_unit():
    ranks = dataclasses.replace(told([0.25, 1.0, 0.0]), unit=consensus.UNIT)
    items = [
        types.SimpleNamespace(explanation=one)
        for one in (told([0.5, -3.0, 1.0]), ranks, told([2.0, 0.0, 0.0]))
    ]
    ends = decision_views.limits(items)
    assert list(ends) == ["log-odds", consensus.UNIT]
    assert ends["log-odds"] == pytest.approx(decision_views.limits(items[:1])["log-odds"])
    assert ends["log-odds"] >= 3 > ends[consensus.UNIT] >= 1


def test_what_is_disagreed_about_is_drawn_in_the_place_of_the_scores():
    apart = np.array([0.0, 0.5, 0.1, 0.2, 0.3, np.nan, np.nan], np.float32)
    joint = ranked(disagreement=apart)
    drawn = agree.disagreement(joint)
    np.testing.assert_array_equal(drawn.arrays["scores"], apart)
    np.testing.assert_array_equal(joint.arrays["scores"], np.array(RANKS, np.float32))
    assert drawn.sequence == joint.sequence
