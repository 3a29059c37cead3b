"""The suite's panel in Streamlit's own harness: generated prompts, a file, cancel and go on."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from backend.engine.job import Job
from backend.tokens import suite_table
from backend.tokens.measured import FILE
from components import jobs, suite_run
from tests.app.conftest import settle
from tests.app.test_pages import press, words

pytestmark = pytest.mark.slow


def screen() -> None:
    """A page of the panel alone, on the tiny model."""
    from backend.catalogue import catalogue
    from backend.models import offered
    from backend.settings import settings
    from components import suite as panel

    family = catalogue()["tokens"]
    folder = next(ref for ref in offered(family, settings()) if ref.source == "folder")
    panel.panel(family, folder, "s")


@pytest.fixture
def app(fresh: Path) -> AppTest:
    return AppTest.from_function(screen, default_timeout=120).run()


def running(app: AppTest) -> suite_run.Running:
    return app.session_state["s.running"]


def upload(app: AppTest, data: bytes) -> None:
    app.file_uploader(key="s.file").set_value(("mine.json", data, "application/json")).run()


def small(app: AppTest, items: int = 2) -> AppTest:
    """Two kinds and one length, short enough for a tiny model."""
    app.multiselect(key="s.kinds").set_value(["single", "multi_key"]).run()
    app.multiselect(key="s.sizes").set_value([512]).run()
    app.number_input(key="s.items").set_value(items).run()
    app.multiselect(key="s.explainers").set_value(["attention_mean", "alti"]).run()
    return app


def test_a_generated_suite_runs_to_its_table_and_figure(app: AppTest) -> None:
    assert not app.exception
    assert [b.label for b in app.button] == ["Score 32 prompts"]
    press(small(app), "Score 4 prompts")
    settle(app, lambda a: running(a).state == "done")
    app.run()
    assert not app.error
    assert len(app.get("plotly_chart")) == 1
    table, compared = app.dataframe[0].value, app.dataframe[1].value
    assert list(table["explainer"]) == ["Attention, mean", "ALTI", "random"] * 3
    assert list(table["prompts"]) == [
        *["One needle"] * 3, *["One of several needles"] * 3, *["All"] * 3,
    ]  # fmt: skip
    assert list(table["cases"]) == [2] * 6 + [4] * 3
    found = running(app).found
    by_hand = [m.values["recovery"] for m in found if m.explainer == "alti"]
    assert table["Recovery ↑"].iloc[7].startswith(f"{sum(by_hand) / 4:.3f} [")
    assert list(compared["other"]) == ["ALTI", "random"] * 3
    assert "too narrow to trust" in words(app)
    rows = list(csv.DictReader(io.StringIO(suite_table.numbers(found).decode(), newline="")))
    assert len(rows) == 4 * 3
    # A second suite of the same prompts computes nothing and is there at once.
    press(app, "Score 4 prompts")
    settle(app, lambda a: running(a).state == "done")
    assert running(app).found == found


def test_cancel_keeps_what_is_measured_and_continue_goes_on(app: AppTest) -> None:
    press(small(app), "Score 4 prompts")
    settle(app, lambda a: running(a).measured >= 1)
    press(app, "Cancel$")
    assert running(app).state == "stopped"
    kept = list(running(app).found)
    assert len(kept) >= 3
    if running(app).measured < 4:
        assert "Stopped after" in words(app)
    app.run()
    assert running(app).found == kept
    press(app, "Continue$")
    settle(app, lambda a: running(a).state == "done")
    assert running(app).found[: len(kept)] == kept
    assert len(running(app).found) == 12
    assert not any(m.reasons.get("recovery") for m in running(app).found)


def test_a_job_that_ends_while_the_page_is_drawn_is_not_missed(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No poll is left waiting for what is over: one press goes to the end."""
    waiting = jobs.waiting

    def late(live: Sequence[Job]) -> None:
        assert all(job.wait(120) for job in live)
        waiting(live)

    monkeypatch.setattr(jobs, "waiting", late)
    press(small(app, 1), "Score 2 prompts")
    assert running(app).state == "done"


def test_a_file_with_and_without_evidence(app: AppTest) -> None:
    app.segmented_control(key="s.source").set_value("My own file").run()
    assert app.button(key="s.start").disabled
    entries = [
        {"prompt": "The code for the vault is 7481. The code is", "gold": ["7481"], "answer": " 7"},
        {"prompt": "The river runs by the old mill and the wind is"},
    ]
    upload(app, json.dumps(entries).encode())
    assert "1 with marked evidence" in words(app)
    app.multiselect(key="s.explainers").set_value(["attention_mean"]).run()
    press(app, "Score 2 prompts")
    settle(app, lambda a: running(a).state == "done")
    app.run()
    assert {m.kind for m in running(app).found} == {FILE}
    recovery = app.dataframe[0].value["Recovery ↑"]
    assert all("(1)" in cell for cell in recovery)
    assert "no planted evidence" in words(app).replace("\\", "")


def test_a_file_that_cannot_be_read_says_so(app: AppTest) -> None:
    app.segmented_control(key="s.source").set_value("My own file").run()
    upload(app, b"{")
    assert "Not valid JSON" in words(app)
    assert app.button(key="s.start").disabled


def test_prompts_longer_than_the_model_reads_stop_with_a_message(app: AppTest) -> None:
    small(app).multiselect(key="s.sizes").set_value([2048]).run()
    press(app, "Score 4 prompts")
    settle(app, lambda a: running(a).state == "stopped")
    app.run()
    assert "at most 1,024 fit" in app.error[0].value.replace("\\", "")
    assert running(app).found == []
