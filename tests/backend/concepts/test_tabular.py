"""Columns guessed from their names, and every value that does not fit refused with what to do."""

from __future__ import annotations

import numpy as np
import pytest

from backend.concepts import tabular
from backend.concepts.columns import Mapping
from backend.concepts.guess import guess
from backend.delimited import converted
from backend.errors import InputError
from backend.tables.frame import Frame

TRUTH = {"a": [0, 1, 1, 0], "b": [1, 1, 0, 0]}
PREDICTED = {"a": [0.1, 0.9, 0.8, 0.3], "b": [0.7, 0.6, 0.2, 0.4]}
ENDS = {"label": ["x", "y", "x", "y"], "prediction": ["x", "y", "y", "y"]}


def frame(**columns) -> Frame:
    return Frame("t.csv", {n: converted([str(v) for v in c])[0] for n, c in columns.items()})


def plain(**changes) -> dict[str, list]:
    given = {f"prob_{n}": v for n, v in PREDICTED.items()}
    given |= {f"true_{n}": v for n, v in TRUTH.items()} | ENDS | changes
    return {name: values for name, values in given.items() if values is not None}


def built(mapping=None, **changes):
    found = frame(**plain(**changes))
    return tabular.build(found, mapping or guess(found))


def notes(table) -> str:
    return " ".join(table.origin["notes"])


def test_the_plain_table() -> None:
    table = built()
    np.testing.assert_allclose(table.probabilities[:, 0], PREDICTED["a"], rtol=1e-6)
    np.testing.assert_array_equal(table.arrays["concepts"].T, list(TRUTH.values()))
    assert table.class_names == ("x", "y")
    assert table.arrays["labels"].tolist() == [0, 1, 0, 1]
    assert table.errors.tolist() == [2]
    assert table.bottleneck == "hard"
    assert Mapping.model_validate(table.origin["mapping"]).label == "label"


@pytest.mark.parametrize(
    ("predicted", "true", "scale"),
    [
        ("logit_{}", "c_{}", "logit"),
        ("{}_logit", "{}", "logit"),
        ("p_{}", "gt_{}", "probability"),
        ("{}_prob", "{}_true", "probability"),
        ("pred_concept_{}", "concept_{}", "probability"),
        ("c_hat_{}", "c_{}", "probability"),
        ("{}_pred", "{}", "probability"),
        ("{}", "true_{}", "probability"),
        ("Prob - {}", "True: {}", "probability"),
        ("score_{}", "has_{}", None),
    ],
)
def test_names_of_concept_columns(predicted, true, scale) -> None:
    given = {predicted.format(n): v for n, v in PREDICTED.items()}
    given |= {true.format(n): v for n, v in TRUTH.items()}
    found = guess(frame(id=[1, 2, 3, 4], **given, **ENDS))
    if scale is None:
        assert not found.concepts
        return
    assert [(c.name, c.predicted, c.truth) for c in found.concepts] == [
        (n, predicted.format(n), true.format(n)) for n in "ab"
    ]
    assert found.scale == scale
    assert found.reference == "id"
    assert all(column in found.reasons for column in given)


def test_logits_go_before_probabilities_and_strays_are_told() -> None:
    given = plain(logit_a=[1, 2, 3, 4], logit_b=[1, 2, 3, 4], prob_c=[0, 0, 0, 0])
    found = guess(frame(**given))
    assert [c.predicted for c in found.concepts] == ["logit_a", "logit_b"]
    assert found.reasons["prob_a"] == "not used: the concept has another column"
    assert found.reasons["prob_c"] == "not used: no true concept"


def test_values_tell_logits_where_names_do_not() -> None:
    given = {"pred_a": [-3, 2, 0, 1], "pred_b": [0.5, 0.2, 0.1, 0.3], "a": TRUTH["a"]}
    assert guess(frame(**given, b=TRUTH["b"], **ENDS)).scale == "logit"


@pytest.mark.parametrize("name", ["y", "y_true", "target", "Class", "true label"])
def test_names_of_the_label(name) -> None:
    assert guess(frame(**plain(label=None, **{name: ENDS["label"]}))).label == name


@pytest.mark.parametrize("name", ["y_pred", "y_hat", "pred", "Predicted", "predicted class"])
def test_names_of_the_prediction(name) -> None:
    given = frame(**plain(prediction=None, **{name: ENDS["prediction"]}))
    assert guess(given).prediction == name


@pytest.mark.parametrize("pattern", ["logit_class_{}", "task_logit_{}", "score_{}", "logit_{}"])
def test_names_of_the_classes_scores(pattern) -> None:
    scores = {pattern.format(n): v for n, v in {"y": [1, 5, -1, 0], "x": [2, 3, 4, -1]}.items()}
    table = built(prediction=None, **scores)
    assert table.class_names == ("y", "x")
    assert table.arrays["labels"].tolist() == [1, 0, 1, 0]
    assert table.arrays["predictions"].tolist() == [1, 0, 1, 0]
    np.testing.assert_array_equal(table.arrays["task_logits"][:, 0], [1, 5, -1, 0])
    assert "highest score" in notes(table)


def test_class_probabilities_become_logits() -> None:
    p = {"prob_class_x": [0.9, 0.2, 0.4, 0.5], "prob_class_y": [0.1, 0.8, 0.6, 0.5]}
    table = built(**p)
    np.testing.assert_allclose(np.exp(table.arrays["task_logits"][:, 1]), p["prob_class_y"], 1e-6)


