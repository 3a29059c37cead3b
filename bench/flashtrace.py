"""FlashTrace beside the authors' package and beside routes position by position.

One prompt of 10 tokens and an answer that grows; the bundled model; all in one process, round by
round, the fastest of the rounds: what else the machine does only ever adds time. At 512 tokens,
which the figures are of, there are MORE times as many rounds: with ten, a busy machine moved their
ratio by a tenth. Every round makes its own forward pass: the package with the model as transformers
loads it, ours through the adapter.

- `package_over_ours_512`: seconds of `flashtrace.FlashTrace.trace`, its defaults, over ours with
  the same variant and hops, 512 tokens of answer.
- `per_token_over_ours_512`: seconds of the package's routes position by position (`ifr-matrix`)
  over ours. `our_per_token_over_ours_512`: the same of our own exact explainer.
- `remembered_over_ours_512`: seconds of ours where the pass is remembered, over ours.
- `max_abs_difference`: between our scores and the package's defaults, over all lengths.

Run with: python -m bench.flashtrace [--json] [--repeats N] [--threads N] [--lengths 64,128,...]
Needs requirements-dev.txt.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bench.contribution_weights import PRESET, BareRun, load, seconds
from bench.report import arguments, report

if TYPE_CHECKING:
    import numpy as np

    from backend.tokens.models import DecoderModel

PROMPT = "The old mill stands by the river, they say"
SENTENCE = " The river runs by the old mill and the wind is cold today, but warm in May."
LENGTHS = (64, 128, 256, 512, 1024)
AT = 512
MORE = 4
SLOWEST = 512
"""Longest answer whose positions are traced one by one."""
NAMES = ("ours", "ours, remembered", "package", "package, per token", "ours, per token")


def texts(model: DecoderModel, length: int) -> tuple[str, list[int]]:
    """An answer of `length` tokens with its end token: as text, and as the package encodes it."""
    encode = model.tokenizer
    ids = encode(SENTENCE * length, add_special_tokens=False)["input_ids"][: length - 1]
    text: str = encode.decode(ids)
    again = encode(text + encode.eos_token, add_special_tokens=False)["input_ids"]
    if len(again) != length:
        raise ValueError("the answer does not keep its tokens")
    return text, again


def peer() -> Any:
    """The same weights as the package itself loads them."""
    from flashtrace import load_model_and_tokenizer

    from backend.explanation import ModelRef
    from backend.models import fetch
    from backend.settings import settings
    from backend.tokens import FAMILY

    folder = fetch(ModelRef(name=PRESET), FAMILY, settings(), lambda *_: None)
    chosen = {"device_map": "cpu", "dtype": "float32", "attn_implementation": "eager"}
    return load_model_and_tokenizer(str(folder), trust_remote_code=False, **chosen)[0]


def works(
    model: DecoderModel, plain: Any, length: int, found: dict[str, np.ndarray]
) -> dict[str, Callable[[], Any]]:
    """What is timed; scores go to `found`."""
    import flashtrace

    from backend.tokens.explanation import Prompt, Target
    from backend.tokens.flashtrace import FlashTrace
    from backend.tokens.ifr import InformationFlowRoutes

    text, ids = texts(model, length)
    given = (Prompt.of(PROMPT), Target(ids=tuple(ids)))

    def ours(cls: Any, *, remembered: bool = False, **chosen: Any) -> None:
        if not remembered:
            model.kept.passes.clear()
        explainer = cls()
        one = explainer.explain(model, *given, cls.Parameters(**chosen), BareRun())
        found[f"our {cls.id}"] = one.arrays["scores"][: one.sequence.prompt_length]

    def package(method: str) -> None:
        with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tracer = flashtrace.FlashTrace(plain, model.tokenizer)
            found[method] = tracer.trace(prompt=PROMPT, target=text, method=method).scores

    chosen: dict[str, Any] = {"variant": "package", "reasoning": "none"}
    return {
        "ours": lambda: ours(FlashTrace, **chosen),
        "ours, remembered": lambda: ours(FlashTrace, remembered=True, **chosen),
        "package": lambda: package("flashtrace"),
        "package, per token": lambda: package("ifr-matrix"),
        "ours, per token": lambda: ours(InformationFlowRoutes),
    }


def timings(
    model: DecoderModel, plain: Any, length: int, repeats: int, found: dict[str, np.ndarray]
) -> dict[str, float]:
    """Fewest seconds of each over the rounds; what is slow is timed once."""
    times: dict[str, float] = {}
    for turn in range(repeats):
        for name, work in works(model, plain, length, found).items():
            slow = "per token" in name
            if slow and (length > SLOWEST or turn):
                continue
            times[name] = min(seconds(work), times.get(name, float("inf")))
    return times


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--repeats", type=int, default=10, help="rounds of what is fast")
    parser.add_argument("--threads", type=int, help="CPU threads; default: torch's own choice")
    parser.add_argument("--lengths", default=",".join(map(str, LENGTHS)), help="answer tokens")
    chosen = parser.parse_args()
    import numpy as np
    import torch

    if chosen.threads:
        torch.set_num_threads(chosen.threads)
    model, plain = load(), peer()
    timings(model, plain, 32, 1, {})  # libraries load and buffers are made once
    rows, figures, difference = [], dict[str, float](), 0.0
    for length in map(int, chosen.lengths.split(",")):
        found: dict[str, np.ndarray] = {}
        rounds = chosen.repeats * (MORE if length == AT else 1)
        times = timings(model, plain, length, rounds, found)
        apart = np.abs(np.asarray(found["our flashtrace"]) - np.asarray(found["flashtrace"]))
        difference = max(difference, float(apart.max()))
        rows.append((length, *(times.get(name, "-") for name in NAMES)))
        if length == AT:
            ours = times["ours"]
            figures["package_over_ours_512"] = times["package"] / ours
            figures["per_token_over_ours_512"] = times["package, per token"] / ours
            figures["remembered_over_ours_512"] = times["ours, remembered"] / ours
            figures["our_per_token_over_ours_512"] = times["ours, per token"] / ours
    figures["max_abs_difference"] = difference
    headings = ("answer tokens", *(f"{name}, s" for name in NAMES))
    libraries = ("torch", "transformers", "flashtrace")
    report(headings, rows, figures, as_json=chosen.json, libraries=libraries)


if __name__ == "__main__":
    main()
