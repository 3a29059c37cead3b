"""Cells keep the total, the strip shows it, and a long one says what it leaves out."""

import json
import math
import os
import time
from pathlib import Path

import numpy as np
import plotly.io
import pytest

from components.figures import figure, strips, tokens
from components.figures.palette import DARK, LIGHT
from components.figures.windows import windows
from tests.components.conftest import ENGLISH, explain

GOLDEN = Path(__file__).parent / "golden" / "strip.json"
LEVELS = ("token", "word", "sentence")


def texts(figure):
    """Every text a figure shows, as its reader would see it."""
    shown = [t for trace in figure.data for t in (trace.text if trace.text is not None else ())]
    return [*shown, *(note.text for note in figure.layout.annotations)]


def fills(figure):
    return {shape.fillcolor for shape in figure.layout.shapes}


@pytest.mark.parametrize("level", LEVELS)
def test_cells_cover_every_token_and_keep_the_total(level):
    words = ["Hel", "lo", " wor", "ld", ".", " It", " is", " me", ".", " Yes"]
    found = explain(words, np.arange(10.0) - 3.5)
    cells = tokens.cells(found, level)
    assert [p for c in cells for p in range(c.start, c.stop)] == list(range(10))
    assert "".join(c.text for c in cells) == "".join(words)
    assert sum(c.score for c in cells) == pytest.approx(float(found.arrays["scores"].sum()))
    assert len(cells) == {"token": 10, "word": 6, "sentence": 3}[level]


def test_a_cell_is_nan_only_where_all_its_tokens_are():
    found = explain(["Hel", "lo", " a", "b", " x"], [1.0, *[np.nan] * 4])
    first, second, _ = tokens.cells(found, "word")
    assert first.score == 1.0
    assert math.isnan(second.score)


def test_marks_of_a_cell(capital):
    cells = tokens.cells(capital, "token")
    assert [c.explained for c in cells] == [False] * 5 + [True] * 2
    assert [c.gold for c in cells] == [i == 3 for i in range(7)]
    assert cells[0].role == "user"
    assert cells[-1].role == "answer"


def test_a_reading_by_name(capital):
    capital.arrays["readings/last"] = np.full(7, 2.0, dtype=np.float32)
    assert tokens.limit(tokens.cells(capital, "token", "last")) == 2.0
    with pytest.raises(ValueError, match="no reading 'nope'; there are: scores, readings/last"):
        tokens.cells(capital, "token", "nope")


def test_rows_rank_by_size_and_share_sums_to_one(capital):
    table = tokens.rows(capital, "token")
    assert [r["rank"] for r in table] == [1, 2, 3, 4, 5, None, None]
    assert [r["score"] for r in table[:5]] == [-1.0, 1.0, -0.5, 0.5, 0.0]
    assert [r["position"] for r in table] == [0, 4, 1, 3, 2, 5, 6]
    assert sum(r["share"] for r in table[:5]) == pytest.approx(1.0)
    assert table[1]["text"] == "·is"
    assert len(tokens.rows(capital, "token", n=2)) == 2


def test_rows_of_zeros_have_no_share():
    table = tokens.rows(explain(["a", "b"], [0.0, 0.0]), "token")
    assert [r["share"] for r in table] == [None, None]


def test_golden_strip(capital):
    """The figure of `capital`, kept as it was when it was last looked at as a picture.

    Written by this test with VITRINE_WRITE_GOLDEN=1; look at the picture before you keep it.
    """
    drawn = json.loads(tokens.strip(capital, title="Golden", width=400).to_json())
    if os.environ.get("VITRINE_WRITE_GOLDEN"):
        GOLDEN.write_text(json.dumps(drawn, indent=1, ensure_ascii=False) + "\n")
    assert drawn == json.loads(GOLDEN.read_text())


def test_colours_of_the_golden_scores(capital):
    drawn = fills(tokens.strip(capital))
    assert {LIGHT.negative[-1], LIGHT.negative[1], LIGHT.middle} <= drawn
    assert {LIGHT.positive[1], LIGHT.positive[-1]} <= drawn
    assert LIGHT.neutral not in drawn


def test_a_shared_limit_makes_colours_weaker(capital):
    assert LIGHT.positive[-1] in fills(tokens.strip(capital, limit=1.0))
    legendless = tokens.strip(capital, limit=4.0)
    # The colour bar ends in the strongest colour; the boxes themselves reach a quarter of it.
    boxes = [s for s in legendless.layout.shapes if "Q" in s.path and s.fillcolor.startswith("#")]
    assert {s.fillcolor for s in boxes} == {
        LIGHT.middle,
        LIGHT.positive[0],
        LIGHT.negative[0],
        *(strips.colour(v, 4.0, LIGHT) for v in (-0.5, 0.5)),
    }
    assert any("Largest |score| 1 " in t for t in texts(legendless))
    assert "+4" in texts(legendless)