def test_numbered_scores_of_classes_in_words() -> None:
    scores = {"logit_class_0": [1, 0, 0, 0], "logit_class_1": [0, 1, 1, 1]}
    table = built(**scores)
    assert table.class_names == ("x", "y")
    assert "in this order: x, y" in notes(table)
    numbers = built(label=[0, 1, 0, 1], prediction=[0, 1, 1, 1], **scores)
    assert numbers.class_names == ("0", "1")


def test_labels_as_numbers_with_a_point_are_whole() -> None:
    table = built(label=[10.0, 9.0, 10.0, 2.0], prediction=[10, 9, 9, 2])
    assert table.class_names == ("2", "9", "10")
    assert table.arrays["predictions"].tolist() == [2, 1, 1, 0]


def test_groups_and_references() -> None:
    table = built(place=["land", "", "water", "land"], image=[1, 2, 3, ""])
    assert table.group_names == ("land", "water")
    assert table.arrays["groups"].tolist() == [0, -1, 1, 0]
    assert table.references == ("1", "2", "3", "")


@pytest.mark.parametrize(
    ("values", "note"),
    [
        (["yes", "No", "TRUE", "f"], ""),
        ([1.0, 0.0, 1.0, 0.0], ""),
        ([1, -1, 1, -1], "-1 is read as 0: a"),
        ([0.9, 0.5, 0.51, 0], "shares above one half are read as 1: a"),
    ],
)
def test_truth_in_other_words(values, note) -> None:
    table = built(true_a=values)
    assert table.arrays["concepts"][:, 0].tolist() == [1, 0, 1, 0]
    assert note in notes(table)


def test_an_empty_column_is_left_out() -> None:
    columns = {"prob_c": ["", "", "NaN", "null"], "true_c": [0, 1, 0, 1]}
    table = built(**columns)
    assert table.concept_names == ("a", "b")
    assert "a column of theirs is empty: c" in notes(table)


def test_what_is_unusual_is_noted() -> None:
    table = built(true_a=[1, 1, 1, 1], prediction=["x", "y", "x", "z"])
    assert "True values never change: a" in notes(table)
    assert "Predicted, but true of no sample: z" in notes(table)
    assert "no error" in notes(built(prediction=ENDS["label"]))
    scores = {"score_x": [1, 0, 0, 0], "score_y": [0, 1, 1, -1]}
    assert "For 25.0% of the samples another class" in notes(built(**scores))
    hard = {"prob_a": TRUTH["a"], "prob_b": TRUTH["b"]}
    assert "0 and 1 only" in notes(built(**hard))
    mapping = guess(frame(**plain())).model_copy(update={"scale": "logit"})
    assert "as probabilities are" in notes(built(mapping))


FAULTS = [
    ({"prob_a": [0.1, 1.5, -2, 0]}, "-2 to 1.5, not 0 to 1. These look like logits"),
    ({"prob_a": [10, 90, 80, 30]}, "percentages"),
    ({"prob_a": [0.1, "", 0.2, "nan"]}, "'prob_a' is empty in samples 2, 4 of 4"),
    ({"prob_a": [0.1, "inf", 0.2, 0.3]}, "infinity in sample 2"),
    ({"prob_a": ["0.1", "high", "0.2", "0.3"]}, "words such as 'high'"),
    ({"true_a": [0, 1, "", 0]}, "'true_a' is empty in sample 3"),
    ({"true_a": [0, 1, 2, 0]}, "go from 0 to 2"),
    ({"true_a": ["yes", "no", "maybe", "no"]}, "words such as maybe"),
    ({"label": ["x", "", "x", "y"]}, "'label' is empty in sample 2"),
    ({"label": [0.5, 1, 0, 1]}, "0.5, which is no class"),
    ({"prediction": [0.5, 1, 0, 1]}, "0.5, which is no class"),
    ({"prediction": ["X", "y", "y", "y"]}, "are not those"),
    ({"prediction": [0, 1, 1, 1]}, "are not those"),
    ({"prediction": None}, "predicted class"),
    ({"label": None}, "true class"),
    ({"true_a": None}, "One concept is there"),
    ({"true_a": None, "true_b": None}, "No concept is there"),
    ({"label": ["x"] * 4, "prediction": ["x"] * 4}, "Every sample has the class 'x'"),
    ({"prob_a": [""] * 4}, "Fewer than two"),
    ({"logit_class_p": [1, 2, 3, 4], "logit_class_q": [1, 2, 3, 4]}, "called p, q"),
    ({"logit_class_x": [1, 2, "", 4], "logit_class_y": [1, 2, 3, 4]}, "empty in sample 3"),
]


@pytest.mark.parametrize(("changes", "said"), FAULTS, ids=[said for _, said in FAULTS])
def test_faults_are_named(changes, said) -> None:
    with pytest.raises(InputError) as found:
        built(**changes)
    assert said in str(found.value)
    assert found.value.todo
    assert found.value.where == "t.csv"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"label": "prediction"}, "used twice: prediction"),
        ({"label": "nothing"}, "no column nothing"),
        ({"classes": ({"name": "x", "column": "true_c"},)}, "no column true_c"),
    ],
)
def test_a_mapping_that_does_not_fit(change, said) -> None:
    mapping = Mapping.model_validate(guess(frame(**plain())).model_dump() | change)
    with pytest.raises(InputError, match=said):
        built(mapping)


def test_too_many_classes_look_like_names() -> None:
    n = 1500
    given = {"prob_a": [0.5] * n, "prob_b": [0.5] * n, "true_a": [0] * n, "true_b": [1] * n}
    found = frame(**given, label=range(n), prediction=range(n))
    with pytest.raises(InputError, match="name of each sample"):
        tabular.build(found, guess(found))


def test_few_errors_are_no_fault_of_a_table() -> None:
    assert len(built().errors) == 1
