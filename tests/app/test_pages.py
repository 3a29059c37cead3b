"""Each page and its states, drawn by Streamlit's own harness on a tiny model."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from backend.explanation import Comparison
from components.session import engine
from tests.app.conftest import settle

pytestmark = pytest.mark.slow
CHOSEN = ["contribution_weights", "attention_mean", "leave_one_out"]

Open = Callable[[str], AppTest]


def words(app: AppTest) -> str:
    shown = (*app.markdown, *app.caption, *app.info, *app.warning, *app.error, *app.text)
    return "\n".join(str(element.value) for element in shown)


def press(app: AppTest, label: str) -> AppTest:
    return next(b for b in app.button if re.match(label, b.label)).click().run()


def written(page: Open, text: str, explainers: list[str] = CHOSEN) -> AppTest:
    """The Tokens page with a typed prompt on the tiny model."""
    app = page("tokens")
    app.selectbox(key="t.model").select("tiny-llama (folder)").run()
    app.multiselect(key="t.explainers").set_value(explainers).run()
    app.segmented_control(key="t.source").set_value("Write").run()
    app.text_area(key="t.text").input(text).run()
    return app


def strips(app: AppTest) -> int:
    return len(app.get("bidi_component"))


def explained(page: Open, text: str, explainers: list[str] = CHOSEN) -> AppTest:
    app = press(written(page, text, explainers), "Explain$")
    return settle(app, lambda a: strips(a) == 1 + len(explainers))


@pytest.mark.parametrize("name", ["", "tokens", "library"])
def test_a_fresh_page_draws_and_says_what_to_do(page: Open, name: str) -> None:
    app = page(name)
    assert not app.exception
    assert app.title[0].value in ("Vitrine", "Tokens", "Library")
    said = {"": "Nothing yet", "tokens": "Press **Explain**", "library": "Nothing is stored yet"}
    assert said[name] in words(app)


def test_explain_compare_and_score(page: Open) -> None:
    app = explained(page, "The capital of France is")
    assert not app.exception
    assert not app.error
    settle(app, lambda a: len(a.dataframe) == 1 and len(a.dataframe[0].value) == 4)
    assert len(app.get("plotly_chart")) == 2  # scoreboard and curves
    board = app.dataframe[0].value
    assert list(board["method"]) == [
        "Contribution Weights", "Attention, mean", "Leave one out", "random",
    ]  # fmt: skip
    assert board["Comprehensiveness"].notna().all()


def test_the_address_opens_the_same_result_in_another_session(page: Open, fresh: Path) -> None:
    first = explained(page, "the code the code", ["attention_mean"])
    key = re.search("[0-9a-f]{64}", str(first.query_params["c"])).group()
    assert "code" not in key
    assert isinstance(engine().get_comparison(key), Comparison)
    second = page("")
    second.query_params["c"] = key
    second.switch_page("pages/tokens.py").run()
    assert strips(second) == 2
    assert second.text_area(key="t.text").value == "the code the code"
    assert second.multiselect(key="t.explainers").value == ["attention_mean"]
    assert second.selectbox(key="t.model").value == "tiny-llama (folder)"


@pytest.mark.parametrize("link", ["0" * 64, "../../etc/passwd", "<script>"])
def test_an_unknown_link_gets_a_message(page: Open, fresh: Path, link: str) -> None:
    app = page("")
    app.query_params["c"] = link
    app.switch_page("pages/tokens.py").run()
    assert not app.exception
    assert "not in this library" in words(app)


@pytest.mark.parametrize(
    ("text", "said"),
    [("   ", "The prompt is empty"), ("a\x00b", "NUL"), ("word " * 2000, "at most 1,024 fit")],
)
def test_bad_prompts_end_in_a_clear_message(page: Open, text: str, said: str) -> None:
    app = written(page, text, ["attention_mean"])
    if not app.error:
        press(app, "Explain$")
        settle(app, lambda a: bool(a.error))
    assert not app.exception
    assert said in words(app)


def test_the_last_part_of_a_long_prompt_is_one_press_away(page: Open) -> None:
    app = press(written(page, "word " * 1000 + "end", ["attention_mean"]), "Explain$")
    settle(app, lambda a: bool(a.error))
    press(app, "Keep the last part")
    settle(app, lambda a: strips(a) == 2)
    assert not app.error
    kept = app.text_area(key="t.text").value
    assert kept.endswith("word end")
    assert len(kept) < 5003


@pytest.mark.parametrize("text", ["a", "the the the", "مرحبا 👩‍👩‍👧", "<script>alert(1)</script>"])
def test_odd_prompts_end_in_a_picture(page: Open, text: str) -> None:
    app = explained(page, text, ["attention_mean"])
    assert not app.exception
    assert not app.error


def test_library_lists_opens_pins_and_deletes(page: Open) -> None:
    explained(page, "The capital of France is", ["attention_mean", "leave_one_out"])
    app = page("library")
    listed = app.dataframe[0].value
    assert sorted(listed["explainer"]) == ["Attention, mean", "Leave one out"]
    assert set(listed["input"]) == {"The capital of France is"}
    app.text_input[0].input("nothing like it").run()
    assert "Nothing matches" in words(app)


def test_exported_numbers_are_the_pages_numbers(page: Open) -> None:
    from backend.tokens import files
    from components.figures import tokens

    explained(page, "The capital of France is", ["leave_one_out"])
    [entry] = [
        e
        for e in engine().store.entries("explanation", "tokens")
        if e.meta["explainer"] == "leave_one_out"
    ]
    found = engine().result(entry.key)
    lines = files.numbers(found).decode().splitlines()
    exported = {int(row[0]): row.split(",")[-2] for row in lines[1:]}
    for row in tokens.rows(found, "token"):
        if row["score"] is not None:
            assert float(exported[row["position"]]) == row["score"]


def test_reading_explains_the_answer_with_and_without_flashtrace_among_the_chosen(
    page: Open,
) -> None:
    app = explained(page, "The capital of France is", ["attention_mean"])
    app.session_state["t.tabs"] = "Read"
    app.run()
    settle(app, lambda a: strips(a) == 3 and len(a.get("plotly_chart")) == 1)
    assert not app.exception
    assert "Of the scores," in words(app)
    app.segmented_control(key="t.read.hops").set_value(2).run()
    settle(app, lambda a: strips(a) == 3 and len(a.get("plotly_chart")) == 1)
    assert app.segmented_control(key="t.read.shown.2").options[-1] == "hop 2"