def test_unit_and_largest_are_always_shown(capital):
    shown = texts(tokens.strip(capital))
    assert "log-prob" in shown
    assert "Largest |score| 1 at “The”" in shown


def test_markup_stays_literal():
    found = explain(["<s>", "<br>", "<script>alert(1)</script>", "&lt;", "$x$", " y"])
    drawn = tokens.strip(found, title="<b>bold</b>")
    shown = texts(drawn)
    for literal in ("&lt;s&gt;", "&lt;br&gt;", "&amp;lt;", "&lt;b&gt;bold&lt;/b&gt;"):
        assert literal in shown
    assert not any("<" in t for t in shown)
    hover = " ".join(drawn.data[0].customdata)
    assert "<script" not in hover
    assert "&lt;script&gt;" in hover


def test_nan_is_hatched_grey_with_a_legend():
    found = explain(["a", " b", " c"], [1.0, np.nan, np.nan])
    drawn = tokens.strip(found)
    assert LIGHT.neutral in fills(drawn)
    assert any(s.line.color == LIGHT.nan_hatch for s in drawn.layout.shapes)
    assert "no score" in texts(drawn)
    assert "no score" in drawn.data[0].customdata[1]


def test_infinite_scores_do_not_set_the_scale():
    found = explain(["a", " b", " c"], [1.0, np.inf, np.nan])
    assert tokens.limit(tokens.cells(found, "token")) == 1.0
    assert LIGHT.neutral in fills(tokens.strip(found))


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda t: t.name)
def test_all_zero_is_a_neutral_map_that_says_so(theme):
    drawn = tokens.strip(explain(ENGLISH, np.zeros(7)), theme=theme.name)
    boxes = {s.fillcolor for s in drawn.layout.shapes if s.fillcolor.startswith("#")}
    assert boxes == {theme.middle}
    assert "Every score is zero." in texts(drawn)


def test_all_nan_says_so():
    shown = texts(tokens.strip(explain(ENGLISH, np.full(7, np.nan))))
    assert "No token has a score." in shown


def test_a_prompt_of_one_token():
    drawn = tokens.strip(explain(["Hi", "!"], [0.3, np.nan]))
    assert list(drawn.data[0].text) == ["Hi", "!"]


def test_unsigned_scores_start_at_zero():
    drawn = tokens.strip(explain(["a", " b"], [0.2, 0.8], signed=False))
    assert {"0", "0.8", "Largest score 0.8 at “b”"} <= set(texts(drawn))
    assert LIGHT.negative[-1] not in fills(drawn)


def test_narrow_strips_grow_downwards():
    found = explain([f" word{i}" for i in range(60)])
    wide, narrow = tokens.strip(found), tokens.strip(found, width=390)
    assert narrow.layout.width == 390
    assert narrow.layout.height > wide.layout.height


def test_five_thousand_tokens_are_reduced_and_said_so():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=5000) * 0.001
    scores[[7, 2500, 4900]] = [5.0, -4.0, 3.0]
    found = explain([f" t{i}" for i in range(5000)], scores, gold=(1234,))
    begun = time.perf_counter()
    drawn = tokens.strip(found)
    data = drawn.to_json()
    assert time.perf_counter() - begun < 2.0
    assert len(data) < 2_000_000
    shown = texts(drawn)
    assert {"t7", "t2500", "t4900", "t1234", "t4999"} <= set(shown)
    boxes = [t for t in shown if t.startswith("t") and t[1:].isdigit()]
    assert 500 < len(boxes) <= strips.MOST_UNITS + 50
    size = np.abs(found.arrays["scores"].astype(float))
    kept = size[[int(t[1:]) for t in boxes]].sum() / size.sum()
    assert f"Showing {len(boxes):,} of 5,000 tokens, {kept:.1%} of the mass" in shown
    assert any(t.startswith("… ") and t.endswith(" tokens …") for t in shown)


def test_windows_cover_everything_once():
    scores = np.zeros(1000)
    scores[500] = 1.0
    runs = windows(scores, [3], 40)
    assert [r.start for r in runs[1:]] == [r.stop for r in runs[:-1]]
    assert (runs[0].start, runs[-1].stop) == (0, 1000)
    shown = {i for r in runs if r.shown for i in range(r.start, r.stop)}
    assert {0, 3, 6, 497, 500, 503} <= shown
    assert len(shown) <= 44
    assert windows(np.array([]), [], 5) == ()


def test_the_figure_of_an_explanation(capital):
    assert figure(capital).to_json() == tokens.strip(capital).to_json()
    with pytest.raises(TypeError, match="no figure of a object"):
        figure(object())


def test_figures_do_not_depend_on_the_host(capital, monkeypatch):
    """Streamlit sets a default template of its own; screen and export still show the same."""
    before = tokens.strip(capital).to_json()
    monkeypatch.setattr(plotly.io.templates, "default", "plotly_dark")
    assert tokens.strip(capital).to_json() == before
