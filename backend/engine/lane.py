"""A lane: one device, its worker process, and the jobs it takes from the queue one by one."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from backend.engine.job import Job
from backend.engine.process import WorkerProcess
from backend.settings import Settings

TICK_S = 0.1


@dataclass(frozen=True)
class WorkerInfo:
    """What a lane is doing now."""

    device: str
    pid: int | None
    state: Literal["stopped", "ready", "busy"]
    current: str
    """Key of the running job, or ""."""


class Lane:
    """Takes jobs and sees each to its end, whatever happens to the worker.

    Args:
        take: blocks until there is a job; None when the engine closes.
        finished: called with each job that has ended.
    """

    def __init__(
        self,
        settings: Settings,
        device: str,
        take: Callable[[], Job | None],
        finished: Callable[[Job], None],
    ) -> None:
        self.settings, self.device = settings, device
        self._take, self._finished = take, finished
        self._process: WorkerProcess | None = None
        self._job: Job | None = None
        self._cancel_at: float | None = None
        self._closing = False
        self._thread = threading.Thread(target=self._serve, daemon=True, name=f"lane-{device}")
        self._thread.start()

    def info(self) -> WorkerInfo:
        """What this lane is doing now."""
        process, job = self._process, self._job
        state: Literal["stopped", "ready", "busy"] = "stopped" if process is None else "ready"
        return WorkerInfo(
            device=self.device,
            pid=process.pid if process else None,
            state="busy" if job else state,
            current=job.key if job else "",
        )

    def cancel(self, job: Job) -> None:
        """Ask the worker to stop this job; it is ended after the grace period."""
        if self._job is job and self._cancel_at is None:
            self._cancel_at = time.monotonic()
            if self._process is not None:
                self._process.say(do="cancel", id=job.id)

    def close(self) -> None:
        """End the worker; the thread ends with the queue."""
        self._closing = True
        if self._process is not None:
            self._process.end()

    def _serve(self) -> None:
        while (job := self._take()) is not None:
            self._cancel_at = None
            self._job = job
            job.start()
            try:
                self._see_through(job)
            finally:
                self._job = None
                self._finished(job)
        self.close()

    def _see_through(self, job: Job) -> None:
        process = self._worker(job)
        process.say(id=job.id, **_task(job))
        deadline = time.monotonic() + self.settings.job_deadline_s
        while not job.finished:
            try:
                answer = process.answers.get(timeout=TICK_S)
            except queue.Empty:
                self._look_at_the_clock(job, deadline)
                continue
            if answer is None:
                self._replace()
                job.end("failed", self._died(process), fault=True)
            elif answer.get("id") == job.id:
                _apply(job, answer)

    def _worker(self, job: Job) -> WorkerProcess:
        if self._process is None or not self._process.alive:
            job.report(0, 1, "starting the worker")
            self._process = WorkerProcess(self.settings, self.device)
        return self._process

    def _look_at_the_clock(self, job: Job, deadline: float) -> None:
        now = time.monotonic()
        if self._cancel_at is not None and now - self._cancel_at > self.settings.cancel_grace_s:
            self._replace()
            job.end("cancelled")
        elif now > deadline:
            self._replace()
            minutes = self.settings.job_deadline_s / 60
            job.end(
                "failed",
                f"Stopped after {minutes:.0f} minutes (VITRINE_JOB_DEADLINE_S). Try a shorter "
                "input or fewer evaluations.",
            )

    def _replace(self) -> None:
        """End the worker; the next job starts a new one."""
        if self._process is not None:
            self._process.end()
        self._process = None

    def _died(self, process: WorkerProcess) -> str:
        if self._closing:
            return "The server is shutting down."
        return (
            f"The worker process was {process.reason()}. A new one takes the next job. Try a "
            "shorter input, a smaller model or bfloat16 precision."
        )


def _task(job: Job) -> dict[str, Any]:
    if job.request is not None:
        return {"do": "explain", "request": job.request.model_dump(mode="json")}
    return {"do": "prepare", **job.task}


def _apply(job: Job, answer: dict[str, Any]) -> None:
    if "progress" in answer:
        job.report(*answer["progress"])
    else:
        job.end(answer["end"], answer.get("error", ""), fault=answer.get("fault", False))
