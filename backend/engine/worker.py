"""A worker: a process that keeps models loaded and turns requests into explanations.

It reads one JSON object a line from standard input and answers with one a line. It ends when its
input ends, so it never outlives the app. It runs one job at a time: two methods that hook one model
at once would silently spoil each other's numbers.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import queue
import resource
import signal
import sys
import threading
import time
import uuid
from collections import OrderedDict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from backend import models
from backend.catalogue import Catalogued, catalogue, find, versions
from backend.engine.run import Memory, WorkerRun, out_of_memory
from backend.engine.store import Store
from backend.errors import Cancelled, InputError, ModelError, OutOfMemory, VitrineError
from backend.explainer import Family
from backend.explanation import Explanation, ModelRef, Provenance, Request
from backend.settings import Settings, settings

log = logging.getLogger("vitrine.worker")

REPORT_EVERY_S = 0.1


class Worker:
    """The jobs of one device.

    Args:
        device: where to compute, as torch names it.
        out: where answers go.
    """

    def __init__(self, options: Settings, device: str, out: TextIO) -> None:
        self.settings, self.device, self.out = options, device, out
        self.store = Store(options.store, int(options.store_max_gb * 1e9))
        self.loaded: OrderedDict[str, tuple[Any, int]] = OrderedDict()
        self.cancelled: set[str] = set()
        self._said = threading.Lock()
        self._last = (0.0, "")

    def say(self, **answer: Any) -> None:
        """Send one answer."""
        with self._said:
            self.out.write(json.dumps(answer) + "\n")
            self.out.flush()

    def perform(self, task: dict[str, Any]) -> None:
        """Do one task and say how it ended."""
        key = task["id"]
        self._last = (0.0, "")
        try:
            self._report(key, 0, 1, "starting")
            if task["do"] == "prepare":
                family = catalogue()[task["family"]]
                self.model(ModelRef.model_validate(task["model"]), family, key)
            else:
                found = self.explanation(Request.model_validate(task["request"]), key)
                if found.source().key != task["key"]:
                    raise ModelError(
                        "The model's files or the installed code changed while this waited. Ask "
                        "again; restart the server where code has changed."
                    )
            self.say(id=key, end="done")
        except Cancelled:
            self.say(id=key, end="cancelled")
        except VitrineError as error:
            self.say(id=key, end="failed", error=str(error))
        except Exception as error:  # noqa: BLE001  one job's fault must not end the worker
            self.say(id=key, end="failed", error=_fault(error), fault=not out_of_memory(error))
        finally:
            self.cancelled.discard(key)

    def explanation(self, request: Request, job: str) -> Explanation:
        """The explanation of a request, from the store or computed and stored."""
        family, explainer = catalogue()[request.family], find(request)
        model = self.model(request.model, family, job)
        fingerprint = models.fingerprint(request.model, family, self.settings)
        key = request.key(Catalogued(fingerprint))
        stored = self.store.get(key, "explanation")
        if stored is not None:
            return family.Explanation.from_bytes(stored)
        given = self._input(request, family)
        config = models.config(request.model, family, self.settings) or {}
        if reason := explainer.supports(config, given):
            raise ModelError(reason)
        run = WorkerRun(
            device=self.device,
            dtype=request.model.precision,
            seed=request.seed,
            subject=self.explanation(request.subject, job) if request.subject else None,
            members=[self.explanation(member, job) for member in request.members],
            report=lambda done, total, what: self._report(job, done, total, what),
            cancelled=lambda: job in self.cancelled,
        )
        run.progress(0, 1, "computing")
        memory, started = Memory(self.device), time.perf_counter()
        with _interruptible(model, run):
            found = explainer.explain(
                model,
                given,
                family.Target.model_validate(request.target),
                explainer.Parameters.model_validate(request.parameters),
                run,
            )
        provenance = Provenance(
            key=key,
            request=request,
            model_fingerprint=fingerprint,
            versions=versions(explainer),
            device=self.device,
            dtype=run.dtype,
            seconds=time.perf_counter() - started,
            peak_memory_bytes=memory.peak(),
            forward_passes=run.forward_passes,
            backward_passes=run.backward_passes,
            batch_size=run.batch_size,
            warnings=tuple(run.warnings),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        found = dataclasses.replace(found, provenance=provenance)
        run.check_cancelled()
        self.store.put(
            key,
            "explanation",
            found.to_bytes(),
            family=request.family,
            title=given.label(),
            meta={
                "explainer": request.explainer,
                "model": request.model.label(),
                "seconds": provenance.seconds,
            },
        )
        return found

    def model(self, ref: ModelRef, family: Family, job: str) -> Any:
        """The loaded adapter of a model, kept while memory allows.

        Raises:
            ModelError: it cannot be had or served.
        """
        folder = models.fetch(
            ref, family, self.settings, lambda d, t, w: self._report(job, d, t, w)
        )
        config = models.config(ref, family, self.settings) or {}
        if reason := family.unsupported(config):
            raise ModelError(reason)
        content = models.fingerprint(ref, family, self.settings)
        name = f"{family.id}/{ref.precision}/{content}/{ref.reinitialised}"
        if name not in self.loaded:
            self._report(job, 0, 1, "loading the model")
            self._make_room(_weight_bytes(folder, ref))
            adapter = family.load(folder, ref, self.device)
            self.loaded[name] = (adapter, _weight_bytes(folder, ref))
            _deterministic()
        self.loaded.move_to_end(name)
        return self.loaded[name][0]

    def _make_room(self, wanted: int) -> None:
        limit = self.settings.model_memory_gb * 1e9
        while self.loaded and sum(size for _, size in self.loaded.values()) + wanted > limit:
            self.loaded.popitem(last=False)

    def _input(self, request: Request, family: Family) -> Any:
        data = self.store.get(request.input, "input")
        if data is None:
            raise InputError(
                "The input of this request is no longer stored.", todo="Bring it again."
            )
        return family.Input.from_bytes(data)

    def _report(self, job: str, done: float, total: float, what: str) -> None:
        if job in self.cancelled:
            raise Cancelled("The job was cancelled.")
        now = time.monotonic()
        if what != self._last[1] or now - self._last[0] > REPORT_EVERY_S or done >= total:
            self._last = (now, what)
            self.say(id=job, progress=[done, total, what])


def _interruptible(model: Any, run: WorkerRun) -> contextlib.AbstractContextManager[None]:
    """Lets a cancelled job stop inside a long pass, where the family's adapter can do that."""
    offered = getattr(model, "interruptible", None)
    found: contextlib.AbstractContextManager[None] = (
        contextlib.nullcontext() if offered is None else offered(run.check_cancelled)
    )
    return found


