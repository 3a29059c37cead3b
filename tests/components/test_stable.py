"""Repetitions of an explanation: when there are enough of them, and what a table says of them."""

from __future__ import annotations

import types

import pytest

from backend.bootstrap import Interval
from backend.explanation import Explanation
from backend.stability import FEWEST
from components import stable


class Known:
    """What is known of some runs: enough from a number of them on."""

    def __init__(self, runs, enough_from):
        self.runs, self.enough = runs, len(runs) >= enough_from


def item(name="method", there=True, explainer="one"):
    return types.SimpleNamespace(
        title=name,
        explanation=Explanation(arrays={}) if there else None,
        request=types.SimpleNamespace(explainer=explainer),
    )


@pytest.fixture
def submitted(monkeypatch):
    """Numbers of the runs that were asked for; those from `missing` on are still to come."""

    class Asked(list):
        missing = 100

    asked = Asked()

    def items(requests):
        asked.extend(requests)
        return tuple(item(there=number < asked.missing) for number in requests)

    monkeypatch.setattr(stable.compare, "items", items)
    return asked


def repeated(enough_from, most):
    return stable.repeated(item(), lambda run: run, lambda runs: Known(runs, enough_from), most)


def test_runs_end_as_soon_as_enough_is_known(submitted):
    runs = repeated(enough_from=0, most=9)
    assert submitted == list(range(1, FEWEST)), "a few are always made"
    assert len(runs.done) == FEWEST
    assert len(runs.measured.runs) == FEWEST


def test_runs_are_added_one_after_another(submitted):
    runs = repeated(enough_from=FEWEST + 2, most=20)
    assert submitted == list(range(1, FEWEST + 2))
    assert len(runs.done) == FEWEST + 2


def test_there_are_at_most_as_many_runs_as_a_person_allows(submitted):
    assert len(repeated(enough_from=100, most=8).done) == 8
    assert submitted == list(range(1, 8))


def test_fewer_than_a_few_are_all(submitted):
    assert len(repeated(enough_from=0, most=2).done) == 2
    assert submitted == [1]


def test_no_further_run_is_asked_for_while_one_is_to_come(submitted):
    submitted.missing = 3
    runs = repeated(enough_from=100, most=9)
    assert submitted == list(range(1, FEWEST))
    assert len(runs.done) == 3, "the first, and the two that are there"
    assert len(runs.measured.runs) == 3


@pytest.mark.parametrize(
    ("mean", "half", "told"),
    [
        (0.83333, 0.10964, "0.833 ± 0.110"),
        (1.0, 0.0, "1.000 ± 0.000"),
        (-0.5, None, "-0.500"),
        (None, None, ""),
        (None, 0.1, ""),
    ],
)
def test_a_mean_is_told_give_or_take_half_its_interval(mean, half, told):
    assert stable.give_or_take(Interval(mean, None, None, 3), half) == told


def cells(what, runs):
    return {f"{what}: runs": "" if runs is None else "5", f"{what}: overlap": ""}


def test_one_column_says_that_no_method_draws():
    assert stable.seed_cells(item(), {}, cells) == {"seeds": "deterministic"}


def test_where_one_draws_each_has_the_columns_over_seeds():
    by_seed = {"drawing": stable.Runs(item(), (), Known)}
    drawing = stable.seed_cells(item(explainer="drawing"), by_seed, cells)
    other = stable.seed_cells(item(explainer="other"), by_seed, cells)
    assert drawing == {"seeds: runs": "5", "seeds: overlap": ""}
    assert other == {"seeds: runs": "deterministic", "seeds: overlap": ""}
    assert list(drawing) == list(other)
