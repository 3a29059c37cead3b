"""Panels beside each other, whose jobs end whenever they like."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from backend.explanation import ModelRef, Request
from components import compare, jobs


def page() -> None:
    import streamlit as st

    from backend.engine.job import Job
    from backend.explanation import ModelRef, Request
    from components import compare, jobs

    job = st.session_state.setdefault("job", Job("k", "Random slices"))
    request = Request(
        family="concepts", explainer="random", model=ModelRef(name="table"), input="0" * 64
    )
    jobs.hold = lambda _: job
    jobs.waiting = lambda held: st.caption(f"waiting for {len(held)}")
    items = compare.items([request])
    job.end("done")  # the worker is done before the panel is drawn
    compare.grid(items, lambda _: st.caption("drawn"), "g")


def test_a_job_that_ends_while_the_page_is_drawn_is_waited_for_and_not_called_lost(
    monkeypatch,
) -> None:
    from components import jobs

    monkeypatch.setattr(jobs, "hold", jobs.hold)  # what the script above sets is undone
    monkeypatch.setattr(jobs, "waiting", jobs.waiting)
    app = AppTest.from_function(page, default_timeout=20).run()
    assert not app.exception
    assert not app.warning
    assert "waiting for 1" in [c.value for c in app.caption]


def test_what_needs_no_preparation_is_submitted_first_and_shown_in_its_place(
    monkeypatch,
) -> None:
    plain = Request(
        family="concepts", explainer="random", model=ModelRef(name="table"), input="0" * 64
    )
    trained = plain.model_copy(update={"explainer": "train_cbm"})
    resting = plain.model_copy(update={"seed": 1, "subject": trained})
    score = plain.model_copy(update={"seed": 2, "subject": plain})
    submitted: list[int] = []

    def hold(request: Request) -> str:
        submitted.append(request.seed)
        return "not run here"

    monkeypatch.setattr(jobs, "hold", hold)
    found = compare.items([resting, score, plain])
    assert submitted == [2, 0, 1]
    assert [item.request.seed for item in found] == [1, 2, 0]
