"""The Study page: from a press of Run to its tables, files and the explanation behind a cell."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from backend.agreement import agreement
from backend.explanation import Comparison, Request
from backend.graphs.explanation import GraphTarget
from backend.settings import settings
from backend.study import Studied
from backend.tokens import plan, studied
from backend.tokens.inputs import brought
from backend.tokens.prompt_sets import PromptSet
from components.session import engine
from tests.app.conftest import settle
from tests.app.test_pages import press, words

pytestmark = pytest.mark.slow

Open = Callable[[str], AppTest]
METHODS = ["saliency", "random_edges"]
PROMPT_METHODS = ["attention_last", "gradient_x_input", "consensus"]
FILES = {"inputs.csv", "means.csv", "agreement.csv", "study.tex", "study.html"}


def of_family(page: Open, family: str) -> AppTest:
    return page("study").segmented_control(key="s.family").set_value(family).run()


def started(page: Open) -> AppTest:
    app = of_family(page, "graphs")
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
    assert files == FILES


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
    assert app.segmented_control(key="s.family").value == "tokens"
    assert "Press Run" in words(app).replace("*", "")
    app.multiselect(key="s.tokens.explainers").set_value([]).run()
    assert next(b for b in app.button if b.label == "Run").disabled


def test_samples_of_a_table_are_studied_on_the_same_page(page: Open) -> None:
    app = of_family(page, "concepts")
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


def of_prompts(page: Open) -> AppTest:
    """The page with the tiny model and methods of one pass, for three prompts; not run yet."""
    app = page("study")
    app.selectbox(key="s.tokens.model").select("tiny-llama (folder)").run()
    app.number_input(key="s.tokens.length").set_value(2).run()
    app.multiselect(key="s.tokens.explainers").set_value(PROMPT_METHODS).run()
    return app.number_input(key="s.inputs").set_value(3).run()


def of_facts(page: Open) -> AppTest:
    app = of_prompts(page)
    app.selectbox(key="s.tokens.prompts").select("facts").run()
    return finished(press(app, "Run$"))


def opened(app: AppTest) -> Comparison:
    """What the page's address names."""
    key = re.search("[0-9a-f]{64}", str(app.query_params["c"])).group()
    return engine().get_comparison(key)


def result(request: Request) -> Any:
    """What the page has computed of a request."""
    return engine().result(engine().key(request))


def prompts_of(app: AppTest) -> PromptSet:
    return PromptSet.from_bytes(engine().store.get(opened(app).input, "input"))


def study_of(app: AppTest) -> Studied:
    """The study of prompts that the page shows, made from what it has stored."""
    shown, prompts = opened(app), prompts_of(app)
    each = studied.answered(shown, prompts, 3, lambda one: engine().put_input(one, "tokens"))
    answers = [result(plan.continuation_request(one)) for one in each]
    return studied.studied(shown, prompts, each, answers)


def matrix(app: AppTest, name: str) -> list[list[str]]:
    """The numbers in a figure of agreement, a row a method; intervals are left out."""
    [chart] = [c for c in app.get("plotly_chart") if c.proto.alt == name]
    texts = json.loads(chart.proto.spec)["data"][1]["text"]
    numbers = [text.partition("<br>")[0].replace("−", "-") for text in texts]
    size = int(len(numbers) ** 0.5)
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]


def test_prompts_are_studied_and_the_methods_compared_over_them(page: Open) -> None:
    app = of_facts(page)
    assert not app.exception
    means, every = table(app, "metric"), table(app, "input")
    titles = ["Attention, last layer", "Gradient × input", "Consensus"]
    assert list(means.columns) == ["metric", *titles, "Random rankings"]
    assert list(every["input"]) == [
        f"{number}: The capital of {country} is"
        for number, country in ((1, "France"), (2, "Italy"), (3, "Japan"))
    ]
    cases = study_of(app).cases
    scores = [[result(one).arrays["scores"] for one in case.asked] for case in cases]
    pairs = np.mean([agreement(titles, one).spearman for one in scores], axis=0)
    assert "How far the methods agree" in [e.label for e in app.expander]
    assert matrix(app, "Mean rank correlation of each two methods") == [
        [f"{value:.2f}" for value in row] for row in pairs.tolist()
    ]
    # Of the consensus, agreement is with the two it is made of; of these, with each other.
    told = means.set_index("metric").loc["Agreement"]
    expected = dict(zip(titles, (pairs[0, 1], pairs[0, 1], pairs[2, :2].mean()), strict=True))
    assert {name: told[name].split()[0] for name in titles} == {
        name: f"{value:.3f}" for name, value in expected.items()
    }
    assert app.selectbox(key="s.tokens.metric").value == "Comprehensiveness"
    for number, name in enumerate((*titles, "Random rankings")):
        metrics = [result(case.scores[number]).values["metrics"] for case in cases]
        found = [next(iter(one.values()))["comprehensiveness"] for one in metrics]
        assert list(every[name]) == found
    assert {b.label for b in app.get("download_button")} == FILES
    assert app.code[0].value.startswith("python -m backend study tokens --prompts facts")
    assert "--max-new-tokens 2 --model folder:tiny-llama" in app.code[0].value


