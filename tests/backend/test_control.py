"""Metrics that a control wins: by hand, either way a metric goes, and in words."""

from __future__ import annotations

import math

import pytest

from backend.control import won_by_control, words
from backend.metric import Metric

UP, DOWN = Metric("up", "Up", True, ""), Metric("down", "Down", False, "")


def won(controls=("lot", "random"), **rows):
    values = {name: {"up": value} for name, value in rows.items()}
    return won_by_control(values, controls, [UP])


def test_a_control_wins_where_it_is_at_least_as_good_as_the_best_method():
    assert won(one=0.5, two=0.7, random=0.8) == {"up": "random"}
    assert won(one=0.5, two=0.7, random=0.7) == {"up": "random"}, "as good is enough"
    assert won(one=0.5, two=0.7, random=0.69) == {}


def test_the_way_of_a_metric_is_minded():
    rows = {"one": {"up": 0.5, "down": 0.5}, "random": {"up": 0.6, "down": 0.6}}
    assert won_by_control(rows, ["random"], [UP, DOWN]) == {"up": "random"}
    rows["random"] = {"up": 0.4, "down": 0.4}
    assert won_by_control(rows, ["random"], [UP, DOWN]) == {"down": "random"}


def test_the_best_control_is_named_and_the_first_of_equals():
    assert won(one=0.5, lot=0.6, random=0.9) == {"up": "random"}
    assert won(one=0.5, random=0.9, lot=0.9) == {"up": "random"}
    assert won(one=0.5, lot=0.9, random=0.1) == {"up": "lot"}


@pytest.mark.parametrize("undefined", [None, math.nan])
def test_what_is_not_defined_does_not_count(undefined):
    assert won(one=undefined, two=0.7, random=0.8) == {"up": "random"}
    assert won(one=0.7, lot=undefined, random=0.6) == {}
    assert won(one=0.7, random=undefined) == {}
    assert won(one=undefined, random=0.8) == {}, "no method to compare with"


def test_without_a_control_or_a_method_nothing_is_won():
    assert won(one=0.5, two=0.7) == {}
    assert won(lot=0.5, random=0.7) == {}
    assert won() == {}
    assert won_by_control({"one": {}, "random": {}}, ["random"], [UP]) == {}


def test_zero_and_negative_values_are_values():
    assert won(one=-0.5, random=0.0) == {"up": "random"}
    assert won(one=0.0, random=-0.5) == {}


def test_a_sentence_a_control():
    names = {"up": "Up", "down": "Down", "gap": "Gap"}
    assert words({"up": "random"}, names) == [
        "Up: a control (random) does as well as the best method, so it says nothing here."
    ]
    assert words({"up": "lot", "down": "random", "gap": "lot"}, names) == [
        "Up, Gap: a control (lot) does as well as the best method, so they say nothing here.",
        "Down: a control (random) does as well as the best method, so it says nothing here.",
    ]
    assert words({}, names) == []
