"""The bars of a decision: order, rest, marks, header, literal names; and its removal curves."""

import numpy as np
import pytest

from backend.concepts.concept_faithfulness import ConceptFaithfulness
from backend.concepts.concept_flip import ConceptFlip
from backend.concepts.explanation import ConceptExplanation
from backend.concepts.gradient_x_concept import GradientXConcept
from backend.concepts.linear_contributions import LinearContributions
from components.figures import decision, render
from components.figures.palette import DARK, LIGHT
from tests.backend.concepts.decisions import decide, table
from tests.fake import FakeRun

NASTY = "<script>alert('&')</script>"


def told(scores, *, predicted=None, true=None, names=None, p=None, **values):
    """An explanation with these scores of a two-class decision."""
    k = len(scores)
    predicted = predicted or [1] * k
    concepts = [
        {
            "name": names[j] if names else f"c{j}",
            "input": float(predicted[j]),
            "baseline": 0.25,
            "probability": p[j] if p else float(predicted[j]),
            "predicted": predicted[j],
            "true": (true or predicted)[j],
        }
        for j in range(k)
    ]
    known = {
        "kind": "decision",
        "sample": 7,
        "label": 1,
        "against": 0,
        "prediction": 1,
        "truth": 0,
        "output": 3.0,
        "baseline_output": 1.0,
        "sum": 2.0,
        "completeness_gap": 0.0,
        "probability": 0.95,
        "concepts": concepts,
        "class_names": ["land", "water"],
    }
    return ConceptExplanation(
        arrays={"scores": np.array(scores, np.float32)}, values=known | values, unit="log-odds"
    )


def bars(figure):
    return figure.data[0]


def test_the_strongest_stands_first_and_signs_have_colours():
    drawn = decision.contributions(told([0.5, -2.0, 0.0, 1.0]))
    assert bars(drawn).x == (-2.0, 1.0, 0.5, 0.0)
    assert bars(drawn).marker.color == (LIGHT.negative[2], *[LIGHT.positive[2]] * 3)
    labels = drawn.layout.yaxis.ticktext
    assert [label.split("<")[0] for label in labels] == ["c1", "c3", "c0", "c2"]
    assert bars(drawn).text == ("−2", "+1", "+0.5", "0")
    dark = decision.contributions(told([1.0, -1.0]), "dark")
    assert bars(dark).marker.color == (DARK.positive[2], DARK.negative[2])
    assert dark.layout.paper_bgcolor == DARK.paper


def test_what_is_left_is_one_bar():
    scores = [float(v) for v in range(112)]
    drawn = decision.contributions(told(scores))
    assert len(bars(drawn).x) == 21
    assert bars(drawn).x[:20] == tuple(range(111, 91, -1))
    assert bars(drawn).x[-1] == sum(range(92))
    assert "92 other concepts" in drawn.layout.yaxis.ticktext[-1]
    assert sum(bars(drawn).x) == pytest.approx(sum(scores))
    assert len(bars(decision.contributions(told(scores[:21]))).x) == 21


def test_wrong_concepts_are_marked():
    found = told([3.0, 2.0, 1.0], predicted=[1, 0, 1], true=[0, 0, 0], p=[0.7, 0.001, 1.0])
    drawn = decision.contributions(found)
    marks = drawn.data[1]
    assert marks.y == (0, 2)
    assert marks.name == "concept predicted wrongly"
    assert drawn.layout.showlegend
    labels = drawn.layout.yaxis.ticktext
    assert labels == ("c0<br><b>on, p 0.70</b>", "c1<br><b>off</b>", "c2<br><b>on</b>")
    assert "true: off, predicted wrongly" in bars(drawn).hovertext[0]
    assert "wrongly" not in bars(drawn).hovertext[1]
    right = decision.contributions(told([1.0]))
    assert len(right.data) == 1
    assert not right.layout.showlegend


