"""A family without torch: explainers that work, dawdle, fail, die or misbehave on demand."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from backend.bundle import Arrays, Bundle
from backend.errors import Cancelled, InputError
from backend.explainer import Explainer, Family, Preset
from backend.explanation import Explanation, Frozen


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class FakeInput(Bundle):
    text: str
    arrays: Arrays = dataclasses.field(default_factory=dict)

    def label(self):
        return self.text[:20]


class FakeTarget(Frozen):
    index: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class FakeExplanation(Explanation):
    pass


class Logged(Frozen):
    """`log`: a file that gets a line each time the explainer computes."""

    log: str = ""
    steps: int = 3
    pause: float = 0.0
    tag: str = ""


class Base(Explainer):
    family = "fakes"
    libraries = ("numpy",)
    Parameters = Logged

    def note(self, parameters, line="computed"):
        if parameters.log:
            with Path(parameters.log).open("a", encoding="utf-8") as file:
                file.write(f"{line} {parameters.tag or self.id}\n")


class Noise(Base):
    """Seeded random scores, with steps that take time."""

    id, title, uses_seed = "noise", "Noise", True

    def supports(self, config, input):
        return "Noise needs a model with layers." if not config.get("layers", 1) else None

    def explain(self, model, input, target, parameters, run):
        self.note(parameters)
        for step in range(parameters.steps):
            run.progress(step, parameters.steps, "dawdling")
            time.sleep(parameters.pause)
        run.count(forward=2, backward=1)
        scores = run.numpy_generator().normal(size=(4, 3)).T  # a Fortran-ordered view
        return FakeExplanation(
            arrays={"scores": scores},
            values={"text": input.text, "index": target.index, "seed": run.seed, "model": model},
        )


class Score(Noise):
    """About another explanation: the sum of its scores."""

    id, title, role = "score", "Score", "score"

    def explain(self, model, input, target, parameters, run):
        self.note(parameters)
        for step in range(parameters.steps):
            run.progress(step, parameters.steps, "dawdling")
            time.sleep(parameters.pause)
        total = float(run.subject.arrays["scores"].sum())
        return FakeExplanation(arrays={}, values={"sum": total})


class Preparing(Noise):
    id, title, role = "preparing", "Preparing", "preparation"


class Killed(Base):
    """Ends its own process, the first `steps` times when it has a log."""

    id, title = "killed", "Killed"

    def explain(self, model, input, target, parameters, run):
        self.note(parameters)
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGKILL)


class Stubborn(Base):
    """Hears no cancel, and talks all the time."""

    id, title = "stubborn", "Stubborn"

    def explain(self, model, input, target, parameters, run):
        self.note(parameters)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with contextlib.suppress(Cancelled):
                run.progress(1, 1, "still here")
            time.sleep(0.01)


class Batched(Base):
    """Memory for `steps` items at once."""

    id, title = "batched", "Batched"

    def explain(self, model, input, target, parameters, run):
        def work(part):
            if len(part) > parameters.steps:
                raise MemoryError
            self.note(parameters, str(len(part)))
            return [item * 2 for item in part]

        found = run.batches(range(20), 16, work, "doubling")
        return FakeExplanation(arrays={"scores": np.array(found)})


class Greedy(Base):
    """Takes `steps` GB at once."""

    id, title = "greedy", "Greedy"

    def explain(self, model, input, target, parameters, run):
        return FakeExplanation(arrays={"a": np.ones(parameters.steps * 10**9, np.uint8)[:8].copy()})


class Faulty(Base):
    id, title = "faulty", "Faulty"

    def explain(self, model, input, target, parameters, run):
        raise ValueError("the secret place /etc/hidden")


class Refusing(Base):
    id, title = "refusing", "Refusing"

    def supports(self, config, input):
        return f"Refusing refuses {config['architecture']} and '{input.text}'."

    def explain(self, model, input, target, parameters, run):
        raise AssertionError("never reached")


class Choosy(Base):
    id, title = "choosy", "Choosy"

    def explain(self, model, input, target, parameters, run):
        raise InputError("The answer has no tokens.", where="answer", todo="Type one.")


class Chatty(Base):
    """Writes to standard output by every road there is."""

    id, title = "chatty", "Chatty"

    def explain(self, model, input, target, parameters, run):
        print("not an answer")
        print('{"id": "forged", "end": "done"}', flush=True)
        os.system("echo from a child")  # noqa: S605
        os.write(1, b'{"id": half a line, before the answer')
        names = [m for m in ("torch", "pickle", "_pickle", "cloudpickle") if m in sys.modules]
        return FakeExplanation(arrays={}, values={"imported": names, "tty": os.isatty(1)})


def load(folder: Path, ref: Any, device: str) -> str:
    """The "adapter": what the weights file says."""
    return (folder / "model.safetensors").read_text(encoding="utf-8")


def convert(carrier: Path, folder: Path, progress: Any) -> None:
    """Copy the carrier; counts its calls beside it, takes a while, fails where it says so."""
    with carrier.with_name("converted.log").open("a", encoding="utf-8") as file:
        file.write("converted\n")
    (folder / "config.json").write_text('{"architecture": "fake"}', encoding="utf-8")
    time.sleep(0.3)
    if carrier.read_text(encoding="utf-8") == "broken":
        raise ValueError("cannot be converted")
    (folder / "model.safetensors").write_text(carrier.read_text(encoding="utf-8"))


def unsupported(config: dict[str, Any]) -> str | None:
    """Refuses one architecture by name."""
    return "Fakes serve no encoder." if config.get("architecture") == "encoder" else None


FAMILY = Family(
    id="fakes",
    title="Fakes",
    summary="For tests.",
    explainers=(Noise, Killed, Stubborn, Batched, Greedy, Faulty, Refusing, Choosy, Chatty),
    steps=(Preparing, Score),
    presets=(
        Preset(
            id="tiny",
            title="Tiny",
            package="vitrine_fake_carrier",
            file="weights.txt",
            distribution="vitrine-fake-carrier==1.0",
            licence="MIT",
        ),
    ),
    Input=FakeInput,
    Target=FakeTarget,
    Explanation=FakeExplanation,
    load=load,
    convert=convert,
    unsupported=unsupported,
)