def test_a_consensus_of_prompts_is_opened_with_all_it_is_of(page: Open) -> None:
    app = of_facts(page)
    for method, chosen in (
        ("Consensus", PROMPT_METHODS),
        ("Gradient × input", PROMPT_METHODS[1:2]),
    ):
        app.session_state["s.tokens.every.Comprehensiveness"] = {
            "selection": {"rows": [], "columns": [], "cells": [[1, method]]}
        }
        app = app.run()
        assert not app.exception
        [link] = app.get("page_link")
        assert link.proto.label == f"Open 2\\: The capital of Italy is by {method}"
        key = re.search("[0-9a-f]{64}", link.proto.query_string).group()
        found = engine().get_comparison(key)
        assert [choice.explainer for choice in found.choices] == chosen
        assert engine().get_input("tokens", found.input).text == "The capital of Italy is"
    # Over the link all is there: its explanations are those of the study.
    other = page("")
    other.query_params["c"] = engine().put_comparison(study_of(app).cases[1].opens)
    other.switch_page("pages/tokens.py").run()
    assert not other.exception
    assert len(other.get("bidi_component")) == 1 + len(PROMPT_METHODS)


def test_the_address_opens_a_study_of_prompts_without_computing_it_again(page: Open) -> None:
    app = of_facts(page)
    before = keys()
    other = page("study")
    for name in ("c", "inputs", "seeds"):
        other.query_params[name] = app.query_params[name]
    other = other.run()
    assert not other.exception
    pd.testing.assert_frame_equal(table(other, "metric"), table(app, "metric"))
    pd.testing.assert_frame_equal(table(other, "input"), table(app, "input"))
    assert keys() == before
    assert other.selectbox(key="s.tokens.model").value == "tiny-llama (folder)"
    assert other.selectbox(key="s.tokens.prompts").value == "facts"
    assert other.number_input(key="s.tokens.length").value == 2
    assert other.number_input(key="s.inputs").value == 3
    assert other.multiselect(key="s.tokens.explainers").value == PROMPT_METHODS


def keys() -> set[str]:
    """Of all that is stored as explained."""
    return {entry.key for entry in engine().store.entries("explanation", "tokens")}


def test_prompts_of_a_file_are_studied_and_go_along_with_the_study(page: Open) -> None:
    app = of_prompts(page)
    app.selectbox(key="s.tokens.prompts").select("own").run()
    assert next(b for b in app.button if b.label == "Run").disabled
    lines = [
        {"prompt": "The code for the vault is 7481. The code is", "gold": ["7481"], "answer": " 7"},
        {"prompt": "The river runs by the old"},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines).encode()
    app.file_uploader(key="s.tokens.file").upload("mine.jsonl", text).run()
    assert "2 prompts, 1 with marked evidence." in words(app)
    app = finished(press(app, "Run$"))
    assert not app.exception
    assert list(table(app, "input")["input"]) == [
        "1: The code for the vault is 7481. The code is",
        "2: The river runs by the old",
    ]
    # Only the first prompt marks its evidence, so recovery is measured on it alone.
    app.selectbox(key="s.tokens.metric").select("Recovery").run()
    recovered = table(app, "input")["Consensus"]
    [case, _] = study_of(app).cases
    metrics = next(iter(result(case.scores[2]).values["metrics"].values()))
    assert recovered[0] == metrics["recovery"]
    assert pd.isna(recovered[1])
    assert {b.label for b in app.get("download_button")} == {*FILES, "prompts.jsonl"}
    assert "study tokens --prompts prompts.jsonl" in app.code[0].value
    # What goes along is what was brought.
    again = brought("prompts.jsonl", prompts_of(app).lines(), settings())
    own = brought("mine.jsonl", text, settings())
    assert PromptSet.of(again, "").digest() == PromptSet.of(own, "").digest()

    # The file is not brought again over the link.
    other = page("study")
    for name in ("c", "inputs", "seeds"):
        other.query_params[name] = app.query_params[name]
    other = other.run()
    assert other.selectbox(key="s.tokens.prompts").value == "own"
    assert "The prompts that are shown below: mine" in words(other).replace("\\", "")
    assert not next(b for b in other.button if b.label == "Run").disabled
    pd.testing.assert_frame_equal(table(other, "metric"), table(app, "metric"))
