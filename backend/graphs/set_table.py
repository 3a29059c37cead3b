"""From scores over many items to a table: means with intervals, by class, and who is ahead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from backend.bootstrap import interval
from backend.explanation import Explanation
from backend.graphs.graph_metrics import METRICS

UNKNOWN = "the reason is known for none of the items"
NO_EDGES = "none of the items has edges"
OF_REASON = ("edge_auc", "precision")
EQUAL = 1e-6
"""Values nearer to each other than this are equal."""


def scores(found: Mapping[str, Explanation]) -> list[dict[str, Any]]:
    """A row a method.

    Args:
        found: explanations of kind "suite" by method.

    Returns:
        For each: explainer, items, each metric's mean (None where undefined), interval (95 %, by
        bootstrap over items), by_class (mean AUC by predicted class), wins (by metric: of the
        items all methods have it for, the share on which this one is best, equals sharing),
        undefined, seconds (a mean an item), skipped.
    """
    won = wins(found)
    return [{**_row(name, one), "wins": won[name]} for name, one in found.items()]


def wins(found: Mapping[str, Explanation]) -> dict[str, dict[str, float]]:
    """By method and metric the share of the common items it is best on; none without such items."""
    shares: dict[str, dict[str, float]] = {name: {} for name in found}
    for metric in METRICS:
        sign = 1.0 if metric.higher_is_better else -1.0
        by_item = [
            dict(zip(one.arrays["items"].tolist(), one.arrays[f"metrics/{metric.id}"], strict=True))
            for one in found.values()
        ]
        common = sorted(set.intersection(*map(set, by_item))) if by_item else []
        values = np.array([[one[item] for item in common] for one in by_item], dtype=np.float64)
        values = sign * values[:, ~np.isnan(values).any(axis=0)] if common else values
        if not values.size:
            continue
        best = values >= values.max(axis=0) - EQUAL
        for name, share in zip(found, (best / best.sum(axis=0)).mean(axis=1), strict=True):
            shares[name][metric.id] = float(share)
    return shares


def _row(name: str, found: Explanation) -> dict[str, Any]:
    row: dict[str, Any] = {"explainer": name, "items": len(found.arrays["items"])}
    ends: dict[str, list[float]] = {}
    undefined: dict[str, str] = {}
    for metric in METRICS:
        values = found.arrays[f"metrics/{metric.id}"].astype(np.float64)
        values = values[~np.isnan(values)]
        row[metric.id] = float(values.mean()) if len(values) else None
        if not len(values):
            undefined[metric.id] = UNKNOWN if metric.id in OF_REASON else NO_EDGES
            continue
        found_ends = interval(values.tolist())
        if found_ends.low is not None and found_ends.high is not None:
            ends[metric.id] = [found_ends.low, found_ends.high]
    return row | {
        "interval": ends,
        "by_class": _by_class(found),
        "undefined": undefined,
        "seconds": float(found.arrays["seconds"].mean()),
        "skipped": dict(found.values["skipped"]),
    }


def _by_class(found: Explanation) -> dict[str, float | None]:
    """Mean AUC of the items of each predicted class that have a known reason."""
    names = found.values["class_names"]
    auc = found.arrays["metrics/edge_auc"].astype(np.float64)
    by: dict[str, float | None] = {}
    for label in np.unique(found.arrays["predicted"]).tolist():
        values = auc[(found.arrays["predicted"] == label) & ~np.isnan(auc)]
        name = names[label] if label < len(names) else f"class {label}"
        by[name] = float(values.mean()) if len(values) else None
    return by
