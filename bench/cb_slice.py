"""What CB-SLICE costs, and how low its loss comes.

- `seconds_10k_112`: the whole explainer (influence of the concepts, three fits of 10 slices,
  keywords) on 10,000 samples, 2,000 of them errors, and 112 concepts; the median.
- `seconds_10k_112_all_errors`: the same with every sample an error.
- `peak_gib`: the higher peak of resident memory of the two, each a whole process of its own.
- `objective_over_reference`: the loss over the loss of the published recipe (`cb_slice_reference`)
  from the same errors, lambda 10; at most 1 is no worse.

Beside it scikit-learn's k-means and Gaussian mixture on the same errors, and growth with samples
and concepts. `found` is the adjusted Rand index with the planted groups.

Run with: python -m bench.cb_slice [--json] [--repeats N]
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from backend.concepts.cb_slice import CBSlice
from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget
from backend.concepts.mixture import Concepts, objective
from backend.concepts.mixture_fit import Settings, fit
from bench import cb_slice_reference as reference
from bench.report import arguments, report

Row = tuple[str, float, float, float]
SAMPLES, CONCEPTS, ERRORS, SLICES, GROUPS = 10_000, 112, 2_000, 10, 8


class BareRun:
    """A run outside the engine: nothing is reported, nothing cancels it."""

    device, dtype, seed, subject = "cpu", "float32", 0, None

    def numpy_generator(self) -> np.random.Generator:
        """Always the same."""
        return np.random.default_rng(self.seed)

    def progress(self, done: float, total: float, what: str) -> None:
        """Ignore it."""


def table(n: int, k: int, errors: int, seed: int = 0) -> ConceptTable:
    """Samples of planted groups, each with concepts of its own that fail, and a linear head."""
    rng = np.random.default_rng(seed)
    member = rng.integers(0, GROUPS, n)
    typical, fails = rng.integers(0, 2, (GROUPS, k)), rng.random((GROUPS, k)) < 0.1
    concepts = np.where(rng.random((n, k)) < 0.1, 1 - typical[member], typical[member])
    said = np.where(fails[member], 1 - concepts, concepts)
    logits = (2 * said - 1) * rng.gamma(3, 1.5, (n, k)) + rng.normal(size=(n, k))
    weight = rng.normal(size=(1, k))
    z = (logits > 0) @ weight[0]
    predictions = (z > np.median(z)).astype(np.int32)
    labels = predictions.copy()
    wrong = rng.permutation(n)[:errors]
    labels[wrong] = 1 - labels[wrong]
    return ConceptTable(
        arrays={
            "logits": logits.astype(np.float32),
            "concepts": concepts.astype(np.int8),
            "labels": labels,
            "predictions": predictions,
            "groups": member.astype(np.int32),
            "head/0/weight": weight.astype(np.float32),
            "head/0/bias": np.array([-np.median(z)], dtype=np.float32),
        }
    )


def explain(given: ConceptTable) -> ConceptExplanation:
    """CB-SLICE with 10 slices, everything else as it comes."""
    method = CBSlice()
    chosen = method.Parameters(slices=SLICES)
    return method.explain(None, given, ConceptTarget(), chosen, BareRun())  # type: ignore[arg-type]


def seconds(repeats: int, work: Callable[..., Any], *given: Any) -> tuple[float, float]:
    """Median seconds of a call, by the clock and of the processor."""
    clock, processor = [], []
    for _ in range(repeats):
        start = time.perf_counter(), time.process_time()
        work(*given)
        clock.append(time.perf_counter() - start[0])
        processor.append(time.process_time() - start[1])
    return median(clock), median(processor)


def peak(errors: int) -> float:
    """GiB of a new process that explains a table with so many errors."""
    command = [sys.executable, "-m", "bench.cb_slice", "--peak", str(errors)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return float(done.stdout.split()[-1])


def others(given: ConceptTable, kept: np.ndarray, repeats: int) -> list[Row]:
    """k-means and a Gaussian mixture by EM on the kept logits of the errors."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_rand_score
    from sklearn.mixture import GaussianMixture

    warnings.filterwarnings("ignore", category=UserWarning)
    x = given.arrays["logits"][given.errors][:, kept].astype(np.float64)
    member = given.arrays["groups"][given.errors]
    rows = []
    for name, model in (
        ("scikit-learn KMeans, 10 starts", KMeans(SLICES, n_init=10, random_state=0)),
        (
            "scikit-learn GaussianMixture, diagonal",
            GaussianMixture(SLICES, covariance_type="diag", random_state=0),
        ),
    ):
        rows.append((
            name,
            *seconds(repeats, model.fit, x),
            float(adjusted_rand_score(member, model.predict(x))),
        ))  # fmt: skip
    return rows


def found(given: ConceptTable, explanation: ConceptExplanation) -> float:
    """Adjusted Rand index of slices and planted groups."""
    from sklearn.metrics import adjusted_rand_score

    member = given.arrays["groups"][given.errors]
    return float(adjusted_rand_score(member, explanation.arrays["slices"]))


def losses(weight: float) -> tuple[float, float]:
    """L of ours and of the published recipe on 200 errors of 10 concepts."""
    given = table(1000, 10, 200)
    rows = given.errors
    logits = given.arrays["logits"][rows].astype(np.float64)
    true = given.arrays["concepts"][rows].astype(np.float64)
    data = Concepts(logits, true, (logits > 0).astype(np.float64))
    labels = given.arrays["labels"][rows]
    ours = fit(data, labels, Settings(SLICES, weight), np.random.default_rng(0)).objective
    theirs = reference.fit(data, labels, SLICES, weight, seed=0)
    return ours, objective(theirs, data, weight)


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--repeats", type=int, default=3, help="timed calls")
    parser.add_argument("--peak", type=int, help="explain so many errors and print the peak, GiB")
    chosen = parser.parse_args()
    if chosen.peak:
        explain(table(SAMPLES, CONCEPTS, chosen.peak))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
        return
    explain(table(500, 10, 100))  # imports
    repeats = chosen.repeats
    rows: list[Row] = []
    for n, k, errors in (
        (SAMPLES, CONCEPTS, ERRORS),
        (SAMPLES, CONCEPTS, SAMPLES),
        *((n, CONCEPTS, n) for n in (1_000, 3_000)),
        *((SAMPLES, k, ERRORS) for k in (28, 56, 224)),
    ):
        given = table(n, k, errors)
        told = found(given, explain(given))
        spent = seconds(repeats, explain, given)
        rows.append((f"CB-SLICE, {errors} errors of {n}, {k} concepts", *spent, told))
    given = table(SAMPLES, CONCEPTS, ERRORS)
    rows[1:1] = others(given, explain(given).arrays["kept"], repeats)
    ours, theirs = losses(10.0)
    figures = {
        "seconds_10k_112": rows[0][1],
        "seconds_10k_112_all_errors": rows[3][1],
        "peak_gib": max(peak(ERRORS), peak(SAMPLES)),
        "objective_over_reference": ours / theirs,
    }
    libraries = ("numpy", "scipy", "scikit-learn", "torch")
    headings = ("what", "seconds", "of the processor", "found")
    report(headings, rows, figures, as_json=chosen.json, libraries=libraries)


if __name__ == "__main__":
    main()
