"""Tables of groups and gains of interventions: values, order, colours, literal names."""

import numpy as np

from components.figures import slice_group
from components.figures.curves import LINES, LINES_DARK
from components.figures.palette import LIGHT
from tests.components.sliced import BOLD, SCRIPT, THEMES, drawn_as, has, notes

COUNTS = np.array([[30, 10, 0], [0, 0, 0]])


def test_a_table_of_counts_is_coloured_by_shares_of_its_rows():
    drawn = slice_group.crossed(
        COUNTS, [SCRIPT, "empty"], ["1", "2", "<b>3"], BOLD, ["said"], "light", ("slice", "group")
    )
    heat, numbers = drawn.data
    np.testing.assert_array_equal(heat.z, [[0.75, 0.25, 0.0], [0.0, 0.0, 0.0]])
    assert numbers.text == ("30", "10", "", "", "", "")
    assert (numbers.x, numbers.y) == ((0, 1, 2) * 2, (0, 0, 0, 1, 1, 1))
    assert numbers.hovertext[0].endswith(", 1: 30 (75%)")
    assert numbers.hovertext[0].startswith("&lt;script&gt;")
    assert drawn.layout.xaxis.ticktext[2] == "&lt;b&gt;3"
    assert "script>" not in drawn.layout.yaxis.ticktext[0]
    assert (drawn.layout.coloraxis.cmin, drawn.layout.coloraxis.cmax) == (0, 1)
    assert (drawn.layout.xaxis.title.text, drawn.layout.yaxis.title.text) == ("slice", "group")
    assert notes(drawn) == ["said"]
    assert drawn.layout.title.text.startswith("&lt;b&gt;big")


MEANS = np.array([0.01, 0.2, -0.05])
ENDS = np.array([[0.0, 0.03], [0.15, 0.3], [-0.1, 0.02]])


@THEMES
def test_gains_stand_by_size_with_their_intervals(look):
    drawn = slice_group.gains(["a", BOLD, "c"], MEANS, ENDS, "Won", theme=look.name)
    (trace,) = drawn.data
    assert trace.x == (0.2, 0.01, -0.05)
    assert drawn.layout.yaxis.ticktext == ("&lt;b&gt;big&lt;/b&gt;", "a", "c")
    np.testing.assert_allclose(trace.error_x.array, [0.1, 0.02, 0.07])
    np.testing.assert_allclose(trace.error_x.arrayminus, [0.05, 0.01, 0.05])
    assert trace.hovertext[0] == "&lt;b&gt;big&lt;/b&gt;: +20.0% [+15.0%, +30.0%]"
    lines = LINES if look is LIGHT else LINES_DARK
    assert trace.marker.color == (lines[0], lines[0], lines[1])
    assert drawn.layout.yaxis.autorange == "reversed"


def test_gains_of_many_concepts_are_cut():
    means = np.linspace(0, 1, 30)
    drawn = slice_group.gains([str(j) for j in range(30)], means, np.stack([means] * 2, 1), "Won")
    assert drawn.data[0].x == tuple(means[:-21:-1])
    assert drawn.layout.yaxis.ticktext[0] == "29"


@THEMES
def test_both_are_drawn_in_both_themes(look):
    crossed = slice_group.crossed(COUNTS, ["a", "b"], ["1", "2", "3"], "t", theme=look.name)
    assert has(drawn_as(crossed), look.probability[3])  # three quarters
    won = slice_group.gains(["a", "b", "c"], MEANS, ENDS, "t", theme=look.name)
    assert all(has(drawn_as(won), colour) for colour in set(won.data[0].marker.color))
