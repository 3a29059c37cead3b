"""A worker process as the app sees it: a pipe in, answers out, and a way to end it."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from backend.settings import Settings

ROOT = Path(__file__).parents[2]
_NAMES = {-signal.SIGKILL: "killed, most likely because memory ran out", -signal.SIGSEGV: "crashed"}


class WorkerProcess:
    """One running worker.

    Not `multiprocessing`: that pickles, and would run the app's own script again in the child.

    Args:
        device: the device it computes on.
    """

    def __init__(self, settings: Settings, device: str) -> None:
        self.device = device
        self.answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        """What the worker says; None once it has ended."""
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "backend.engine.worker", device],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_environment(settings),
            text=True,
            encoding="utf-8",
            errors="replace",
            cwd=ROOT,
        )
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs; it may have been killed between two jobs."""
        return self._process.poll() is None

    def say(self, **task: Any) -> None:
        """Send a task or a cancel; a worker that has ended says so by its last answer."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                self._process.stdin.write(json.dumps(task) + "\n")
                self._process.stdin.flush()

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()

    def reason(self) -> str:
        """How an ended process ended."""
        code = self._process.wait()
        return _NAMES.get(code, f"ended with status {code}")

    def _listen(self) -> None:
        if self._process.stdout is not None:
            for line in self._process.stdout:
                with contextlib.suppress(ValueError):  # a worker killed in the middle of a line
                    self.answers.put(json.loads(line))
        self.answers.put(None)


def _environment(settings: Settings) -> dict[str, str]:
    threads = str(settings.threads or len(os.sched_getaffinity(0)))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("VITRINE_")}
    offline = {"HF_HUB_OFFLINE": "1"} if settings.hub == "off" else {}
    return {
        **kept,
        **settings.environment(),
        **offline,
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "TQDM_DISABLE": "1",
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
    }
