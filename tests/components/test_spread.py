"""The means of runs as bars: highest first, with their deviations, and what stays outlined."""

from __future__ import annotations

import numpy as np
import pytest

from backend.stability import Stability, stability
from components.figures.palette import DARK, LIGHT, colour
from components.figures.spread import MOST, PALE, spread

NAMES = ["zero", "one", "two", "<b>three", "four", "five"]
RUNS = [np.array([1.0, 5, -3, 9, 0, np.nan]), np.array([2.0, 1, -1, 7, 0, np.nan])]


def measured() -> Stability:
    """Two runs with half of five positions on top: mean 1.5 3 -2 8 0; what stays is 0, 1 and 3."""
    return stability(RUNS, 0.5)


def test_bars_are_the_means_with_their_deviations_highest_first():
    bar = spread(NAMES, measured()).data[0]
    assert bar.orientation == "h"
    assert list(bar.x) == [8, 3, 1.5, 0, -2]
    assert list(bar.y) == [0, 1, 2, 3, 4]
    half = 2**0.5
    np.testing.assert_allclose(bar.error_x.array, [half, 2 * half, half / 2, 0, half])
    assert bar.error_x.visible is None
    assert bar.error_x.type == "data"


def test_the_highest_bar_is_on_top_and_has_its_own_name():
    axis = spread(NAMES, measured()).layout.yaxis
    assert axis.ticktext == ("&lt;b&gt;three", "one", "zero", "four", "two")
    assert axis.tickvals == (0, 1, 2, 3, 4)
    assert axis.range[0] > axis.range[1]


def test_what_does_not_stay_is_pale_and_not_outlined():
    found = measured()
    assert np.flatnonzero(found.stable).tolist() == [0, 1, 3]
    marker = spread(NAMES, found).data[0].marker
    assert marker.opacity == (1, 1, 1, PALE, PALE)
    assert marker.line.width == (1.5, 1.5, 1.5, 0, 0)


@pytest.mark.parametrize(("theme", "look"), [("light", LIGHT), ("dark", DARK)])
def test_the_longest_bar_has_the_deepest_colour(theme, look):
    plot = spread(NAMES, measured(), theme)
    means = (8, 3, 1.5, 0, -2)
    assert plot.data[0].marker.color == tuple(colour(mean, 8, look) for mean in means)
    assert plot.layout.paper_bgcolor == look.paper


def test_the_pointer_says_the_numbers_of_each():
    first, *rest = spread(NAMES, measured()).data[0].hovertext
    assert first == (
        "<b>&lt;b&gt;three</b><br>mean 8, deviation 1.41<br>among the highest in 100% of 2 runs"
    )
    assert "mean -2" in rest[-1]
    assert "0% of 2 runs" in rest[-1]


def test_the_rest_is_counted_in_its_own_word():
    scores = np.arange(MOST + 2.0)
    names = [f"w{i}" for i in range(MOST + 2)]

    def notes(size):
        plot = spread(names[:size], stability([scores[:size]] * 5), what="token")
        return plot.data[0].x, plot.layout.meta["notes"]

    bars, said = notes(MOST + 2)
    assert list(bars) == scores[:1:-1].tolist()
    assert said[1] == "2 tokens with lower means not shown"
    assert notes(MOST + 1)[1][1] == "1 token with lower means not shown"
    bars, said = notes(MOST)
    assert (len(bars), len(said)) == (MOST, 1)
    assert said[0] == "outlined: among the highest in at least 90 % of the runs"


def test_one_run_has_no_deviation_and_nothing_that_stays():
    bar = spread(["a", "b"], stability([np.array([2.0, 1.0])])).data[0]
    assert list(bar.error_x.array) == [0, 0]
    assert bar.marker.opacity == (PALE, PALE)


def test_nothing_at_all_is_an_empty_figure():
    plot = spread(["a", "b"], stability([np.full(2, np.nan)] * 2))
    assert len(plot.data[0].x) == 0
    assert plot.layout.yaxis.ticktext == ()
