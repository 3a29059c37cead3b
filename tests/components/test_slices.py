"""Bars of slices and tables of groups: values, order, colours, literal names, both themes."""

import io

import numpy as np
import pytest
from PIL import Image

from backend.concepts.cb_slice import CBSlice
from backend.concepts.explanation import ConceptExplanation, ConceptTarget
from backend.concepts.kmeans_slices import KMeansSlices
from components.figures import render, slice_group, slices
from components.figures.curves import LINES, LINES_DARK
from components.figures.palette import DARK, LIGHT, ink_on
from tests.backend.concepts.failing import failing_table
from tests.fake import FakeRun

THEMES = pytest.mark.parametrize("look", [LIGHT, DARK], ids=["light", "dark"])
SCRIPT, BOLD = "<script>alert('&')</script>", "<b>big</b>"
CONCEPTS = ("striped", "water", SCRIPT, BOLD)
CLASSES = ("land", "<i>sea</i>")


def keyword(concept, predicted, true, score=1.0):
    wrong = (predicted > 0.5) != (true > 0.5)
    return {
        "concept": concept,
        "score": score,
        "predicted": predicted,
        "true": true,
        "mispredicted": wrong,
    }


def one(size, *keywords, score=0.5, confusion=((0, 1, 3), (1, 0, 2))):
    return {
        "size": size,
        "weight": float(size),
        "score": score,
        "keywords": list(keywords),
        "failing": next((k["concept"] for k in keywords[:1] if k["mispredicted"]), None),
        "parts": {},
        "confusion": [list(pair) for pair in confusion],
    }


FAILED = one(40, keyword(0, 0.9, 0.1), keyword(1, 0.8, 0.9), keyword(2, 0.7, 0.8), score=0.75)
RARE = one(25, keyword(3, 0.2, 0.1), keyword(0, 0.9, 0.2))
UNNAMED = one(5)


def sliced(*found, **arrays):
    """An explanation with these slices in ranking order."""
    return ConceptExplanation(
        arrays={"errors": np.arange(sum(s["size"] for s in found), dtype=np.int32), **arrays},
        values={
            "kind": "slices",
            "slices": list(found),
            "concept_names": list(CONCEPTS),
            "class_names": list(CLASSES),
            "samples": 900,
            "chosen_slices": 6,
        },
    )


def bars(figure):
    return {trace.name: trace for trace in figure.data}


def notes(figure):
    return figure.layout.meta["notes"]


def drawn_as(figure):
    """[height, width, 3] uint8: what matplotlib makes of a figure."""
    picture = render.render(figure, "png", via="matplotlib", scale=1.0)
    return np.asarray(Image.open(io.BytesIO(picture)).convert("RGB"))


def rgb(colour):
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def has(picture, colour):
    """Whether some pixel has the colour, up to rounding."""
    away = abs(picture.astype(int) - rgb(colour)).max(axis=2)
    return bool((away <= 2).any())


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


ECTP = np.array([[0.1, 0.5, 0.02, 0.3], [np.nan] * 4], np.float32)


def grown(**changes):
    """What CB-SLICE tells of how it came to its slices."""
    found = {
        "ectp": ECTP,
        "kept": np.array([1, 3], np.int32),
        "k/values": np.array([4, 6, 8], np.int32),
        "k/objectives": np.array([9.5, 4.25, 4.125], np.float32),
        "objective": np.array([12.0, 5.5, 4.25], np.float32),
    }
    return found | changes


def test_concepts_stand_by_their_largest_influence_and_kept_ones_are_bold():
    drawn = slices.plots(sliced(RARE, **grown()))[0].figure
    heat, numbers = drawn.data
    np.testing.assert_allclose(heat.z[:, 0], [0.5, 0.3, 0.1, 0.02], rtol=1e-6)
    bold = "&lt;b&gt;big&lt;/b&gt;"
    assert drawn.layout.yaxis.ticktext[:3] == ("<b>water</b>", f"<b>{bold}</b>", "striped")
    assert drawn.layout.yaxis.range == (3.5, -0.5)
    assert drawn.layout.xaxis.ticktext[0] == "land"
    assert (drawn.layout.coloraxis.cmin, drawn.layout.coloraxis.cmax) == pytest.approx((0, 0.5))
    assert "nats" in drawn.layout.coloraxis.colorbar.title.text
    assert numbers.text[::2] == ("0.5", "0.3", "0.1", "0.02")
    assert notes(drawn) == ["2 of 4 concepts kept (bold)"]
    assert heat.hovertext[0][0] == "water, errors of land: 0.5 nats"


