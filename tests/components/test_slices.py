"""Bars of slices: values, order, colours, literal names, both themes."""

import numpy as np
import pytest

from backend.concepts.cb_slice import CBSlice
from backend.concepts.explanation import ConceptExplanation, ConceptTarget
from backend.concepts.kmeans_slices import KMeansSlices
from components.figures import render, slices
from components.figures.curves import LINES, LINES_DARK
from components.figures.palette import LIGHT
from tests.backend.concepts.failing import failing_table
from tests.components.sliced import (
    FAILED,
    RARE,
    SCRIPT,
    THEMES,
    UNNAMED,
    bars,
    drawn_as,
    grown,
    has,
    keyword,
    notes,
    one,
    rgb,
    sliced,
)
from tests.fake import FakeRun


@THEMES
def test_a_bar_is_as_long_as_its_slice_and_coloured_by_what_fails(look):
    drawn = slices.overview(sliced(FAILED, UNNAMED, RARE, FAILED), look.name, "CB-SLICE")
    named = bars(drawn)
    assert list(named) == ["concept failure", "rare combination", "no keywords"]
    assert (named["concept failure"].x, named["concept failure"].y) == ((40, 40), (0, 3))
    assert (named["rare combination"].x, named["rare combination"].y) == ((25,), (2,))
    assert (named["no keywords"].x, named["no keywords"].y) == ((5,), (1,))
    assert named["concept failure"].text == ("40", "40")
    lines = LINES if look is LIGHT else LINES_DARK
    colours = [trace.marker.color for trace in drawn.data]
    assert colours == [lines[1], lines[0], look.nan_hatch]
    assert drawn.layout.showlegend
    assert drawn.layout.meta["title"] == "CB-SLICE"
    assert notes(drawn) == ["4 slices of 110 errors in 900 samples"]
    assert drawn.layout.paper_bgcolor == look.paper


def test_the_first_slice_stands_at_the_top_with_its_keywords():
    drawn = slices.overview(sliced(FAILED, RARE, UNNAMED))
    axis = drawn.layout.yaxis
    assert (axis.autorange, axis.tickvals) == ("reversed", (0, 1, 2))
    first, second, third = axis.ticktext
    assert first == "1 · striped ✗, water"
    assert second.startswith("2 · no &lt;b&gt;big&lt;/b&gt;")
    assert third == "3 · land taken for &lt;i&gt;sea&lt;/i&gt;"
    assert drawn.layout.xaxis.title.text == "members"


def test_names_are_literal_everywhere():
    found = sliced(FAILED, RARE, UNNAMED, **grown())
    drawn = [slices.overview(found, title=SCRIPT), *(p.figure for p in slices.plots(found))]
    for figure in drawn:
        figure.layout.meta = None  # not drawn
        text = figure.to_json().replace("\\u003c", "<")
        assert not [markup for markup in ("<script", "<b>big", "<i>") if markup in text]
    hover = bars(drawn[0])["concept failure"].hovertext[0].split("<br>")
    assert hover == [
        "slice 1: 40 members, score 0.750",
        "striped ✗: predicted 0.90, true 0.10",
        "water: predicted 0.80, true 0.90",
        "&lt;script&gt;alert(&#x27;&amp;&#x27;)&lt;/script&gt;: predicted 0.70, true 0.80",
        "3 × land taken for &lt;i&gt;sea&lt;/i&gt;",
        "2 × &lt;i&gt;sea&lt;/i&gt; taken for land",
    ]


def test_methods_beside_each_other_share_a_scale():
    drawn = [slices.overview(sliced(*found), most=80) for found in ((FAILED,), (UNNAMED,))]
    assert drawn[0].layout.xaxis.range == drawn[1].layout.xaxis.range == (0, 1.08 * 80)
    assert slices.overview(sliced(RARE, FAILED)).layout.xaxis.range == (0, 1.08 * 40)


