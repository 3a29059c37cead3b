"""From the log-probabilities of one ranking's removals to its metrics, and from many to a mean."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from backend.bundle import Arrays
from backend.tokens import metrics
from backend.tokens.ablation import OPERATORS, Ablations, Operator, Ranking

SPREAD = (2.5, 97.5)
"""Percentiles over the draws between which a random ranking's metric lies."""


@dataclasses.dataclass(frozen=True, eq=False)
class Score:
    """What one ranking got."""

    metrics: dict[str, dict[str, float | None]]
    """operator -> metric -> value."""
    undefined: dict[str, str]
    """operator/metric -> why there is no value."""
    curves: Arrays
    """curve/<operator>/<order> and logprob/<operator>/<order>, [points]."""


def score(
    ranking: Ranking,
    ablations: Ablations,
    gold: frozenset[int],
    operators: tuple[Operator, ...] = OPERATORS,
) -> Score:
    """Measure one ranking whose removals have been computed.

    Args:
        gold: candidate indices of the planted evidence.
        operators: those by which they have been.
    """
    values: dict[str, dict[str, float | None]] = {}
    undefined: dict[str, str] = {}
    curves: Arrays = {}
    for operator in operators:
        logprobs = {
            "morf": _logprobs(ablations, operator, ranking.morf()),
            "lerf": _logprobs(ablations, operator, ranking.lerf()),
        }
        for name, curve in logprobs.items():
            curves[f"logprob/{operator}/{name}"] = curve
            curves[f"curve/{operator}/{name}"] = np.exp(curve / len(ablations.explained))
        found, reasons = _values(_measures(ranking, ablations, operator, logprobs, gold), ranking)
        values[operator] = found
        undefined |= {f"{operator}/{name}": reason for name, reason in reasons.items()}
    return Score(values, undefined, curves)


def single(scored: Score) -> tuple[Arrays, dict[str, Any]]:
    """Arrays and values of one attribution's score."""
    return scored.curves, {"metrics": scored.metrics, "undefined": scored.undefined, "spread": {}}


def summary(scored: list[Score]) -> tuple[Arrays, dict[str, Any]]:
    """Arrays and values of several rankings' scores: means, and the spread of each metric.

    A mean is over the draws in which the metric is defined; the reason of one where it isn't is
    kept, with how many there are.
    """
    arrays: Arrays = {}
    for name in scored[0].curves:
        draws = np.stack([one.curves[name] for one in scored])
        arrays[name] = draws.mean(axis=0)
        if name.startswith("curve/"):
            spread = np.percentile(draws, SPREAD, axis=0)
            arrays[name.replace("curve/", "spread/", 1)] = spread
    values: dict[str, Any] = {"metrics": {}, "undefined": {}, "spread": {}}
    for operator, names in scored[0].metrics.items():
        values["metrics"][operator], values["spread"][operator] = {}, {}
        for name in names:
            known = [v for one in scored if (v := one.metrics[operator][name]) is not None]
            values["metrics"][operator][name] = float(np.mean(known)) if known else None
            if known:
                low, high = np.percentile(known, SPREAD)
                values["spread"][operator][name] = [float(low), float(high)]
            place = f"{operator}/{name}"
            reasons = [one.undefined[place] for one in scored if place in one.undefined]
            if reasons:
                count = f"in {len(reasons)} of {len(scored)} draws: " if known else ""
                values["undefined"][place] = count + reasons[0]
    return arrays, values


def _logprobs(ablations: Ablations, operator: Operator, masks: list[np.ndarray]) -> np.ndarray:
    return np.array([ablations.logprob(operator, mask) for mask in masks])


def _values(
    measures: dict[str, Callable[[], float]], ranking: Ranking
) -> tuple[dict[str, float | None], dict[str, str]]:
    found: dict[str, float | None] = {}
    reasons: dict[str, str] = {}
    for name, measure in measures.items():
        try:
            if len(ranking.order) < 2:
                raise metrics.Undefined("the prompt has one token to rank, so there is no ranking")
            found[name] = measure()
        except metrics.Undefined as error:
            found[name], reasons[name] = None, str(error)
    return found, reasons


def _measures(
    ranking: Ranking,
    ablations: Ablations,
    operator: Operator,
    logprobs: dict[str, np.ndarray],
    gold: frozenset[int],
) -> dict[str, Callable[[], float]]:
    """Metric -> what computes it or raises Undefined."""
    fractions = ranking.counts / len(ranking.order)
    p = {name: np.exp(curve / len(ablations.explained)) for name, curve in logprobs.items()}

    def density() -> np.ndarray:
        return metrics.density(ranking.scores, ranking.order, ranking.counts)

    return {
        **_drops(ranking, ablations, operator, float(p["morf"][0])),
        "morf_auc": lambda: metrics.area(p["morf"], fractions),
        "lerf_auc": lambda: metrics.area(p["lerf"], fractions),
        "gap": lambda: metrics.area(p["lerf"] - p["morf"], fractions),
        "rise": lambda: metrics.rise(logprobs["morf"]),
        "mas": lambda: metrics.mas(logprobs["morf"], density()),
        "rise_ap": lambda: metrics.rise_ap(logprobs["morf"], density()),
        "recovery": lambda: metrics.recovery(ranking.order, gold),
        "mass_on_gold": lambda: metrics.mass_on_gold(ranking.scores, gold),
    }


def _drops(
    ranking: Ranking, ablations: Ablations, operator: Operator, full: float
) -> dict[str, Callable[[], float]]:
    """Comprehensiveness and sufficiency, at each level and their means."""
    names = ("comprehensiveness", "sufficiency")
    parts: dict[str, list[float]] = {name: [] for name in names}
    for masks in ranking.levels().values():
        for name, mask in zip(names, masks, strict=True):
            logprob = ablations.logprob(operator, mask)
            parts[name].append(float(np.exp(logprob / len(ablations.explained))))
    means = {name: _drop(full, parts[name]) for name in names}
    single_levels = {
        f"{name}@{k}": _drop(full, [part])
        for name in names
        for k, part in zip(metrics.LEVELS, parts[name], strict=True)
    }
    return {**means, **single_levels}


def _drop(full: float, parts: list[float]) -> Callable[[], float]:
    return lambda: metrics.mean_drop(full, parts)
