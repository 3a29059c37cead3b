"""The plots of a mixture of experts: numbers where they belong, words that are literal."""

import numpy as np
import pytest

from backend.concepts.explanation import ConceptExplanation
from components.figures.experts import plots

TITLES = [
    "Accuracy and complexity",
    "Use of the experts",
    "Weights of the experts",
    "Who gets which expert",
    "Formulas of the experts",
]


def rule(depth, condition, expert, samples, right):
    return {
        "depth": depth,
        "condition": condition,
        "expert": expert,
        "samples": samples,
        "right": right,
        "text": condition,
    }


def mixture(**changed):
    """Two experts on three concepts, the second a constant."""
    values = {
        "kind": "experts",
        "view": "experts",
        "form": "linear",
        "concepts": "hard",
        "explain": "labels",
        "selector": "linear",
        "concept_names": ["red", "<b>round</b>", "c2"],
        "class_names": ["no", "yes"],
        "output_names": ["yes"],
        "samples": 1000,
        "held_out": 300,
        "accuracy": 0.95,
        "chance": 0.55,
        "model_accuracy": 0.6,
        "concept_accuracy": 0.99,
        "complexity": 2,
        "complexity_unit": "weights that are not zero",
        "most_used": 0,
        "frozen_accuracy": 0.7,
        "gain": None,
        "formulas": [
            [
                {
                    "text": "2·red − 1.5·“<b>round</b>” + 0.5",
                    "latex": "",
                    "expression": "",
                    "size": 9,
                }
            ],
            [{"text": "−4", "latex": "", "expression": "", "size": 1}],
        ],
        "says": [None, "no"],
        "tree": {
            "fidelity": 0.9,
            "majority": 0.6,
            "rules": [
                rule(0, "red is absent", 1, 120, 0.95),
                rule(0, "red is present", None, 180, 0.8),
                rule(1, "c2 is absent", 0, 90, 1.0),
                rule(1, "c2 is present", 1, 90, 0.75),
            ],
        },
        "verdicts": [],
    } | changed
    return ConceptExplanation(
        arrays={
            "usage": np.array([0.6, 0.4], dtype=np.float32),
            "expert_accuracy": np.array([0.96, np.nan], dtype=np.float32),
            "constant": np.array([False, True]),
            "weights": np.array([[[2.0, -1.5, 0.0]], [[0.0, 0.0, 0.0]]], dtype=np.float32),
            "biases": np.array([[0.5], [-4.0]], dtype=np.float32),
            "front/experts": np.array([1, 2], dtype=np.int32),
            "front/complexity": np.array([3, 2], dtype=np.int32),
            "front/accuracy": np.array([0.58, 0.95], dtype=np.float32),
            "front/objective": np.array([0.6, 0.2], dtype=np.float32),
        },
        values=values,
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_five_plots_with_units_and_words(theme):
    drawn = plots(mixture(), theme)
    assert [plot.title for plot in drawn] == TITLES
    for plot in drawn:
        assert plot.how_to_read.endswith(".")
        assert plot.figure.layout.meta["title"] == plot.title
        assert plot.figure.layout.meta["notes"]
    front, usage, weights = (plot.figure for plot in drawn[:3])
    assert front.layout.xaxis.title.text == "complexity: weights that are not zero"
    assert front.layout.yaxis.title.text == "share right (labels)"
    assert all(trace.name for trace in (*front.data, *usage.data))
    assert weights.layout.coloraxis.colorbar.title.text == "weight, logits"


def test_accuracy_stands_over_complexity_with_its_baselines():
    points, model, chance = plots(mixture())[0].figure.data
    assert tuple(points.x) == (3, 2)
    np.testing.assert_allclose(points.y, [0.58, 0.95])
    assert tuple(points.text) == ("M=1", "M=2")
    assert (model.y[0], chance.y[0]) == (0.6, 0.55)
    without = plots(mixture(model_accuracy=None, explain="predictions"))[0].figure
    assert len(without.data) == 2
    assert "the model's predictions" in without.layout.yaxis.title.text


def test_an_expert_that_always_says_the_same_is_hatched():
    figure = plots(mixture())[1].figure
    assert tuple(figure.data[0].marker.pattern.shape) == ("", "/")
    assert tuple(figure.layout.xaxis.ticktext) == ("expert 1", "expert 2<br>always “no”")
    assert "70.0%" in figure.layout.meta["notes"][0]


def test_weights_stand_side_by_side_over_the_bias():
    figure = plots(mixture())[2].figure
    cells, numbers = figure.data
    np.testing.assert_allclose(cells.z, [[2, 0], [-1.5, 0], [0, 0], [0.5, -4]])
    assert tuple(numbers.text) == ("+2.00", "−1.50", "+0.50", "−4.00")
    assert figure.layout.coloraxis.cmin == -4
    assert tuple(figure.layout.yaxis.ticktext) == (
        "red", "&lt;b&gt;round&lt;/b&gt;", "c2", "bias"
    )  # fmt: skip
    assert tuple(figure.layout.xaxis.ticktext) == ("1 · yes", "2 · yes")


def test_only_the_largest_of_many_concepts_are_drawn():
    found = mixture(concept_names=[f"c{j}" for j in range(100)])
    weights = np.zeros((2, 1, 100), dtype=np.float32)
    weights[0, 0, 60:] = 1.0
    found.arrays["weights"] = weights
    figure = plots(found)[2].figure
    assert len(figure.data[0].z) == 41
    assert figure.layout.yaxis.ticktext[0] == "c60"
    assert any("40 of 100" in note for note in figure.layout.meta["notes"])


def test_rules_are_indented_and_say_how_many_go_there():
    lines, samples, right = plots(mixture())[3].figure.data
    assert lines.text[1] == "if red is absent → expert 2"
    assert lines.text[3] == "\u00a0" * 4 + "if c2 is absent → expert 1"
    assert tuple(samples.text) == ("samples", "120", "180", "90", "90")
    assert tuple(right.text) == ("go there", "95%", "", "100%", "75%")
    assert "90.0%" in plots(mixture())[3].figure.layout.meta["notes"][0]


def test_formulas_are_literal_and_long_ones_break_before_a_sign():
    (lines,) = plots(mixture())[4].figure.data
    assert lines.text[0] == "expert 1, 60% of the samples"
    assert "“&lt;b&gt;round&lt;/b&gt;”" in lines.text[1]
    long = " + ".join(f"1.5·concept{j}" for j in range(12))
    cells = [[{"text": long}], [{"text": "1"}]]
    (lines,) = plots(mixture(formulas=cells, gain=8.0))[4].figure.data
    texts = [text.replace("\u00a0", " ") for text in lines.text]
    assert all(len(text) <= 70 for text in texts)
    assert texts[2].strip().startswith("+ 1.5·concept")


def test_no_tree_no_weights_no_plots_of_them():
    found = mixture(tree=None)
    del found.arrays["weights"]
    assert [plot.title for plot in plots(found)] == [TITLES[0], TITLES[1], TITLES[4]]


def test_another_kind_of_explanation_is_refused():
    with pytest.raises(ValueError, match="no experts"):
        plots(ConceptExplanation(arrays={}, values={"kind": "slices"}))
