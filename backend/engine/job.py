"""A job: one request on its way, as plain fields that any thread may read."""

from __future__ import annotations

import threading
import time
import uuid
from typing import Any, Literal

from backend.explanation import Request

State = Literal["queued", "running", "done", "failed", "cancelled"]

HOLD_S = 15.0
"""A holder that has not been heard of for this long has gone (a closed tab, a reload)."""


class Job:
    """One request on its way to an explanation; only the engine changes it.

    Args:
        key: the request's key, or the model's for a preparation.
        title: what a person calls it.
        request: None for a model's preparation.
        priority: lower goes first.
    """

    def __init__(
        self, key: str, title: str, request: Request | None = None, priority: int = 1
    ) -> None:
        self.key, self.title, self.request, self.priority = key, title, request, priority
        self.id = uuid.uuid4().hex
        """Unlike the key, never seen again: a late answer about an earlier job is told apart."""
        self.task: dict[str, Any] = {}
        """What a preparation prepares; an explanation's task is its request."""
        self.state: State = "queued"
        self.done, self.total, self.what = 0.0, 0.0, ""
        self.error, self.fault = "", False
        self.yielding = False
        """Asked to make way for a job that goes first; it goes back into the queue."""
        self.cached = False
        self.stopping: float | None = None
        """When it was asked to stop (monotonic); nobody joins it any more."""
        self.place = 0
        """1 for the next in the queue; 0 when not queued."""
        self.submitted = time.monotonic()
        self._started: float | None = None
        self._since: float | None = None
        self._ended: float | None = None
        self._end = threading.Event()
        self._holders: dict[str, float] = {}

    @property
    def finished(self) -> bool:
        """Whether the job is done, failed or cancelled."""
        return self._end.is_set()

    @property
    def seconds(self) -> float:
        """Seconds the worker has spent on it, or spent in all."""
        if self._started is None:
            return 0.0
        return (self._ended or time.monotonic()) - self._started

    @property
    def eta_s(self) -> float | None:
        """Seconds left at the present stage's rate; None until it can be told."""
        if self.state != "running" or self._since is None or not 0 < self.done < self.total:
            return None
        spent = time.monotonic() - self._since
        return spent * (self.total - self.done) / self.done if spent > 0.5 else None

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the job has finished; False where the time ran out first."""
        return self._end.wait(timeout)

    def hold(self, holder: str) -> None:
        """Note that someone wants this job's result."""
        self._holders[holder] = time.monotonic()

    def drop(self, holder: str) -> bool:
        """Forget a holder; True where nobody is left who was heard of lately."""
        self._holders.pop(holder, None)
        now = time.monotonic()
        return not any(now - heard < HOLD_S for heard in list(self._holders.values()))

    def stop(self) -> None:
        """Ask for the end of a running job."""
        if self.stopping is None:
            self.stopping = time.monotonic()

    def back(self) -> None:
        """It made way for another and waits again; what it had done is lost."""
        self.state, self.stopping, self.yielding = "queued", None, False
        self.done, self.total, self.what = 0.0, 0.0, ""

    def start(self) -> None:
        """The worker has taken it."""
        self.state, self.place = "running", 0
        self._started = self._since = time.monotonic()

    def report(self, done: float, total: float, what: str) -> None:
        """Progress of the present stage; another `what` starts a stage."""
        if what != self.what:
            self._since = time.monotonic()
        self.done, self.total, self.what = done, total, what

    def end(self, state: State, error: str = "", *, fault: bool = False) -> None:
        """The job has finished; `fault` where it failed by no doing of the person's."""
        self._ended = time.monotonic()
        self.state, self.error, self.fault, self.place = state, error, fault, 0
        self._end.set()