def test_the_header_is_the_sum():
    first, second = decision.notes(told([2.0]))
    assert first == "Sample 7: why water and not land? p = 0.95; predicted water, truly land"
    assert second == "reference +1 + bars +2 = log-odds +3"
    found = told([2.0], sum=2.5, completeness_gap=0.5, truth=1, against=None)
    first, second = decision.notes(found)
    assert first == "Sample 7: why water? p = 0.95; predicted water, which is right"
    assert second == "reference +1 + bars +2.5 ≈ log-odds +3 (gap +0.5)"
    flips = told([2.0], baseline_output=None, completeness_gap=None)
    assert decision.notes(flips)[1] == "log-odds +3; these bars do not add up"
    assert "flipped" in decision.contributions(flips).layout.xaxis.title.text


def test_explanations_side_by_side_share_a_scale():
    one, other = told([1.0, -4.0]), told([2.0])
    limit = decision.largest([one, other])
    assert limit == 4.0
    drawn = [decision.contributions(found, limit=limit) for found in (one, other)]
    assert drawn[0].layout.xaxis.range == drawn[1].layout.xaxis.range
    alone = decision.contributions(other)
    assert alone.layout.xaxis.range[1] == drawn[0].layout.xaxis.range[1] / 2
    assert decision.largest([told([0.0])]) == 1.0


def test_names_are_literal_and_long_ones_keep_their_end():
    long = "has_wing_colour::" + "very " * 20 + "brown"
    found = told([2.0, 1.0], names=[NASTY, long], class_names=["land", NASTY])
    drawn = decision.contributions(found, title=NASTY)
    for text in (drawn.layout.title.text, *drawn.layout.yaxis.ticktext, *bars(drawn).hovertext):
        assert "<script" not in text
    label = drawn.layout.yaxis.ticktext[1]
    assert label.startswith("has_wing")
    assert "brown<br><b>on</b>" in label
    assert "…" in label
    assert "&lt;script&gt;" in drawn.layout.yaxis.ticktext[0]
    assert "&lt;script&gt;" in bars(drawn).hovertext[0]


def test_no_finite_score_comes_last():
    drawn = decision.contributions(told([np.nan, 1.0]))
    assert bars(drawn).x[0] == 1.0
    assert bars(drawn).text == ("+1", "–")


def test_no_concept_differs():
    drawn = decision.contributions(told([0.0, 0.0]))
    assert drawn.layout.xaxis.range[1] == pytest.approx(1.55)


def test_explainers_are_drawn_as_they_come():
    given = table(k=6, m=3)
    for explainer in (LinearContributions, ConceptFlip, GradientXConcept):
        found = ConceptExplanation.from_bytes(decide(explainer, given).to_bytes())
        [plot] = decision.plots(found, title=explainer.title)
        assert plot.title == explainer.title
        np.testing.assert_allclose(sum(bars(plot.figure).x), found.values["sum"], atol=1e-5)
        picture = render.render(plot.figure, "png", via="matplotlib", scale=1.0)
        assert picture.startswith(b"\x89PNG")


@pytest.mark.parametrize(("what", "array"), [("probability", "curve"), ("logit", "logit")])
def test_curves_are_those_of_the_scores(what, array):
    given = table(k=6, m=3)
    about = decide(LinearContributions, given)
    scored = {
        "contributions": decide(ConceptFaithfulness, given, run=FakeRun(subject=about)),
        "random": decide(ConceptFaithfulness, given),
    }
    drawn = decision.curves(scored, what=what)
    lines = [trace for trace in drawn.data if trace.name == "contributions"]
    for line, name in zip(lines, ("deletion", "insertion"), strict=True):
        expected = scored["contributions"].arrays[f"{array}/baseline/{name}"]
        np.testing.assert_allclose(line.y, expected, rtol=1e-6)
        np.testing.assert_allclose(line.x, np.arange(7) / 6, rtol=1e-6)
    assert sum(trace.fill == "toself" for trace in drawn.data) == 2
    assert drawn.layout.yaxis.title.text in ("probability of the class", "explained logit")
    assert "tokens" not in drawn.to_json()
