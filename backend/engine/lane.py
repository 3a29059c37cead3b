"""A lane: one device, its worker process, and the jobs it takes from the queue one by one."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from backend.engine.job import Job
from backend.engine.process import WorkerProcess
from backend.settings import Settings

log = logging.getLogger("vitrine.engine")

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
        finished: called with each job that has ended, or made way and waits again.
        yields: whether a running job should make way for one that waits.
    """

    def __init__(
        self,
        settings: Settings,
        device: str,
        take: Callable[[], Job | None],
        finished: Callable[[Job], None],
        yields: Callable[[Job], bool],
    ) -> None:
        self.settings, self.device = settings, device
        self._take, self._finished, self._yields = take, finished, yields
        self._process: WorkerProcess | None = None
        self._job: Job | None = None
        self._closing = False
        self._thread = threading.Thread(target=self._serve, daemon=True, name=f"lane-{device}")
        self._thread.start()

    def info(self) -> WorkerInfo:
        """What this lane is doing now."""
        process, job = self._process, self._job
        ready = process is not None and process.alive
        return WorkerInfo(
            device=self.device,
            pid=process.pid if process else None,
            state="busy" if job else "ready" if ready else "stopped",
            current=job.key if job else "",
        )

    def close(self) -> None:
        """End the worker; the thread ends with the queue."""
        self._closing = True
        if self._process is not None:
            self._process.end()

    def _serve(self) -> None:
        while (job := self._take()) is not None:
            self._job = job
            job.start()
            try:
                self._see_through(job)
            except Exception as error:
                log.exception("the worker of %s cannot be used", self.device)
                self._replace()
                job.end("failed", f"The worker cannot be started: {error}", fault=True)
            finally:
                self._job = None
                self._finished(job)
        self.close()

    def _see_through(self, job: Job) -> None:
        deadline = time.monotonic() + self.settings.job_deadline_s
        process, told, taken, again = self._send(job), False, False, True
        while not job.finished:
            if job.stopping is None and self._yields(job):
                job.yielding = True
            if (job.stopping is not None or job.yielding) and not told:
                process.say(do="cancel", id=job.id)
                told = True
            try:
                answer = process.answers.get(timeout=TICK_S)
            except queue.Empty:
                answer = {}
            if answer is None:
                self._replace()
                if taken or not again or self._closing:
                    job.end("failed", self._died(process), fault=True)
                else:  # it died while idle, unnoticed: the job was never taken
                    process, told, again = self._send(job), False, False
            elif answer.get("id") == job.id:
                taken = True
                if job.yielding and job.stopping is None and answer.get("end") == "cancelled":
                    job.back()
                    return
                _apply(job, answer)
            if not job.finished:
                self._look_at_the_clock(job, deadline)

    def _send(self, job: Job) -> WorkerProcess:
        """Give the job to this lane's worker, started where there is none."""
        process = self._process
        if process is None or not process.alive:
            job.report(0, 1, "starting the worker")
            process = self._process = WorkerProcess(self.settings, self.device)
            if self._closing:  # closed meanwhile: nobody would end it
                process.end()
        process.say(id=job.id, **_task(job))
        return process

    def _look_at_the_clock(self, job: Job, deadline: float) -> None:
        now = time.monotonic()
        if job.stopping is not None and now - job.stopping > self.settings.cancel_grace_s:
            self._replace()
            job.end("cancelled")
        elif now > deadline:
            self._replace()
            job.end(
                "failed",
                f"Stopped after {_minutes(self.settings.job_deadline_s)} "
                "(VITRINE_JOB_DEADLINE_S). Try a shorter input or fewer evaluations.",
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


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def _task(job: Job) -> dict[str, Any]:
    if job.request is not None:
        return {"do": "explain", "key": job.key, "request": job.request.model_dump(mode="json")}
    return {"do": "prepare", **job.task}


def _apply(job: Job, answer: dict[str, Any]) -> None:
    if "progress" in answer:
        job.report(*answer["progress"])
    else:
        job.end(answer["end"], answer.get("error", ""), fault=answer.get("fault", False))
