"""The recovery figure holds the means and intervals it is given."""

from __future__ import annotations

import pytest

from backend.bootstrap import Interval
from backend.tokens.suite_table import Row
from components.figures import needles
from components.figures.palette import DARK, LIGHT

NONE = Interval(None, None, None, 0)


def row(kind: str, name: str, mean, low=None, high=None, n=3, ceiling=1.0) -> Row:
    metrics = {"recovery": Interval(mean, low, high, n), "rise": NONE, "mas": NONE}
    return Row(kind, None, name, n, metrics, ceiling)


ROWS = [
    row("single", "alti", 0.5, 0.25, 0.625),
    row("single", "random", 0.1, 0.05, 0.2),
    row("variable", "alti", 0.75, n=1, ceiling=0.8),
    row("variable", "random", 0.25, 0.0, 0.5, ceiling=0.8),
]


def test_dots_and_ends_of_the_lines() -> None:
    drawn = needles.recovery(ROWS, {"alti": "ALTI"})
    alti, random = drawn.data[:2]
    assert (alti.name, random.name) == ("ALTI", "random")
    assert alti.x == (0.5, 0.75)
    assert alti.error_x.array == pytest.approx((0.125, 0.0))
    assert alti.error_x.arrayminus == pytest.approx((0.25, 0.0))
    assert random.x == (0.1, 0.25)
    assert random.error_x.arrayminus == pytest.approx((0.05, 0.25))
    assert all(trace.showlegend is not False for trace in drawn.data)
    assert "[25.0%, 62.5%]" in alti.hovertext[0]
    assert "1 prompt" in alti.hovertext[1]
    assert "[" not in alti.hovertext[1]


def test_kinds_do_not_overlap_and_have_headings_above_them() -> None:
    drawn = needles.recovery(ROWS)
    headings = {note.text: note.y for note in drawn.layout.annotations}
    assert list(headings) == ["<b>One needle</b>", "<b>Variable tracking</b>"]
    first, second = headings.values()
    single = [trace.y[0] for trace in drawn.data[:2]]
    variable = [trace.y[1] for trace in drawn.data[:2]]
    assert first < min(single) <= max(single) < second < min(variable)
    low, high = drawn.layout.yaxis.range
    assert high < first
    assert max(variable) < low  # the axis runs downwards
    assert drawn.layout.xaxis.title.text.startswith("recovery (share of the evidence)")


def test_ceiling_is_drawn_where_it_is_below_one() -> None:
    lines = [t for t in needles.recovery(ROWS).data if t.name == "highest possible"]
    assert [x for x in lines[0].x if x is not None] == [0.8, 0.8]
    assert not [t for t in needles.recovery(ROWS[:2]).data if t.name == "highest possible"]


def test_missing_recovery_is_left_out_and_none_at_all_says_so() -> None:
    drawn = needles.recovery([*ROWS, row("file", "alti", None, n=0)])
    assert len(drawn.layout.annotations) == 2
    empty = needles.recovery([row("file", "alti", None, n=0)])
    assert len(empty.data) == 0
    assert "no recovery" in empty.layout.title.text.replace("<br>", " ")
    assert len(needles.recovery([]).data) == 0


def test_names_are_literal_and_themes_differ() -> None:
    rows = [row("<i>k", "a", 0.5, 0.4, 0.6)]
    drawn = needles.recovery(rows, {"a": "<b>A"}, "dark")
    assert drawn.data[0].name == "&lt;b&gt;A"
    assert "&lt;i&gt;k" in drawn.layout.annotations[0].text
    assert drawn.layout.paper_bgcolor == DARK.paper
    assert needles.recovery(rows).layout.paper_bgcolor == LIGHT.paper
    with pytest.raises(ValueError, match="theme"):
        needles.recovery(rows, theme="blue")