def test_more_than_twenty_slices_are_cut_and_said_so():
    drawn = slices.overview(sliced(*(one(50 - i) for i in range(23))))
    (trace,) = drawn.data
    assert trace.x == tuple(range(50, 30, -1))
    assert len(drawn.layout.yaxis.ticktext) == slices.MOST == 20
    assert notes(drawn) == [
        f"23 slices of {sum(range(28, 51))} errors in 900 samples",
        "the first 20 are shown",
    ]
    whole = slices.overview(sliced(*(one(50 - i) for i in range(20))))
    assert len(notes(whole)) == 1


def test_one_slice_and_none():
    alone = slices.overview(sliced(RARE))
    assert (len(alone.data), alone.data[0].x, alone.data[0].y) == (1, (25,), (0,))
    nothing = slices.overview(sliced())
    assert len(nothing.data) == 0
    assert nothing.layout.xaxis.range == (0, 1.08)


def test_a_method_without_keywords_needs_no_legend():
    drawn = slices.overview(sliced(UNNAMED, UNNAMED))
    assert [trace.name for trace in drawn.data] == ["no keywords"]
    assert drawn.layout.showlegend is False
    assert slices.overview(sliced(RARE)).layout.showlegend is True
    assert slices.headline(sliced(), one(0, confusion=())) == "nobody"


@pytest.mark.parametrize(
    ("predicted", "true", "said", "kind"),
    [
        (0.9, 0.8, "striped", "rare combination"),
        (0.9, 0.1, "striped ✗", "concept failure"),
        (0.1, 0.2, "no striped", "rare combination"),
        (0.1, 0.9, "no striped ✗", "concept failure"),
    ],
)
def test_a_keyword_is_told_as_it_was_predicted(predicted, true, said, kind):
    word = keyword(0, predicted, true)
    assert slices.word(sliced(), word) == said
    assert slices.kind(one(9, word)) == kind
    assert slices.kind(UNNAMED) == "no keywords"


@THEMES
def test_every_picture_is_drawn_in_both_themes(look):
    found = sliced(FAILED, RARE, UNNAMED, **grown())
    overview = slices.overview(found, look.name)
    picture = drawn_as(overview)
    assert tuple(picture[0, 0]) == rgb(look.paper)
    for trace in overview.data:
        assert has(picture, trace.marker.color)
    heat, chosen, curve = (drawn_as(plot.figure) for plot in slices.plots(found, look.name))
    assert has(heat, look.neutral)
    assert has(heat, look.probability[-1])
    line = LINES[0] if look is LIGHT else LINES_DARK[0]
    assert has(chosen, line)
    assert has(curve, line)


def test_colours_are_explained_without_a_browser_too():
    picture = render.render(slices.overview(sliced(FAILED, RARE)), "svg", via="matplotlib")
    assert b"concept failure" in picture
    assert b"rare combination" in picture
    assert b"no keywords" not in picture


def test_without_a_heading_the_note_stays_small():
    heading, note = (
        drawn_as(slices.overview(sliced(RARE), title=title))[:34] for title in ("Mean", "")
    )
    assert (heading < 80).any()
    assert not (note < 80).any()  # written in the muted colour


def test_what_methods_find_is_drawn_as_it_is():
    table = failing_table()
    few = CBSlice.Parameters(slices=4, epochs=5, stability_seeds=1)
    for explainer, parameters in ((CBSlice, few), (KMeansSlices, KMeansSlices.Parameters())):
        found = explainer().explain(None, table, ConceptTarget(), parameters, FakeRun())
        found = ConceptExplanation.from_bytes(found.to_bytes())
        drawn = slices.overview(found)
        lengths = {y: x for trace in drawn.data for x, y in zip(trace.x, trace.y, strict=True)}
        counts = np.bincount(found.arrays["slices"])
        assert [lengths[i] for i in range(len(lengths))] == counts.tolist()
        assert len(slices.plots(found)) == (2 if explainer is CBSlice else 0)


def test_what_fails_stands_first():
    late = one(9, keyword(3, 0.2, 0.1), keyword(0, 0.9, 0.2)) | {"failing": 0}
    found = sliced(late)
    assert slices.kind(late) == "concept failure"
    assert slices.headline(found, late).startswith(slices.word(found, late["keywords"][1]))
