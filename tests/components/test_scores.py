"""The scoreboard stands methods beside random; curves and agreement show what they are given."""

import dataclasses
import math

import numpy as np
import pytest

from backend.tokens.metrics import METRICS
from components.figures import scores
from components.figures.palette import DARK, LIGHT, contrast
from components.figures.scores import ScoreRow, distance
from tests.components.conftest import ENGLISH, explain

RANDOM = ScoreRow(
    "random",
    {"comprehensiveness": 0.2, "sufficiency": 0.5, "mas": None},
    {"comprehensiveness": (0.1, 0.3), "sufficiency": (0.4, 0.6)},
)


def board(*rows):
    drawn = scores.scoreboard([*rows, RANDOM], METRICS)
    return drawn, drawn.data[0].z, drawn.data[1].text


def test_distance_is_in_half_widths_and_knows_the_better_side():
    band = (0.1, 0.3)
    assert distance(0.3, 0.2, band, higher_is_better=True) == pytest.approx(1.0)
    assert distance(0.3, 0.2, band, higher_is_better=False) == pytest.approx(-1.0)
    assert distance(9.0, 0.2, band, higher_is_better=True) == scores.FARTHEST
    assert distance(0.2, 0.2, (0.2, 0.2), higher_is_better=True) == 0.0
    assert distance(0.21, 0.2, (0.2, 0.2), higher_is_better=False) == -scores.FARTHEST


def test_directions_come_from_the_metrics():
    drawn, z, _ = board(ScoreRow("A", {"comprehensiveness": 0.4, "sufficiency": 0.7}))
    assert drawn.layout.yaxis.ticktext == ("Comprehensiveness ↑", "Sufficiency ↓")
    np.testing.assert_allclose(z, [[2.0, 0.0], [-2.0, 0.0]], atol=1e-6)


def test_missing_values_are_grey_dashes_and_missing_metrics_left_out():
    drawn, z, text = board(ScoreRow("A", {"comprehensiveness": None, "sufficiency": -0.25}))
    assert math.isnan(z[0, 0])
    assert text[0] == "–"
    assert text[2] == "−0.25"
    assert drawn.layout.plot_bgcolor == LIGHT.neutral
    assert len(drawn.layout.yaxis.ticktext) == 2


def test_the_random_band_has_its_own_column():
    drawn, _, _ = board(ScoreRow("A", {"comprehensiveness": 0.4, "sufficiency": 0.5}))
    assert drawn.layout.xaxis.ticktext == ("A", "random", "95 % band")
    assert drawn.data[2].text == ("0.10<br>0.30", "0.40<br>0.60")


def test_without_random_nothing_is_coloured():
    drawn = scores.scoreboard([ScoreRow("A", {"gap": 0.4})], METRICS)
    assert np.isnan(drawn.data[0].z).all()
    assert "nothing to compare" in drawn.layout.title.text.replace("<br>", " ")


def test_no_metric_at_all():
    for rows in ([], [ScoreRow("A", {"gap": None})]):
        assert "No metric is defined here." in scores.scoreboard(rows, METRICS).layout.title.text


@pytest.mark.parametrize("look", [LIGHT, DARK])
def test_a_metric_that_a_control_wins_is_grey_with_its_numbers(look):
    rows = [
        ScoreRow("A", {"comprehensiveness": 0.3, "sufficiency": 0.7}),
        ScoreRow("B", {"comprehensiveness": 0.4, "sufficiency": 0.8}),
        ScoreRow("Lot", {"comprehensiveness": 0.1, "sufficiency": 0.65}, control=True),
        dataclasses.replace(RANDOM, control=True),
    ]
    assert scores.won(rows, METRICS) == {"sufficiency": "random"}
    drawn = scores.scoreboard(rows, METRICS, look.name)
    z = drawn.data[0].z
    np.testing.assert_allclose(z[0], [1, 2, -1, 0], atol=1e-6)
    assert np.isnan(z[1]).all()
    assert drawn.layout.plot_bgcolor == look.neutral
    assert drawn.data[1].text[4:] == ("0.70", "0.80", "0.65", "0.50")
    colours = drawn.data[1].textfont.color
    assert set(colours[:4]) <= {"#000000", "#ffffff"}
    [faint] = set(colours[4:])
    assert faint not in {"#000000", "#ffffff", look.ink}
    assert contrast(faint, look.neutral) >= 4.5
    assert contrast(faint, look.neutral) < contrast(look.ink, look.neutral)
    said = drawn.layout.title.text.replace("<br>", " ")
    assert "a control does" in said


def test_only_rows_that_are_controls_count_as_such():
    rows = [ScoreRow("A", {"gap": 0.1}), ScoreRow("Lot", {"gap": 0.2})]
    assert scores.won(rows, METRICS) == {}
    assert scores.won([rows[0], dataclasses.replace(rows[1], control=True)], METRICS) == {
        "gap": "Lot"
    }
    drawn = scores.scoreboard([*rows, RANDOM], METRICS)
    assert "a control" not in drawn.layout.title.text


def test_names_are_literal():
    drawn = scores.scoreboard([ScoreRow("<b>A", {"gap": 0.4})], METRICS)
    assert drawn.layout.xaxis.ticktext == ("&lt;b&gt;A",)
    assert drawn.data[1].hovertext[0].startswith("<b>&lt;b&gt;A</b>")


