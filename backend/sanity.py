"""Whether an explanation depends on what the model has learned, in numbers and a plain verdict.

Adebayo et al., "Sanity Checks for Saliency Maps", NeurIPS 2018. The model is re-initialised from
the output down, layer by layer, and explained again. An explainer that shows what the model learned
cannot go on giving the same ranking; one that does shows the input, as an edge detector would.

An explanation that changes is not thereby right: passing is necessary, not sufficient.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy.stats import t as student

from backend.agreement import agreement
from backend.bootstrap import Interval

Verdict = Literal["depends", "ignores", "unclear", "unknown"]

HALF = 0.5
"""Rank correlation with the trained model's explanation, half of what nothing learned may keep."""
FEWEST = 3
"""Re-initialisations without which there is no verdict."""


@dataclasses.dataclass(frozen=True, eq=False)
class Randomised:
    """Rank correlation of an explanation with those of ever more re-initialised models.

    Attributes:
        stages: S names; the first is the trained model, each other what is re-initialised besides.
        correlation: [draws, S] Spearman's rank correlation, 1 at the first stage; NaN where an
            explanation has no ranking, as where all scores are equal.
    """

    stages: tuple[str, ...]
    correlation: np.ndarray

    @property
    def means(self) -> tuple[Interval, ...]:
        """The mean over draws at each stage, with its 95 % interval (Student's t)."""
        return tuple(_mean(column) for column in self.correlation.T)

    @property
    def verdict(self) -> Verdict:
        """By the interval of the mean where everything is re-initialised.

        "depends": below HALF; "ignores": above; "unclear": HALF is inside; "unknown": fewer than
        FEWEST draws have a ranking.
        """
        last = self.means[-1]
        if last.n < FEWEST or last.low is None or last.high is None:
            return "unknown"
        if last.high < HALF:
            return "depends"
        return "ignores" if last.low >= HALF else "unclear"


def randomised(
    stages: Sequence[str], trained: np.ndarray, drawn: Sequence[Sequence[np.ndarray | None]]
) -> Randomised:
    """Compare a trained model's explanation with those of re-initialised ones.

    Args:
        stages: names of the S - 1 stages after the trained model, from the output down.
        trained: [N] scores.
        drawn: of each draw the S - 1 explanations [N]; None where there is none yet.

    Raises:
        ValueError: a draw has another number of explanations.
    """
    if any(len(row) != len(stages) for row in drawn):
        raise ValueError("a draw needs an explanation for each stage")
    found = np.full((len(drawn), len(stages) + 1), np.nan)
    found[:, 0] = 1.0
    for draw, row in enumerate(drawn):
        for stage, scores in enumerate(row, start=1):
            if scores is not None:
                found[draw, stage] = correlation(trained, scores)
    return Randomised(("trained", *stages), found)


def correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's rank correlation of two explanations [N]; NaN where one has no ranking."""
    compared = agreement(("first", "second"), (first, second))
    return float(compared.spearman[0, 1])


def _mean(values: np.ndarray) -> Interval:
    known = values[np.isfinite(values)]
    if not len(known):
        return Interval(None, None, None, 0)
    mean = float(known.mean())
    if len(known) < FEWEST:
        return Interval(mean, None, None, len(known))
    error = float(known.std(ddof=1)) / np.sqrt(len(known))
    half = float(student.ppf(0.975, len(known) - 1) * error)
    return Interval(mean, max(-1.0, mean - half), min(1.0, mean + half), len(known))
