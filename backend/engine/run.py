"""The run an explainer is given: generators, progress, cancelling, batches, what it cost."""

from __future__ import annotations

import contextlib
import resource
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from backend.errors import Cancelled, OutOfMemory
from backend.explanation import Explanation

if TYPE_CHECKING:
    import torch

T = TypeVar("T")

_SIGNS = ("can't allocate memory", "not enough memory", "out of memory", "STATUS_ALLOC_FAILED")
_CLEAR = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")


class WorkerRun:
    """`backend.explainer.Run` inside a worker.

    Args:
        report: sends progress (done, total, what) to the app.
        cancelled: whether the job was cancelled.
    """

    def __init__(
        self,
        *,
        device: str,
        dtype: str,
        seed: int,
        subject: Explanation | None,
        members: Sequence[Explanation] = (),
        report: Callable[[float, float, str], None],
        cancelled: Callable[[], bool],
    ) -> None:
        self.device, self.dtype, self.seed = device, dtype, seed
        self.subject, self.members = subject, members
        self._report, self._cancelled = report, cancelled
        self.warnings: list[str] = []
        self.forward_passes = self.backward_passes = 0
        self.batch_size: int | None = None
        """Most items computed at once."""
        self._fits: int | None = None
        """Most items that fit, once memory has run out."""

    def torch_generator(self) -> torch.Generator:
        import torch

        return torch.Generator().manual_seed(self.seed)

    def numpy_generator(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    def progress(self, done: float, total: float, what: str) -> None:
        self.check_cancelled()
        self._report(done, total, what)

    def check_cancelled(self) -> None:
        if self._cancelled():
            raise Cancelled("The job was cancelled.")

    def warn(self, message: str) -> None:
        if message not in self.warnings:
            self.warnings.append(message)

    def count(self, forward: int = 0, backward: int = 0) -> None:
        self.forward_passes += forward
        self.backward_passes += backward

    def batches(
        self,
        items: Sequence[T],
        size: int,
        work: Callable[[Sequence[T]], Sequence[Any]],
        what: str = "",
        *,
        before: int = 0,
        total: int = 0,
    ) -> list[Any]:
        results: list[Any] = []
        while len(results) < len(items):
            self.check_cancelled()
            at_once = max(1, min(size, self._fits or size))
            part = items[len(results) : len(results) + at_once]
            found = _unless_memory_ran_out(work, part)
            if found is None:
                self._halve(len(part))
                continue
            if len(found) != len(part):
                raise ValueError(f"{len(found)} results for {len(part)} items")
            results += found
            self.batch_size = max(self.batch_size or 0, len(part))
            self.progress(before + len(results), total or len(items), what)
        return results

    def _halve(self, size: int) -> None:
        if size == 1:
            raise OutOfMemory(
                "There is not enough memory for even one item at a time. A shorter input, a "
                "smaller model, bfloat16 precision or a machine with more memory would fit."
            )
        _release()
        self._fits, self.batch_size = size // 2, None
        self.warn(f"Memory ran out with {size} items at once; {self._fits} were used instead.")


def _unless_memory_ran_out(
    work: Callable[[Sequence[T]], Sequence[Any]], part: Sequence[T]
) -> list[Any] | None:
    # None and no exception is kept: its traceback would hold on to the memory of its frames.
    try:
        return list(work(part))
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        return None


def out_of_memory(error: BaseException) -> bool:
    """Whether an exception means that memory ran out, on the CPU or on an accelerator."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    text = str(error)
    return any(sign in text for sign in _SIGNS)


def _release() -> None:
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


class Memory:
    """Peak memory since it was made: of the device where it is one, else of this process."""

    def __init__(self, device: str) -> None:
        self.device = device
        if device.startswith("cuda"):
            sys.modules["torch"].cuda.reset_peak_memory_stats(device)
        else:
            with contextlib.suppress(OSError):  # not Linux, or not allowed: the lifetime's peak
                _CLEAR.write_text("5", encoding="ascii")

    def peak(self) -> int:
        """Bytes."""
        if self.device.startswith("cuda"):
            return int(sys.modules["torch"].cuda.max_memory_allocated(self.device))
        try:
            for line in _STATUS.read_text(encoding="ascii").splitlines():
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
        except OSError:
            pass
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
