"""Jobs on the screen: progress, time left, cancel, and the result of a running job."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import streamlit as st

from backend.engine.job import Job
from backend.errors import ModelNotReady, VitrineError
from backend.explanation import Request
from components.session import engine, holder

POLL_SECONDS = 0.5


def hold(request: Request) -> Job | str:
    """The job of a request, submitted if this session has not cancelled it.

    Returns:
        The job, or a sentence that says why there is none.
    """
    try:
        key = engine().key(request)
        live = engine().job(key)
        if live is not None and live.finished and live.state != "done":
            return live
        return engine().submit(request, holder())
    except ModelNotReady:
        return _fetched(request)
    except VitrineError as error:
        return str(error)


def retry(request: Request) -> None:
    """Submit a request again whose job failed or was cancelled."""
    st.session_state.pop(_fetching(request), None)
    with contextlib.suppress(VitrineError):  # `hold` shows it on the next run
        engine().submit(request, holder())


def _fetched(request: Request) -> Job | str:
    """The job that fetches a request's model; one that failed stays until a retry."""
    name = _fetching(request)
    known = engine().job(st.session_state.get(name, ""))
    if known is not None:
        return known
    try:
        job = engine().prepare(request.model, request.family, holder())
    except VitrineError as error:
        return str(error)
    st.session_state[name] = job.key
    return job


def _fetching(request: Request) -> str:
    return f"fetch.{request.model.label()}"


def cancel(keys: Sequence[str]) -> None:
    """Drop this session's hold on the jobs; those nobody else holds stop."""
    for key in keys:
        engine().cancel(key, holder())


def waiting(jobs: Sequence[Job]) -> None:
    """Show jobs until one of them changes for good, then run the page again.

    They were live when the page looked; one that has ended since brings the page back at once.
    The rerun is asked for on every tick while it is due, because a rerun asked for once from a
    polling fragment can get lost.
    """
    if jobs:
        _poll(tuple(jobs))


def cancellable(job: Job, key: str) -> None:
    """A live job's progress, and a button to cancel it; in the main script."""
    st.button(
        "Cancel",
        key=f"{key}.cancel",
        icon=":material/stop_circle:",
        on_click=cancel,
        args=([job.key],),
    )
    waiting([job])


@st.fragment(run_every=POLL_SECONDS)
def _poll(jobs: tuple[Job, ...]) -> None:
    if any(job.finished for job in jobs):
        st.rerun()
    for job in jobs:
        engine().touch(job.key, holder())
        bar(job)


def bar(job: Job) -> None:
    """One job's progress: what it does, how far it is, how long it will take."""
    share = min(job.done / job.total, 1.0) if job.total else 0.0
    st.progress(share, text=describe(job))


def describe(job: Job) -> str:
    """One line about a job that has not finished."""
    if job.state == "queued":
        ahead = f", {job.place - 1} more ahead" if job.place > 1 else ""
        return f"{job.title}: waiting{_for_what()}{ahead}"
    left = "" if job.eta_s is None else f" · about {_time(job.eta_s)} left"
    return f"{job.title}: {job.what or 'starting'}{left}"


def _for_what() -> str:
    """What the worker does before it comes to a job that waits."""
    for worker in engine().workers():
        before = engine().job(worker.current) if worker.current else None
        if before is not None:
            return f" for {before.title}, {before.what or 'starting'}"
    return " for the worker"


def _time(seconds: float) -> str:
    return f"{max(1, round(seconds))} s" if seconds < 90 else f"{round(seconds / 60)} min"


def outcome(job: Job, request: Request, key: str) -> None:
    """A job that failed or was cancelled, with a button to try again."""
    if job.state == "cancelled":
        st.info("Cancelled. Nothing was stored.", icon=":material/cancel:")
    else:
        st.error(job.error or "The job failed.", icon=":material/error:")
    st.button("Try again", key=f"retry.{key}", on_click=retry, args=(request,))