def test_every_metric_of_the_family_has_a_row():
    rows = [ScoreRow("A", {m.id: 0.5 for m in METRICS})]
    ticks = scores.scoreboard(rows, METRICS).layout.yaxis.ticktext
    assert [t[-1] for t in ticks] == ["↑" if m.higher_is_better else "↓" for m in METRICS]


def result(morf, lerf, spread=None):
    arrays = {
        "fractions": np.linspace(0, 1, len(morf)),
        "curve/neutral/morf": np.array(morf),
        "curve/neutral/lerf": np.array(lerf),
    }
    if spread is not None:
        arrays |= {"spread/neutral/morf": spread, "spread/neutral/lerf": spread}
    return explain(ENGLISH, **arrays)


def test_curves_hold_their_values_and_the_random_band():
    spread = np.array([[0.8, 0.2, 0.0], [1.0, 0.6, 0.1]])
    drawn = scores.curves(
        {
            "A": result([1, 0.2, 0], [1, 0.9, 0]),
            "random": result([0.9, 0.4, 0], [0.9, 0.4, 0], spread),
        },
        "neutral",
    )
    named = {(t.name, t.xaxis): t for t in drawn.data if t.name}
    np.testing.assert_allclose(named["A", "x"].y, [1, 0.2, 0], rtol=1e-6)
    np.testing.assert_allclose(named["A", "x2"].y, [1, 0.9, 0], rtol=1e-6)
    np.testing.assert_allclose(named["A", "x"].x, [0, 0.5, 1])
    band = next(t for t in drawn.data if t.fill == "toself")
    np.testing.assert_allclose(band.y, [0.8, 0.2, 0.0, 0.1, 0.6, 1.0], rtol=1e-6)
    assert sum(bool(t.showlegend) for t in drawn.data) == 2


def test_curves_of_an_operator_that_was_not_run_are_left_out():
    drawn = scores.curves({"A": result([1, 0], [1, 0])}, "key_masking")
    assert len(drawn.data) == 0


def test_agreement_shows_numbers_and_answers_clicks():
    matrix = np.array([[1.0, -0.5], [-0.5, 1.0]])
    drawn = scores.agreement(["A", "<B>"], matrix, title="Rank correlation (Spearman)")
    axis = drawn.layout.coloraxis
    assert (axis.cmin, axis.cmax) == (-1, 1)
    points = drawn.data[1]
    assert points.text == ("1.00", "−0.50", "−0.50", "1.00")
    assert list(points.customdata[1]) == ["A", "<B>"]
    assert drawn.layout.xaxis.ticktext == ("A", "&lt;B&gt;")
    assert "markers" in points.mode


def test_agreement_that_is_not_defined_is_grey():
    drawn = scores.agreement(["A", "B"], np.array([[1.0, np.nan], [np.nan, 1.0]]), title="Overlap")
    assert (drawn.layout.coloraxis.cmin, drawn.layout.coloraxis.cmax) == (0, 1)
    assert drawn.data[1].text[1] == "–"
    assert drawn.layout.plot_bgcolor == LIGHT.neutral
    assert "not defined" in drawn.data[1].hovertext[1]


def intervals(methods):
    """A matrix of methods with ends a tenth away from each number."""
    matrix = np.full((methods, methods), -0.25)
    np.fill_diagonal(matrix, 1.0)
    return matrix, (matrix - 0.1, matrix + 0.1)


def drawn_with(methods, ends):
    matrix, _ = intervals(methods)
    names = [f"m{i}" for i in range(methods)]
    drawn = scores.agreement(names, matrix, title="Rank correlation", ends=ends)
    return drawn, drawn.data[1]


def test_a_cell_has_its_interval_up_to_six_methods_and_the_pointer_always():
    ends = '−0.25<br><span style="font-size:9px">−0.35 to −0.15</span>'
    for methods, between in ((2, ends), (6, ends), (7, "−0.25")):
        _, points = drawn_with(methods, intervals(methods)[1])
        assert points.text[1] == points.text[methods] == between
        assert points.text[0] == points.text[-1] == "1.00"
        assert points.hovertext[1] == "m0 and m1: -0.250<br>95 % interval −0.35 to −0.15"


def test_a_cell_without_an_interval_has_its_number_alone():
    matrix, (low, high) = intervals(3)
    low[0, 1], high[0, 2] = np.nan, np.nan
    _, points = drawn_with(3, (low, high))
    assert points.text[1] == points.text[2] == "−0.25"
    assert points.hovertext[1] == "m0 and m1: -0.250"
    assert "interval" in points.hovertext[3]
    matrix[0, 1] = np.nan
    points = scores.agreement(["A", "B", "C"], matrix, title="Overlap", ends=(low, high)).data[1]
    assert points.text[1] == "–"
    assert points.hovertext[1] == "A and B: not defined"


def test_rows_are_higher_where_they_hold_intervals():
    def height(methods, ends):
        return drawn_with(methods, ends)[0].layout.height

    assert height(6, intervals(6)[1]) - height(6, None) == 6 * 10
    assert height(7, intervals(7)[1]) == height(7, None)
    assert "interval" not in "".join(drawn_with(6, None)[1].hovertext)
