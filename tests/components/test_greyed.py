"""Tables of a study and of many graphs: rows and columns that say nothing are muted and named."""

from __future__ import annotations

import re

from streamlit.testing.v1 import AppTest

from components.figures.palette import LIGHT
from components.greyed import greyed


def muted(app):
    """Cells (row, column) of the one table that have the muted colour."""
    [table] = app.dataframe
    text = table.proto.arrow_data.styler.styles
    assert not text or f"color: {LIGHT.muted}" in text
    return {(int(r), int(c)) for r, c in re.findall(r"_row(\d+)_col(\d+)\b", text)}


def test_nothing_is_styled_where_nothing_is_to_be_greyed():
    lines = [{"a": 1.0}]
    assert greyed(lines) is lines


def test_numbers_keep_their_format_and_what_is_missing_is_said():
    lines = [{"a": 0.12345, "b": 2.0}, {"a": None, "b": 3.0}]
    text = greyed(lines, columns={"a"}, formats={"a": "{:.3f}", "b": "{:.0f}"}).to_string()
    assert text.split() == ["a", "b", "0", "0.123", "2", "1", "None", "3"]


def study_page():
    import numpy as np

    from backend.metric import Metric
    from backend.study import RANDOM, Study
    from components import study_table

    up, down = Metric("up", "Up", True, "More."), Metric("down", "Down", False, "Less.")
    values = {"up": [[0.4], [0.3], [0.2]], "down": [[0.3], [0.2], [0.25]]}
    found = Study(
        ("one", "lot", RANDOM),
        ("case",),
        (up, down),
        {name: np.array(rows) for name, rows in values.items()},
        np.full((2, 2, 1), np.nan),
        ("lot",),
    )
    study_table.means(found, ["Method", "By lot"], "p")


def test_a_study_greys_the_row_of_a_metric_that_a_control_wins():
    app = AppTest.from_function(study_page).run()
    assert not app.exception
    assert muted(app) == {(1, c) for c in range(4)}
    assert app.dataframe[0].value["metric"].tolist() == ["Up ↑", "Down ↓"]
    said = [c.value.replace("\\", "") for c in app.caption if c.value.startswith("Greyed")]
    assert said == [
        "Greyed: Down: a control (By lot) does as well as the best method, so it says nothing here."
    ]


def graphs_page():
    from backend.graphs.graph_metrics import METRICS
    from components import graph_many

    def row(name, first):
        return {
            "explainer": name, **{metric.id: None for metric in METRICS}, METRICS[0].id: first,
            METRICS[1].id: first if METRICS[1].higher_is_better else -first,
            "interval": {}, "seconds": 0.1, "items": 2, "by_class": {}, "skipped": {},
        }  # fmt: skip

    rows = [row("Saliency", 0.5), row("Random", 0.7), row("random", 0.1)]
    rows[0][METRICS[1].id] = 9.0 if METRICS[1].higher_is_better else -9.0
    graph_many.table(rows, "p")


def test_many_graphs_grey_the_column_of_a_metric_that_a_control_wins():
    from backend.graphs.graph_metrics import METRICS

    app = AppTest.from_function(graphs_page).run()
    assert not app.exception
    assert muted(app) == {(r, 1) for r in range(3)}
    [said] = [c.value.replace("\\", "") for c in app.caption if c.value.startswith("Greyed")]
    assert said == (
        f"Greyed: {METRICS[0].title}: a control (Random) does as well as the best method, so it "
        "says nothing here."
    )
