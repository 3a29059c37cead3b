"""What Contribution Weights cost beside a plain forward pass: seconds and peak memory.

- `cw_over_forward_512`: (explanation - pass) / pass in seconds, 512 tokens, every layer, head and
  query row kept. Pairs are timed one after the other in one process; the median of the pairs.
- `span_peak_over_forward_2048`: peak resident memory of explaining 8 answer tokens after 2,040,
  over that of the pass, each above the loaded model and each in a process of its own; the median.

The plain pass is `model(input_ids)` of transformers alone, with its default (sdpa) attention and
all logits; the explanation has Vitrine's faster matrix products (`bench.products`).

Run with: python -m bench.contribution_weights [--json] [--repeats N] [--threads N]
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from bench.report import arguments, report

if TYPE_CHECKING:
    from backend.tokens.models import DecoderModel

SENTENCE = "The river runs by the old mill and the wind is cold today. "
SHORT, LONG, SPAN = 512, 2048, 8
PRESET = "smollm2-135m-instruct"


class BareRun:
    """A run outside the engine: nothing is reported, nothing cancels it."""

    device, dtype, seed, subject = "cpu", "float32", 0, None

    def progress(self, done: float, total: float, what: str) -> None:
        """Ignore it."""

    def check_cancelled(self) -> None:
        """Never cancelled."""

    def count(self, forward: int = 0, backward: int = 0) -> None:
        """Ignore it."""


def load() -> DecoderModel:
    """The bundled model from the store, converted the first time."""
    from backend.explanation import ModelRef
    from backend.models import fetch
    from backend.settings import settings
    from backend.tokens import FAMILY, models

    ref = ModelRef(name=PRESET)
    return models.load(fetch(ref, FAMILY, settings(), lambda *_: None), ref, "cpu")


def plain_model() -> Any:
    """The same weights as transformers alone loads and runs them."""
    from transformers import AutoModelForCausalLM

    from backend.explanation import ModelRef
    from backend.models import fetch
    from backend.settings import settings
    from backend.tokens import FAMILY

    folder = fetch(ModelRef(name=PRESET), FAMILY, settings(), lambda *_: None)
    return AutoModelForCausalLM.from_pretrained(folder, local_files_only=True).float().eval()


def works(
    model: DecoderModel, reference: Any, length: int, answer: int
) -> dict[str, Callable[[], Any]]:
    """The plain pass and the explanation of one text of `length` tokens with its answer."""
    import torch

    from backend.tokens.contribution_weights import ContributionWeights
    from backend.tokens.explanation import Prompt, Target

    ids = model.tokenizer(SENTENCE * length, truncation=True, max_length=length)["input_ids"]
    prompt = Prompt.of(model.tokenizer.decode(ids[:-answer]))
    target = Target(ids=tuple(ids[-answer:]))
    read = model.encode(prompt, target.ids or ()).ids
    if list(read) != ids:
        raise ValueError("the text does not keep its tokens")
    method = ContributionWeights()

    def plain() -> None:
        with torch.no_grad():
            reference(torch.tensor([ids]))

    def explain(keep: str) -> None:
        chosen = method.Parameters.model_validate({"matrices": keep})
        method.explain(model, prompt, target, chosen, BareRun())  # type: ignore[arg-type]

    return {"pass": plain, "all": lambda: explain("all"), "span": lambda: explain("auto")}


def seconds(work: Callable[[], Any]) -> float:
    """Wall-clock seconds of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def timings(repeats: int) -> tuple[list[float], list[float], list[float]]:
    """Seconds of the pass, the explanation and its arithmetic alone, pair by pair."""
    from backend.tokens import flow

    model = load()
    work = works(model, plain_model(), SHORT, 1)
    spent: list[float] = []
    each = flow.Flow.each

    def timed(self: flow.Flow, parts: Any) -> None:
        spent[-1] += seconds(lambda: each(self, parts))

    passes, explanations = [], []
    work["pass"]()
    work["all"]()
    flow.Flow.each = timed  # type: ignore[method-assign]
    for _ in range(repeats):
        spent.append(0.0)
        passes.append(seconds(work["pass"]))
        explanations.append(seconds(work["all"]))
    return passes, explanations, spent


def peak(what: str) -> int:
    """Bytes by which the peak of resident memory rises above the loaded model."""
    model = load()
    reference = plain_model() if what == "pass" else None
    work = works(model, reference, LONG, SPAN)[what]
    # Libraries allocate work space once, at the first call: it is no cost of this one.
    works(model, reference, 64, 1)[what]()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets the peak
    before = _status("VmRSS")
    work()
    return _status("VmHWM") - before


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    raise OSError(f"no {name} in /proc/self/status")


def peaks(repeats: int, threads: int | None) -> tuple[list[int], list[int]]:
    """Peak bytes of the pass and of the span's explanation, a new process each."""
    found: dict[str, list[int]] = {"pass": [], "span": []}
    flag = [] if threads is None else ["--threads", str(threads)]
    command = [sys.executable, "-m", "bench.contribution_weights", *flag, "--peak"]
    for _ in range(repeats):
        for what, values in found.items():
            done = subprocess.run([*command, what], capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(done.stderr)
            values.append(int(done.stdout.split()[-1]))
    return found["pass"], found["span"]


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--repeats", type=int, default=7, help="timed pairs")
    parser.add_argument("--threads", type=int, help="CPU threads; default: torch's own choice")
    parser.add_argument("--peak", choices=["pass", "span"], help="measure one peak and print it")
    chosen = parser.parse_args()
    import torch

    if chosen.threads:
        torch.set_num_threads(chosen.threads)
    if chosen.peak:
        print(peak(chosen.peak))
        return
    passes, explanations, arithmetic = timings(chosen.repeats)
    forward, span = peaks(max(1, chosen.repeats // 3), chosen.threads)
    over = [(b - a) / a for a, b in zip(passes, explanations, strict=True)]
    share = [b / a for a, b in zip(passes, arithmetic, strict=True)]
    figures = {
        "cw_over_forward_512": median(over),
        "span_peak_over_forward_2048": median(b / a for a, b in zip(forward, span, strict=True)),
        "cw_arithmetic_over_forward_512": median(share),
    }
    rows = [
        ("plain pass, 512 tokens", median(passes), "s"),
        ("all contributions, 512 tokens", median(explanations), "s"),
        ("of these: the method's own arithmetic", median(arithmetic), "s"),
        ("plain pass, 2048 tokens, peak", median(forward) / 2**20, "MiB"),
        ("span of 8 tokens, 2048 tokens, peak", median(span) / 2**20, "MiB"),
        ("torch threads", torch.get_num_threads(), ""),
    ]
    libraries = ("torch", "transformers")
    report(("what", "median", "unit"), rows, figures, as_json=chosen.json, libraries=libraries)


if __name__ == "__main__":
    main()
