"""Faithfulness metrics of a token ranking: curves in, numbers out; no model, no torch.

A ranking is tested by removing tokens. With n candidate tokens, s(R) is the summed log-probability
of the explained answer tokens after removing the set R, and p(R) = exp(s(R) / S) their
geometric-mean probability (S explained tokens). MoRF removes the most relevant tokens first, LeRF
the least relevant first.

- DeYoung et al., "ERASER: A Benchmark to Evaluate Rationalized NLP Models", ACL 2020:
  comprehensiveness and sufficiency, averaged over 1, 5, 10, 20 and 50 % of the tokens.
- Samek et al., "Evaluating the Visualization of What a Deep Neural Network Has Learned", TNNLS
  2017: MoRF and LeRF curves and the area between them.
- Pan et al., "Towards Long-Horizon Interpretability", ICML 2026: RISE, MAS and recovery, as their
  published evaluation computes them. This RISE is a deletion score; it is not the explainer of the
  same name (Petsiuk et al., BMVC 2018), whose deletion metric it resembles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from backend.metric import Metric

RankBy = Literal["signed", "absolute"]

LEVELS = (1, 5, 10, 20, 50)
"""Percentages of the tokens that comprehensiveness and sufficiency average over."""

RECOVERY_SHARE = 10
"""Percentage of the tokens in which `recovery` looks for the planted evidence."""

NOT_FINITE = "the model gave no finite probability with some tokens removed"

SMALLEST_DROP = 1e-6
"""Log-prob change below which a curve cannot be put on a scale from 1 to 0."""


METRICS: tuple[Metric, ...] = (
    Metric(
        "comprehensiveness",
        "Comprehensiveness",
        True,
        "How far the answer's per-token probability falls when the top tokens are removed: "
        "p(all) - p(without the top k %), mean over k = 1, 5, 10, 20, 50. At least one token is "
        "removed. Negative: removing them made the answer likelier.",
    ),
    Metric(
        "sufficiency",
        "Sufficiency",
        False,
        "How far the answer's per-token probability falls when only the top tokens are kept: "
        "p(all) - p(only the top k %), mean over k = 1, 5, 10, 20, 50. Near zero: they suffice.",
    ),
    Metric(
        "morf_auc",
        "MoRF area",
        False,
        "Area under the answer's per-token probability while the most relevant tokens go first. "
        "Small: the first tokens to go were the ones that mattered.",
    ),
    Metric(
        "lerf_auc",
        "LeRF area",
        True,
        "Area under the answer's per-token probability while the least relevant tokens go first. "
        "Large: what went first was not needed.",
    ),
    Metric(
        "gap",
        "LeRF - MoRF",
        True,
        "Area between the two removal curves. Zero is what a random ranking gives; negative is "
        "a ranking upside down.",
    ),
    Metric(
        "rise",
        "RISE",
        False,
        "Area under the answer's log-probability, scaled from 1 (nothing removed) to 0 (all "
        "removed) and never rising, while the most relevant tokens go first. A deletion score of "
        "the FlashTrace evaluation, not the RISE explainer.",
    ),
    Metric(
        "mas",
        "MAS",
        False,
        "RISE plus a penalty where the fall of the curve and the share of the score removed so "
        "far differ: the sizes of the scores are tested too, not their order alone.",
    ),
    Metric(
        "rise_ap",
        "RISE + AP",
        False,
        "RISE plus the mean difference between curve and score share, neither clipped nor "
        "rescaled; may pass 1.",
    ),
    Metric(
        "recovery",
        "Recovery",
        True,
        "Share of the planted evidence tokens found among the top 10 % of the tokens. Evidence "
        "longer than that can't be recovered whole.",
    ),
    Metric(
        "mass_on_gold",
        "Mass on evidence",
        True,
        "Share of the positive score that lies on the planted evidence.",
    ),
)

DETAILS: tuple[Metric, ...] = tuple(
    Metric(f"{name}@{k}", f"{title} at {k} %", higher, f"{title} with k = {k} alone.")
    for name, title, higher in (
        ("comprehensiveness", "Comprehensiveness", True),
        ("sufficiency", "Sufficiency", False),
    )
    for k in LEVELS
)


class Undefined(ValueError):
    """A metric has no value here; the text says why."""


def usable(scores: np.ndarray, rank_by: RankBy) -> np.ndarray:
    """Scores [n] in float64 as they are ranked and weighed: NaN where not finite."""
    clean = np.where(np.isfinite(scores), scores, np.nan).astype(np.float64)
    return np.abs(clean) if rank_by == "absolute" else clean


def ranking(scores: np.ndarray) -> np.ndarray:
    """Indices [n] from the most to the least relevant.

    Equal scores keep their order in the text, and a token without a score (NaN) comes last.
    """
    return np.argsort(np.where(np.isnan(scores), np.inf, -scores), kind="stable")


def level_count(n: int, percent: int) -> int:
    """How many of n tokens `percent` is: rounded up, at least one."""
    return max(1, -(-n * percent // 100))


def group_counts(n: int, groups: int) -> np.ndarray:
    """Tokens removed at each point of a curve, [points] from 0 to n.

    The n tokens go in min(groups, n) groups whose sizes differ by at most one, larger ones first.
    """
    steps = min(groups, n)
    sizes = np.full(steps, n // steps)
    sizes[: n % steps] += 1
    return np.concatenate([[0], np.cumsum(sizes)])


def mean_drop(full: float, parts: Sequence[float]) -> float:
    """Mean over the parts of p(full) - p(part).

    Raises:
        Undefined: a probability is not finite.
    """
    if not np.isfinite([full, *parts]).all():
        raise Undefined(NOT_FINITE)
    return float(np.mean([full - part for part in parts]))


def area(values: np.ndarray, fractions: np.ndarray | None = None) -> float:
    """Trapezoid area of a curve [points] over [0, 1]; points evenly spaced unless given.

    Raises:
        Undefined: a value is not finite.
    """
    if not np.isfinite(values).all():
        raise Undefined(NOT_FINITE)
    x = np.linspace(0.0, 1.0, len(values)) if fractions is None else fractions
    return float(np.trapezoid(values, x))


def response(logprobs: np.ndarray) -> np.ndarray:
    """The curve of RISE: y_i = clip((s_i - s_end) / (s_0 - s_end), 0, 1), then its running minimum.

    Args:
        logprobs: s, [points], from nothing removed to everything removed.

    Raises:
        Undefined: removing everything did not lower the log-probability. (The published code
            divides by |s_0 - s_end|, which calls a rise of any size a perfect score.)
    """
    if not np.isfinite(logprobs).all():
        raise Undefined(NOT_FINITE)
    drop = logprobs[0] - logprobs[-1]
    if drop < SMALLEST_DROP:
        raise Undefined(
            "removing every token does not make the answer less likely "
            f"(log-probability {logprobs[0]:.4g} before, {logprobs[-1]:.4g} after)"
        )
    return np.minimum.accumulate(np.clip((logprobs - logprobs[-1]) / drop, 0.0, 1.0))


def density(scores: np.ndarray, order: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Share of the score still there at each point of the MoRF curve, [points] from 1 to 0.

    Raises:
        Undefined: the scores do not sum to more than zero, so that they have no shares.
    """
    mass = np.nan_to_num(scores)[order]
    total = mass.sum()
    if not total > 0:
        raise Undefined("the scores of the prompt do not sum to more than zero")
    removed = np.concatenate([[0.0], np.cumsum(mass)])
    remaining: np.ndarray = 1.0 - removed[counts] / total
    return remaining


