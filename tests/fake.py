"""A run that records what an explainer reports, and can be cancelled; a renderer of nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from backend.errors import Cancelled
from backend.explanation import ModelRef, Provenance, Request


@dataclasses.dataclass
class FakeRun:
    """The Run protocol without an engine."""

    device: str = "cpu"
    dtype: str = "float32"
    seed: int = 0
    subject: Any = None
    members: Sequence[Any] = ()
    cancelled: bool = False
    cancel_after: int | None = None
    """Reports of progress after which the run counts as cancelled."""
    forward: int = 0
    backward: int = 0
    warnings: list[str] = dataclasses.field(default_factory=list)
    reports: list[tuple[float, float, str]] = dataclasses.field(default_factory=list)
    batch_sizes: list[int] = dataclasses.field(default_factory=list)

    def torch_generator(self):
        import torch

        return torch.Generator().manual_seed(self.seed)

    def numpy_generator(self):
        return np.random.default_rng(self.seed)

    def progress(self, done, total, what):
        self.reports.append((done, total, what))
        if self.cancel_after is not None and len(self.reports) >= self.cancel_after:
            self.cancelled = True
        self.check_cancelled()

    def check_cancelled(self):
        if self.cancelled:
            raise Cancelled("cancelled")

    def warn(self, message):
        self.warnings.append(message)

    def count(self, forward=0, backward=0):
        self.forward += forward
        self.backward += backward

    def batches(self, items, size, work, what="", *, before=0, total=0):
        done = []
        for start in range(0, len(items), size):
            self.check_cancelled()
            done += list(work(items[start : start + size]))
            self.batch_sizes.append(len(items[start : start + size]))
            self.progress(before + len(done), total or len(items), what)
        return done


def sourced(found, explainer, seconds=0.5):
    """An explanation as a worker gives it, with its provenance."""
    request = Request(family="fakes", explainer=explainer, model=ModelRef(name="m"), input="0" * 64)
    source = Provenance(
        key="k", request=request, model_fingerprint="f", versions={}, device="cpu",
        dtype="float32", seconds=seconds, peak_memory_bytes=0, forward_passes=1,
        backward_passes=0, batch_size=None, warnings=(), created="",
    )  # fmt: skip
    return dataclasses.replace(found, provenance=source)


class Drawn:
    """A renderer that draws nothing."""

    def picture(self, explanation, format):
        return b"<svg/>" + format.encode()

    def formats(self):
        return {}

    def digest(self):
        return "one"
