"""Scores of slicings over several seeds: one row a method, and where a control is ahead.

Each seed trains its own model, and every method gets that model's errors, so that methods are
compared seed by seed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from backend.bootstrap import Interval, interval, paired
from backend.concepts.slice_metrics import CONTROLS, METRICS, SATURATED

METHOD = "cb_slice"
"""The method the others are controls of."""


@dataclasses.dataclass(frozen=True)
class Row:
    """One method: the mean of each metric over the seeds that have it, with its interval."""

    explainer: str
    metrics: dict[str, float | None]
    intervals: dict[str, tuple[float, float]]
    """Metric -> ends of the 95 % interval of the mean; none for fewer than two seeds."""
    by_seed: dict[str, dict[int, float]]
    """Metric -> seed -> value."""
    undefined: dict[str, str]
    seconds: float | None


def rows(found: Mapping[str, Mapping[int, Mapping[str, Any]]]) -> list[Row]:
    """The table.

    Args:
        found: explainer -> seed -> `values` of its score (step `slice_score`).
    """
    return [_row(name, by_seed) for name, by_seed in found.items()]


def _row(name: str, found: Mapping[int, Mapping[str, Any]]) -> Row:
    means: dict[str, float | None] = {}
    intervals: dict[str, tuple[float, float]] = {}
    by_seed: dict[str, dict[int, float]] = {}
    for metric in METRICS:
        known = {s: v["metrics"][metric.id] for s, v in found.items()}
        by_seed[metric.id] = {s: float(x) for s, x in known.items() if x is not None}
        over = interval(list(by_seed[metric.id].values()))
        means[metric.id] = over.mean
        if over.low is not None and over.high is not None:
            intervals[metric.id] = (over.low, over.high)
    undefined: dict[str, str] = {}
    for values in found.values():
        undefined |= {k: v for k, v in values["undefined"].items() if means.get(k) is None}
    seconds = [values["seconds"] for values in found.values() if values.get("seconds") is not None]
    mean_seconds = sum(seconds) / len(seconds) if seconds else None
    return Row(name, means, intervals, by_seed, undefined, mean_seconds)


def remarks(table: Sequence[Row], titles: Mapping[str, str]) -> list[str]:
    """Sentences on where a control is ahead of `METHOD`, and on numbers that tell nothing apart.

    Args:
        titles: explainer -> its name for people.
    """
    ours = next((row for row in table if row.explainer == METHOD), None)
    found = [] if ours is None else _ahead(ours, table, titles)
    random = next((row for row in table if row.explainer == "random"), None)
    saturated = [
        titles.get(row.explainer, row.explainer)
        for row in table
        if row.explainer in CONTROLS and (row.metrics["precision_at_10"] or 0.0) >= SATURATED
    ]
    if saturated:
        reach = "reaches" if len(saturated) == 1 else "reach"
        found.append(
            f"Precision@10 is saturated: {' and '.join(saturated)} {reach} {SATURATED} too. "
            "Compare completeness and the number of slices a group is split over."
        )
    if random is None:
        found.append("There is no random row: add Random to see what chance gives.")
    return found


def _ahead(ours: Row, table: Sequence[Row], titles: Mapping[str, str]) -> list[str]:
    found = []
    for row in table:
        if row.explainer == METHOD:
            continue
        better = []
        for metric in METRICS:
            sign = 1 if metric.higher_is_better else -1
            mine, theirs = ours.by_seed[metric.id], row.by_seed[metric.id]
            over = paired(theirs, mine)
            if over.mean is None or sign * over.mean <= 1e-9:
                continue
            better.append(f"{metric.title.lower()} {over.mean:+.3f}{_doubt(over, sign)}")
        if better:
            name = titles.get(row.explainer, row.explainer)
            found.append(f"{name} is ahead of {titles.get(METHOD, METHOD)}: {', '.join(better)}.")
    return found


def _doubt(over: Interval, sign: int) -> str:
    """A word of caution where the 95 % interval of a difference holds zero."""
    if over.low is None or over.high is None:
        return ""
    return "" if min(sign * over.low, sign * over.high) > 0 else " (within chance)"