def rise(logprobs: np.ndarray) -> float:
    """Area under `response`.

    Raises:
        Undefined: see `response`.
    """
    return area(response(logprobs))


def mas(logprobs: np.ndarray, remaining: np.ndarray) -> float:
    """Area under q = clip(y + |y - density|, 0, 1), rescaled to reach from 0 to 1.

    Args:
        logprobs: s, [points].
        remaining: `density`, [points].

    Raises:
        Undefined: see `response`.
    """
    y = response(logprobs)
    q = np.clip(y + np.abs(y - remaining), 0.0, 1.0)
    return area((q - q.min()) / (q.max() - q.min()))


def rise_ap(logprobs: np.ndarray, remaining: np.ndarray) -> float:
    """Area under y + |y - density|; see `mas`.

    Raises:
        Undefined: see `response`.
    """
    y = response(logprobs)
    return area(y + np.abs(y - remaining))


def recovery(order: np.ndarray, gold: frozenset[int]) -> float:
    """Share of the gold indices among the first 10 % of `order`.

    Raises:
        Undefined: no gold.
    """
    if not gold:
        raise Undefined("no planted evidence in this input")
    top = order[: level_count(len(order), RECOVERY_SHARE)]
    return len(gold.intersection(top.tolist())) / len(gold)


def mass_on_gold(scores: np.ndarray, gold: frozenset[int]) -> float:
    """Share of the positive scores that lies on the gold indices.

    Raises:
        Undefined: no gold, or no positive score.
    """
    if not gold:
        raise Undefined("no planted evidence in this input")
    positive = np.clip(np.nan_to_num(scores), 0.0, None)
    if positive.sum() <= 0:
        raise Undefined("no token has a positive score")
    return float(positive[sorted(gold)].sum() / positive.sum())
