"""Means, intervals, classes and wins of scores over many items, from numbers that are known."""

import numpy as np
import pytest

from backend.bootstrap import interval
from backend.graphs import set_table
from backend.graphs.explanation import GraphExplanation
from backend.graphs.graph_metrics import METRICS

NAN = float("nan")


def suite(auc, *, items=None, predicted=None, names=("no", "yes"), skipped=None, **metrics):
    """Scores over items; metrics that are not given are 0.5 everywhere."""
    n = len(auc)
    values = {metric.id: np.full(n, 0.5) for metric in METRICS} | {"edge_auc": auc} | metrics
    arrays = {f"metrics/{name}": np.array(v, dtype=np.float32) for name, v in values.items()}
    arrays["items"] = np.array(range(n) if items is None else items, dtype=np.int32)
    arrays["predicted"] = np.array([1] * n if predicted is None else predicted, dtype=np.int32)
    arrays["seconds"] = np.linspace(0.0, 2.0, n, dtype=np.float32)
    return GraphExplanation(
        arrays=arrays,
        values={
            "kind": "suite",
            "explainer": "saliency",
            "class_names": list(names),
            "skipped": skipped or {},
        },
    )


def test_means_and_intervals_are_over_the_items_that_have_the_number():
    [row] = set_table.scores({"a": suite([1.0, NAN, 0.5, 0.75])})
    assert row["explainer"] == "a"
    assert row["items"] == 4
    assert row["edge_auc"] == pytest.approx(0.75)
    expected = interval([1.0, 0.5, 0.75])
    assert row["interval"]["edge_auc"] == pytest.approx([expected.low, expected.high])
    assert row["precision"] == pytest.approx(0.5)
    assert row["seconds"] == pytest.approx(1.0)
    assert row["undefined"] == {}


def test_a_number_nobody_has_is_undefined():
    [row] = set_table.scores({"a": suite([NAN, NAN])})
    assert row["edge_auc"] is None
    assert row["undefined"] == {"edge_auc": set_table.UNKNOWN}
    assert "edge_auc" not in row["interval"]
    assert row["by_class"] == {"yes": None}
    assert "edge_auc" not in row["wins"]


def test_one_item_has_no_interval():
    [row] = set_table.scores({"a": suite([0.9])})
    assert row["edge_auc"] == pytest.approx(0.9)
    assert row["interval"] == {}


def test_classes_are_those_predicted():
    [row] = set_table.scores({"a": suite([1.0, 0.5, 0.25, NAN], predicted=[1, 1, 0, 0])})
    assert row["by_class"] == {"no": pytest.approx(0.25), "yes": pytest.approx(0.75)}
    [row] = set_table.scores({"a": suite([1.0, 0.5], predicted=[0, 2], names=())})
    assert row["by_class"] == {"class 0": 1.0, "class 2": 0.5}


def test_wins_are_shares_of_the_items_with_equals_sharing():
    rows = set_table.scores({"a": suite([1.0, 0.5, 0.2, 0.4]), "b": suite([0.5, 0.5, 0.9, 0.1])})
    assert [row["wins"]["edge_auc"] for row in rows] == pytest.approx([2.5 / 4, 1.5 / 4])
    assert [row["wins"]["precision"] for row in rows] == pytest.approx([0.5, 0.5])


def test_the_smaller_number_wins_where_lower_is_better():
    rows = set_table.scores(
        {
            "a": suite([0.5, 0.5], fidelity_minus=[0.1, 0.3]),
            "b": suite([0.5, 0.5], fidelity_minus=[0.2, 0.4]),
        }
    )
    assert [row["wins"]["fidelity_minus"] for row in rows] == [1.0, 0.0]


def test_wins_are_over_items_that_all_methods_have():
    rows = set_table.scores(
        {
            "a": suite([0.9, 0.9, NAN, 0.1], items=[4, 5, 6, 7]),
            "b": suite([0.1, 0.2, 0.5], items=[5, 7, 6], skipped={"4": "It is too large."}),
        }
    )
    assert [row["wins"]["edge_auc"] for row in rows] == pytest.approx([0.5, 0.5])
    assert rows[1]["skipped"] == {"4": "It is too large."}
    apart = set_table.scores({"a": suite([0.9], items=[1]), "b": suite([0.9], items=[2])})
    assert [row["wins"] for row in apart] == [{}, {}]


def test_no_method_makes_no_row():
    assert set_table.scores({}) == []
