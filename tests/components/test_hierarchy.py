"""The nested parts: where they lie, how large they are, what they carry."""

from __future__ import annotations

import numpy as np
import pytest

from components.figures import hierarchy, render
from components.figures.palette import LIGHT
from tests.components.graphed import scaled
from tests.components.test_graph import lines, pieces

RING = [(i, (i + 1) % 8) for i in range(8)]


def undefined(budgets=(0.25, 0.5)):
    found = scaled(RING, np.arange(8), budgets)
    for scale in found.values["scales"]:
        scale.update(share_kept=None, share_lost=None)
    return found


def test_every_bar_is_the_whole_graph():
    plot = hierarchy.parts(scaled(RING, np.arange(8)))
    before, joins, rest = plot.data
    assert (list(before.x), list(joins.x), list(rest.x)) == ([0, 2], [2, 2], [6, 4])
    assert plot.layout.barmode == "stack"
    assert list(plot.layout.xaxis.range) == [0, 8]
    labels = plot.layout.yaxis.ticktext
    assert labels == ("25 %<br><b>keeps 25 %</b>", "50 %<br><b>keeps 50 %</b>")
    assert joins.text == ("2", "2")
    assert before.text[0] == ""


def test_bars_are_what_is_kept_and_lost():
    kept, lost = hierarchy.carried(scaled(RING, np.arange(8))).data
    assert list(kept.y) == [0.25, 0.5]
    assert list(lost.y) == [0.25, 0.5]
    assert list(kept.x) == ["25 %<br>(2 edges)", "50 %<br>(4 edges)"]


def test_each_panel_shows_what_was_in_what_joins_and_the_rest():
    plot = hierarchy.scales(scaled(RING, np.arange(8)))
    assert [a.text for a in plot.layout.annotations] == ["25 % (2 edges)", "50 % (4 edges)"]
    counts = {
        (t.xaxis, t.line.color): pieces(t) if len(t.x) else 0 for t in lines(plot)
    }  # fmt: skip
    was, joins, rest = LIGHT.positive[-1], LIGHT.positive[-2], LIGHT.nan_hatch
    assert [counts["x", c] for c in (was, joins, rest)] == [0, 2, 6]
    assert [counts["x2", c] for c in (was, joins, rest)] == [2, 2, 4]
    assert plot.layout.xaxis.range == plot.layout.xaxis2.range
    assert (plot.layout.yaxis.scaleanchor, plot.layout.yaxis2.scaleanchor) == ("x", "x2")


def test_many_scales_take_several_rows():
    plot = hierarchy.scales(scaled(RING, np.arange(8), np.arange(1, 6) / 8))
    assert len(plot.layout.annotations) == 5
    assert plot.layout.yaxis4.domain[1] < plot.layout.yaxis.domain[0]


def test_large_parts_say_what_they_leave_out():
    edges = [(i, (i + 1) % 900) for i in range(900)]
    plot = hierarchy.scales(scaled(edges, np.arange(900)))
    assert "400 of 900 edges" in plot.layout.title.text


def test_no_decision_to_share_out_is_said():
    found = undefined()
    assert "less than 1 %" in hierarchy.carried(found).layout.title.text
    assert hierarchy.parts(found).layout.yaxis.ticktext[0] == "25 %<br><b>–</b>"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("found", [scaled(RING, np.arange(8)), undefined()])
@pytest.mark.parametrize("make", [hierarchy.scales, hierarchy.parts, hierarchy.carried])
def test_all_is_drawn_without_a_browser(make, found, theme):
    picture = render.render(make(found, theme), "png", via="matplotlib", scale=1.0)
    assert picture.startswith(b"\x89PNG")
