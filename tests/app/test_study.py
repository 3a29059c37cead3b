"""The Study page: from a press of Run to its tables, files and the explanation behind a cell."""

from __future__ import annotations

import re
from collections.abc import Callable

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from backend.graphs.explanation import GraphTarget
from components.session import engine
from tests.app.conftest import settle
from tests.app.test_pages import press, words

pytestmark = pytest.mark.slow

Open = Callable[[str], AppTest]
METHODS = ["saliency", "random_edges"]


def started(page: Open) -> AppTest:
    app = page("study")
    app.selectbox(key="s.graphs.model").select("mutag").run()
    app.number_input(key="s.graphs.recipe.epochs").set_value(2).run()
    app.multiselect(key="s.graphs.explainers").set_value(METHODS).run()
    app.number_input(key="s.inputs").set_value(7).run()
    app.number_input(key="s.seeds").set_value(2).run()
    return press(app, "Run$")


def table(app: AppTest, column: str) -> pd.DataFrame:
    return next((d.value for d in app.dataframe if column in d.value), pd.DataFrame())


def finished(app: AppTest) -> AppTest:
    return settle(app, lambda a: not table(a, "input").empty)


def test_a_study_ends_in_means_every_input_and_files(page: Open) -> None:
    app = finished(started(page))
    assert not app.exception
    means, every = table(app, "metric"), table(app, "input")
    assert list(means.columns) == ["metric", "Saliency", "Random", "Random rankings"]
    assert {"Fidelity + ↑", "Stability ↑", "Agreement", "Seconds ↓"} <= set(means["metric"])
    assert len(every) == 7
    fidelity = means.set_index("metric").loc["Fidelity + ↑"]
    assert sum("★" in cell for cell in fidelity) == 1
    app.selectbox(key="s.graphs.metric").select("Fidelity +").run()
    values = table(app, "input")["Saliency"]
    shown = re.search(r"-?\d\.\d{3}", fidelity["Saliency"]).group()
    assert f"{values.mean():.3f}" == shown
    assert app.code[0].value.startswith("python -m backend study graphs --example mutag")
    assert "--items 7 --seeds 2" in app.code[0].value
    files = {b.label for b in app.get("download_button")}
    assert files == {"inputs.csv", "means.csv", "study.tex", "study.html"}


def test_the_address_opens_the_same_study_and_its_size(page: Open) -> None:
    app = finished(started(page))
    asked = {name: app.query_params[name] for name in ("c", "inputs", "seeds")}
    other = page("study")
    for name, value in asked.items():
        other.query_params[name] = value
    other = finished(other.run())
    assert other.number_input(key="s.inputs").value == 7
    assert other.number_input(key="s.seeds").value == 2
    assert other.multiselect(key="s.graphs.explainers").value == METHODS
    pd.testing.assert_frame_equal(table(app, "metric"), table(other, "metric"))
    # Another number counts only once it is run.
    other.number_input(key="s.inputs").set_value(3).run()
    assert len(table(other, "input")) == 7
    other = settle(press(other, "Run$"), lambda a: len(table(a, "input")) == 3)
    assert other.query_params["inputs"] in ("3", ["3"])


def test_a_cell_opens_the_explanation_behind_it(page: Open) -> None:
    app = finished(started(page))
    place = "s.graphs.every.Known reason (AUC)"
    app.session_state[place] = {
        "selection": {"rows": [], "columns": [], "cells": [[2, "Saliency"]]}
    }
    app = app.run()
    assert not app.exception
    [link] = app.get("page_link")
    assert "Saliency" in link.proto.label
    key = re.search("[0-9a-f]{64}", link.proto.query_string).group()
    opened = engine().get_comparison(key)
    assert [choice.explainer for choice in opened.choices] == ["saliency"]
    target = GraphTarget.model_validate(opened.target)
    assert f"graph {target.graph}" in table(app, "input")["input"][2]
    assert target.recipe.epochs == 2


def test_a_study_that_is_stopped_goes_on(page: Open) -> None:
    app = started(page)
    app = settle(app, lambda a: any(b.label == "Stop" for b in a.button))
    app = press(app, "Stop$")
    assert "of 7 inputs" in " ".join(p.proto.text for p in app.get("progress"))
    assert table(app, "input").empty
    app = finished(press(app, "Go on$"))
    assert len(table(app, "input")) == 7


def test_nothing_to_run_says_so(page: Open) -> None:
    app = page("study")
    assert "Press Run" in words(app).replace("*", "")
    app.multiselect(key="s.graphs.explainers").set_value([]).run()
    assert next(b for b in app.button if b.label == "Run").disabled


def test_samples_of_a_table_are_studied_on_the_same_page(page: Open) -> None:
    app = page("study")
    app.segmented_control(key="s.family").set_value("concepts").run()
    app.selectbox(key="s.concepts.model").select("xor").run()
    app.multiselect(key="s.concepts.explainers").set_value(
        ["concept_flip", "gradient_x_concept"]
    ).run()
    app.number_input(key="s.inputs").set_value(6).run()
    app = finished(press(app, "Run$"))
    assert not app.exception
    means = table(app, "metric")
    assert {"Deletion area ↓", "Agreement"} <= set(means["metric"])
    assert len(table(app, "input")) == 6
    # The address alone finds the family again.
    other = page("study")
    for name in ("c", "inputs", "seeds"):
        other.query_params[name] = app.query_params[name]
    other = finished(other.run())
    assert other.segmented_control(key="s.family").value == "concepts"
    pd.testing.assert_frame_equal(table(other, "metric"), means)