def _fault(error: Exception) -> str:
    if out_of_memory(error):
        return str(
            OutOfMemory(
                "Memory ran out. A shorter input, a smaller model, bfloat16 precision or a machine "
                "with more memory would fit."
            )
        )
    number = uuid.uuid4().hex[:8]
    log.error("error %s", number, exc_info=error)
    return (
        f"This explainer failed by a fault of its own (error {number}; the server's log has the "
        "details). The other explainers are not affected."
    )


def _weight_bytes(folder: Path, ref: ModelRef) -> int:
    """Bytes the weights take once loaded; files hold two bytes a number or four."""
    size = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    return size * 2 if ref.precision == "float32" else size


def _deterministic() -> None:
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.use_deterministic_algorithms(True, warn_only=True)


def _listen(worker: Worker, tasks: queue.Queue[dict[str, Any]]) -> None:
    """Read lines until the app is gone; a cancel takes effect at once, tasks wait their turn."""
    for line in sys.stdin:
        task = json.loads(line)
        if task["do"] == "cancel":
            worker.cancelled.add(task["id"])
        else:
            tasks.put(task)
    # The app has ended or wants this worker to: whatever runs now is wanted by nobody.
    os._exit(0)


def main() -> None:
    """Serve the app that started this process."""
    # Ctrl+C in a terminal reaches the app too, and the worker ends with it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    # What a library prints must not get between the answers.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    if limit := settings().worker_memory_gb:
        resource.setrlimit(resource.RLIMIT_AS, (int(limit * 1e9), int(limit * 1e9)))
    worker = Worker(settings(), sys.argv[1], out)
    tasks: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=_listen, args=(worker, tasks), daemon=True).start()
    worker.say(ready=True)
    while True:
        worker.perform(tasks.get())


if __name__ == "__main__":
    main()
