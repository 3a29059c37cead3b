"""A suite on its way: which case is next, its jobs, and what was measured; kept by the session.

The page runs again whenever a job ends; `advance` then goes as far as it can without waiting. What
is computed is in the store, so that a suite that was stopped, or begun in another session, finds it
again.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import Literal

from backend.engine.job import Job
from backend.explanation import Request
from backend.tokens import suite
from backend.tokens.measured import Measured
from components import jobs
from components.session import engine, explanation

AT_ONCE_S = 2.0
"""Seconds after which the page is drawn, though more could be taken from the store."""

State = Literal["running", "stopped", "done"]


@dataclasses.dataclass
class Running:
    """One suite of this session."""

    cases: tuple[suite.Case, ...]
    conditions: suite.Conditions
    title: str
    found: list[Measured] = dataclasses.field(default_factory=list)
    measured: int = 0
    """How many cases are done."""
    state: State = "running"
    error: str = ""
    """Why it stopped by itself."""
    waiting: tuple[Job, ...] = ()
    """What the next case waits for."""
    undone: tuple[Request, ...] = ()
    """Requests of the present step without a result."""


def advance(running: Running) -> bool:
    """Measure what is there already; returns whether more could be had at once."""
    end = time.monotonic() + AT_ONCE_S
    while running.state == "running":
        if running.measured == len(running.cases):
            running.state = "done"
        elif not _case(running):
            break
        elif time.monotonic() > end:
            return True
    return False


def _case(running: Running) -> bool:
    """Follow the next case; False where it waits or cannot go on."""
    case = running.cases[running.measured]
    talk = suite.measured(case, running.conditions, lambda p: engine().put_input(p, "tokens"))
    generating = case.brought is None
    try:
        asked = next(talk)
        while True:
            found = _outcomes(asked, running)
            if found is None:
                return False
            if generating and isinstance(found[0], str):
                running.state, running.error = "stopped", found[0]
                return False
            generating = False
            asked = talk.send(found)
    except StopIteration as stop:
        running.found += stop.value
        running.measured += 1
        return True


def _outcomes(asked: Sequence[Request], running: Running) -> list[suite.Outcome] | None:
    """The result of each request; None while one is on its way, was cancelled or is refused."""
    held = [jobs.hold(request) for request in asked]
    found = [job for job in held if isinstance(job, Job)]
    running.waiting = tuple(job for job in found if not job.finished)
    running.undone = tuple(
        request
        for request, job in zip(asked, held, strict=True)
        if isinstance(job, str) or job.state != "done"
    )
    errors = [error for job in held if (error := _stopping(job)) is not None]
    if errors:
        stop(running)
        running.error = errors[0]
    fetched = any(job.request is None for job in found)
    if running.waiting or running.state == "stopped" or fetched:
        return None
    return [_outcome(job) for job in found]


def _stopping(job: Job | str) -> str | None:
    """Why the suite cannot go on with this job, "" where it was cancelled; None if it can.

    A request that is refused, a model that cannot be had and a fault concern every case; what
    fails for one prompt is a case without a value.
    """
    if isinstance(job, str):
        return job
    if job.state == "cancelled":
        return ""
    if job.state == "failed" and (job.fault or job.request is None):
        return job.error or "The job failed."
    return None


def _outcome(job: Job) -> suite.Outcome:
    if job.state != "done":
        return job.error or "The job failed."
    return explanation(job.key) or "This result is no longer stored."


def stop(running: Running) -> None:
    """Stop at the case that is computed; what was measured stays."""
    jobs.cancel([job.key for job in running.waiting])
    running.state = "stopped"


def resume(running: Running) -> None:
    """Go on after a stop; a job that was cancelled or failed is submitted again."""
    for request in running.undone:
        jobs.retry(request)
    running.state, running.error = "running", ""
