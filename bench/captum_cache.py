"""How far captum's default is from a removal computed plainly, and how far leave-one-out is.

`LLMAttribution.attribute` keeps a key-value cache by default and, on transformers 5, feeds the
whole sequence again on top of it from the second answer token on. The peer here is a loop that
replaces one token at a time and runs the whole sequence without a cache. Figures: the largest
difference in nats of captum's default (`captum_default_error`), of captum without its cache
(`captum_uncached_error`) and of leave-one-out (`leave_one_out_error`), beside the largest score
(`largest_score`), and seconds of each over the loop's.

Run with: python -m bench.captum_cache [--json] [--tokens N]
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from backend import models
from backend.explanation import ModelRef
from backend.settings import settings
from backend.tokens import FAMILY
from backend.tokens.explanation import Prompt, Target
from backend.tokens.objective import Objective
from bench.report import arguments, report

TEXT = "The capital of France is Paris. The capital of Italy is"


class Quiet:
    """A run that neither reports nor stops."""

    def count(self, **_: int) -> None:
        """Count nothing."""

    def batches(
        self,
        items: list[Any],
        size: int,
        work: Callable[[list[Any]], list[Any]],
        *_: Any,
        **__: Any,
    ) -> list[Any]:
        """Apply `work` to slices of the items."""
        return [r for i in range(0, len(items), size) for r in work(items[i : i + size])]

    def progress(self, *_: Any) -> None:
        """Say nothing."""

    def check_cancelled(self) -> None:
        """Go on."""


def loop(model: Any, ids: list[int], prompt: int) -> np.ndarray:
    """Drop of the answer's log-probability for each prompt token, one whole pass each."""

    def answer(sequence: list[int]) -> float:
        with torch.no_grad():
            logits = model.hf(torch.tensor([sequence], device=model.device), use_cache=False).logits
        logprobs = logits[0].double().log_softmax(-1)
        return sum(float(logprobs[p - 1, ids[p]]) for p in range(prompt, len(ids)))

    full = answer(ids)
    return np.array(
        [full - answer([*ids[:j], model.neutral_id, *ids[j + 1 :]]) for j in range(prompt)]
    )


def captum(model: Any, text: str, answer: list[int], **options: bool) -> np.ndarray:
    """captum's feature ablation of the same tokens for the same answer."""
    from captum.attr import FeatureAblation, LLMAttribution, TextTokenInput

    inputs = TextTokenInput(text, model.tokenizer, baselines=model.neutral_id)
    method = LLMAttribution(FeatureAblation(model.hf), model.tokenizer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = method.attribute(inputs, target=torch.tensor(answer), **options)
    scores: np.ndarray = found.seq_attr.cpu().numpy()
    return scores


def timed(work: Callable[[], np.ndarray]) -> tuple[np.ndarray, float]:
    """What it returns, and the seconds it took."""
    started = time.perf_counter()
    return work(), time.perf_counter() - started


def main() -> None:
    """Compute each once, then print."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--tokens", type=int, default=6, help="length of the answer")
    chosen = parser.parse_args()
    ref = ModelRef(name=FAMILY.presets[0].id)
    folder = models.fetch(ref, FAMILY, settings(), lambda *_: None)
    model, run, prompt = FAMILY.load(folder, ref, "cpu"), Quiet(), Prompt.of(TEXT)
    answer = list(model.generate(model.encode(prompt), chosen.tokens, run))
    objective = Objective(model, prompt, Target(ids=tuple(answer)), run)  # type: ignore[arg-type]
    length = len(objective.context)

    def own() -> np.ndarray:
        drops = objective.drops(objective.groups("token"), "neutral", "")
        scores: np.ndarray = drops.by_answer.sum(axis=0)[:length]
        return scores

    ways: dict[str, Callable[[], np.ndarray]] = {
        "leave_one_out": own,
        "captum_uncached": lambda: captum(model, TEXT, answer, use_cached_outputs=False),
        "captum_default": lambda: captum(model, TEXT, answer),
    }
    peer, seconds = timed(lambda: loop(model, list(objective.ids), length))
    rows: list[list[object]] = [["loop", 0.0, seconds, 1.0]]
    figures = {"largest_score": float(np.abs(peer).max())}
    for name, way in ways.items():
        scores, took = timed(way)
        error = float(np.abs(scores - peer).max())
        rows.append([name, error, took, took / seconds])
        figures |= {f"{name}_error": error, f"{name}_over_loop": took / seconds}
    report(
        ("method", "largest difference (nats)", "seconds", "over the loop"),
        rows,
        figures,
        as_json=chosen.json,
        libraries=("torch", "transformers", "captum"),
    )


if __name__ == "__main__":
    main()