@THEMES
def test_a_class_without_errors_is_unknown_not_zero(look):
    drawn = slices.error_prone(sliced(RARE, **grown()), look)
    heat, numbers = drawn.data
    assert np.isnan(heat.z[:, 1]).all()
    assert numbers.text[1::2] == ("–",) * 4
    assert numbers.textfont.color[1] == ink_on(look.neutral)
    assert drawn.layout.plot_bgcolor == look.neutral
    assert heat.hovertext[0][1].endswith("there are none")


def test_nothing_moves_the_class():
    drawn = slices.error_prone(sliced(RARE, **grown(ectp=np.zeros((2, 4), np.float32))), LIGHT)
    assert drawn.layout.coloraxis.cmax == 1.0
    assert set(drawn.data[1].text) == {"0"}


def test_many_concepts_and_classes_are_cut():
    rng = np.random.default_rng(0)
    found = sliced(RARE, **grown(ectp=rng.random((15, 30), dtype=np.float32)))
    found.values.update(
        concept_names=[f"c{j}" for j in range(30)], class_names=[f"k{c}" for c in range(15)]
    )
    drawn = slices.error_prone(found, LIGHT)
    (heat,) = drawn.data  # so many cells leave no room for numbers
    assert heat.z.shape == (20, 15)
    assert notes(drawn)[1] == "the 20 largest are shown"
    assert drawn.layout.xaxis.tickangle == -35
    largest = found.arrays["ectp"].max(axis=0)
    np.testing.assert_allclose(heat.z.max(axis=1), np.sort(largest)[::-1][:20])


def test_the_number_of_slices_that_was_chosen_is_marked():
    drawn = slices.plots(sliced(RARE, **grown()))[1].figure
    (line,) = drawn.data
    assert (line.x, line.y) == ((4, 6, 8), (9.5, 4.25, 4.125))
    (mark,) = drawn.layout.shapes
    assert (mark.x0, mark.x1, mark.line.dash) == (6, 6, "dash")
    assert notes(drawn) == ["6 were chosen"]
    assert drawn.layout.yaxis.title.text == "objective, nats a sample"


def test_the_objective_starts_before_the_first_epoch():
    drawn = slices.plots(sliced(RARE, **grown()))[2].figure
    assert (drawn.data[0].x, drawn.data[0].y) == ((0, 1, 2), (12.0, 5.5, 4.25))
    assert drawn.layout.xaxis.title.text == "epoch"
    assert notes(drawn) == ["ends at 4.250"]


def test_only_what_a_method_tells_is_drawn():
    assert slices.plots(sliced(RARE)) == ()
    one_candidate = grown(**{"k/values": np.array([6]), "k/objectives": np.array([4.0])})
    found = slices.plots(sliced(RARE, **one_candidate))
    assert [plot.title for plot in found] == ["Error-prone concepts", "The mixture's objective"]
    assert all(plot.how_to_read.endswith(".") for plot in found)


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
def test_every_picture_is_drawn_in_both_themes(look):
    found = sliced(FAILED, RARE, UNNAMED, **grown())
    overview = slices.overview(found, look.name)
    picture = drawn_as(overview)
    assert tuple(picture[0, 0]) == rgb(look.paper)
    for trace in overview.data:
        assert has(picture, trace.marker.color)
    crossed = slice_group.crossed(COUNTS, ["a", "b"], ["1", "2", "3"], "t", theme=look.name)
    assert has(drawn_as(crossed), look.probability[3])  # three quarters
    won = slice_group.gains(["a", "b", "c"], MEANS, ENDS, "t", theme=look.name)
    assert all(has(drawn_as(won), colour) for colour in set(won.data[0].marker.color))
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
