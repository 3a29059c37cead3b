"""From a request to an explanation: the queue, the lanes, the store; all an app or a script needs.

Equal requests share one job; a stored result ends a job at once; nothing here imports torch.
"""

from __future__ import annotations

import heapq
import itertools
import os
import shutil
import subprocess
import threading
from collections import OrderedDict

from backend import models
from backend.bundle import Bundle, canonical_json, digest, kind
from backend.catalogue import Catalogued, catalogue, find, normalised
from backend.engine.job import Job
from backend.engine.lane import Lane, WorkerInfo
from backend.engine.store import Store
from backend.errors import Busy, InputError, ModelError
from backend.explanation import Comparison, Explanation, ModelRef, Request
from backend.settings import Settings

REMEMBERED = 512
"""Finished jobs kept for those who ask how they ended."""
_PRIORITY = {"preparation": 0, "attribution": 1, "slicing": 1, "view": 1, "score": 2}


class Engine:
    """Submits requests, holds jobs, keeps results.

    Raises:
        StoreError: the store's folder cannot be used.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.store = Store(settings.store, int(settings.store_max_gb * 1e9))
        self.store.sweep()
        self._queue: list[tuple[int, int, Job]] = []
        self._order = itertools.count()
        self._change = threading.Condition()
        self._live: dict[str, Job] = {}
        self._ended: OrderedDict[str, Job] = OrderedDict()
        self._lanes: list[Lane] = []
        self._closed = False

    def put_input(self, input: Bundle, family: str) -> str:
        """Store an input and return its content digest."""
        key = input.digest()
        if not self.store.has(key, "input"):
            data = input.to_bytes()
            self.store.put(key, "input", data, family=family, title=input.label())
        return key

    def get_input(self, family: str, key: str) -> Bundle | None:
        """A stored input, or None; also where it is of another kind, e.g. a set of prompts."""
        data, expected = self.store.get(key, "input"), catalogue()[family].Input
        if data is None or kind(data) != expected.__name__:
            return None
        return expected.from_bytes(data)

    def put_comparison(self, comparison: Comparison) -> str:
        """Store what a page shows and return its key."""
        key = comparison.key()
        if not self.store.has(key, "comparison"):
            data = canonical_json(comparison.model_dump(mode="json")).encode()
            self.store.put(key, "comparison", data, family=comparison.family)
        return key

    def get_comparison(self, key: str) -> Comparison | None:
        """What a page showed, or None."""
        data = self.store.get(key, "comparison")
        return None if data is None else Comparison.model_validate_json(data)

    def key(self, request: Request) -> str:
        """The key of a request.

        Raises:
            InputError: the request names nothing there is, or a parameter is out of bounds.
            ModelNotReady: the model must be prepared first.
            ModelError: there is no such model, or it is not allowed.
        """
        return self._key(normalised(request))

    def _key(self, request: Request) -> str:
        family = catalogue()[request.family]
        fingerprint = models.fingerprint(request.model, family, self.settings)
        return request.key(Catalogued(fingerprint))

    def submit(self, request: Request, holder: str = "") -> Job:
        """Start, join or find the job of a request.

        Args:
            holder: who wants it; a job is cancelled when nobody wants it any more.

        Raises:
            InputError, ModelNotReady, ModelError: as `key`, and where the model or the input
                cannot be explained by this method.
            Busy: the queue is full.
        """
        request = normalised(request)
        key, explainer = self._key(request), find(request)
        with self._change:
            if (live := self._joinable(key)) is not None:
                live.hold(holder)
                return live
            ended = self._ended.get(key)
            if ended is not None and ended.state == "done" and self.store.has(key, "explanation"):
                return ended
            # Read whole once, so that a damaged result is computed again and not announced.
            if self.store.get(key, "explanation") is not None:
                job = Job(key, explainer.title, request)
                job.cached = True
                job.end("done")
                self._remember(job)
                return job
        self._check(request)
        return self._enqueue(Job(key, explainer.title, request, _PRIORITY[explainer.role]), holder)

    def prepare(self, ref: ModelRef, family: str, holder: str = "") -> Job:
        """Fetch a model where needed and load it.

        Raises:
            Busy: the queue is full.
        """
        content = canonical_json({"family": family, "model": ref.model_dump(mode="json")})
        job = Job(digest(b"prepare", content.encode()), "Model", priority=0)
        job.task = {"family": family, "model": ref.model_dump(mode="json")}
        return self._enqueue(job, holder)

    def _check(self, request: Request) -> None:
        """Refuse at once what cannot work, from config.json and the input alone."""
        family = catalogue()[request.family]
        given = self.get_input(request.family, request.input)
        if given is None:
            raise InputError("The input is no longer stored.", todo="Bring it again.")
        config = models.config(request.model, family, self.settings)
        if config is not None:
            reason = family.unsupported(config) or find(request).supports(config, given)
            if reason:
                raise ModelError(reason)

    def _enqueue(self, job: Job, holder: str) -> Job:
        with self._change:
            if self._closed:
                raise Busy("The server is shutting down.")
            if (live := self._joinable(job.key)) is not None:
                job = live
            else:
                if len(self._queue) >= self.settings.queue_limit:
                    raise Busy(
                        f"The server is busy: {len(self._queue)} jobs are waiting. Try again in a "
                        "minute."
                    )
                self._live[job.key] = job
                heapq.heappush(self._queue, (job.priority, next(self._order), job))
                self._number()
                self._open_lanes()
                self._change.notify_all()
            job.hold(holder)
            return job

    def _joinable(self, key: str) -> Job | None:
        live = self._live.get(key)
        # One that has ended stays live until its lane has looked up.
        over = live is None or live.finished or live.stopping is not None
        return None if over else live

    def job(self, key: str) -> Job | None:
        """A job of this process that is live or ended lately."""
        with self._change:
            return self._live.get(key) or self._ended.get(key)

    def result(self, key: str) -> Explanation | None:
        """A stored explanation, or None where it is not there or damaged."""
        data = self.store.get(key, "explanation")
        for family in catalogue().values() if data else ():
            if data and family.Explanation.__name__ == kind(data):
                return family.Explanation.from_bytes(data)
        return None

    def touch(self, key: str, holder: str) -> None:
        """Say that a holder still waits for a job."""
        with self._change:
            if key in self._live:
                self._live[key].hold(holder)

    def cancel(self, key: str, holder: str = "") -> None:
        """Drop a holder of a job; the job stops when it was the last."""
        with self._change:
            job = self._live.get(key)
            if job is None or not job.drop(holder):
                return
            if job.state == "queued":
                self._queue = [entry for entry in self._queue if entry[2] is not job]
                heapq.heapify(self._queue)
                self._number()
                job.end("cancelled")
                self._finish(job)
            else:
                job.stop()

    def workers(self) -> list[WorkerInfo]:
        """What each worker is doing; empty until the first job."""
        return [lane.info() for lane in self._lanes]

    def close(self) -> None:
        """End all workers; jobs that run fail, jobs that wait are cancelled."""
        with self._change:
            self._closed = True
            for _, _, job in self._queue:
                job.end("cancelled")
                self._finish(job)
            self._queue.clear()
            self._change.notify_all()
        for lane in self._lanes:
            lane.close()

    def _take(self) -> Job | None:
        with self._change:
            while not self._queue and not self._closed:
                self._change.wait()
            if self._closed:
                return None
            job = heapq.heappop(self._queue)[2]
            self._number()
            job.state = "running"
            return job

    def _yields(self, job: Job) -> bool:
        """Whether a running score should make way: what people wait for goes first."""
        if job.priority < _PRIORITY["score"]:
            return False
        with self._change:
            return any(priority < job.priority for priority, _, _ in self._queue)

    def _finish(self, job: Job) -> None:
        with self._change:
            if job.state == "queued" and self._closed:
                job.end("cancelled")
            elif job.state == "queued":  # it made way
                heapq.heappush(self._queue, (job.priority, next(self._order), job))
                self._number()
                self._change.notify_all()
                return
            if self._live.get(job.key) is job:  # else another has taken its place
                del self._live[job.key]
            self._remember(job)

    def _remember(self, job: Job) -> None:
        self._ended[job.key] = job
        self._ended.move_to_end(job.key)
        while len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)

    def _number(self) -> None:
        for place, (_, _, job) in enumerate(sorted(self._queue, key=lambda e: e[:2]), start=1):
            job.place = place

    def _open_lanes(self) -> None:
        if not self._lanes:
            self._lanes = [
                Lane(self.settings, device, self._take, self._finish, self._yields)
                for device in devices(self.settings.device)
            ]


def devices(wanted: str) -> list[str]:
    """The devices workers compute on: all CUDA devices for "auto", or the CPU where there is none.

    Asks nvidia-smi, because asking torch would load it into the app.
    """
    if wanted != "auto":
        return [wanted]
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ["cpu"]
    try:
        listed = subprocess.run(  # noqa: S603
            [tool, "-L"], capture_output=True, text=True, timeout=10, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ["cpu"]
    count = sum(line.startswith("GPU ") for line in listed.splitlines())
    # CUDA renumbers the devices left visible from 0, and the list ends at the first invalid one.
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        named = itertools.takewhile(lambda name: name not in ("", "-1"), visible.split(","))
        count = min(count, len(list(named)))
    return [f"cuda:{i}" for i in range(count)] or ["cpu"]
