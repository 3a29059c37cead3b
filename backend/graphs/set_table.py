"""From scores over many items to a table: means with intervals, by class, and who is ahead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from backend.bootstrap import interval
from backend.explanation import Explanation
from backend.graphs.graph_metrics import METRICS

UNKNOWN = "the reason is known for none of the items"


def scores(found: Mapping[str, Explanation]) -> list[dict[str, Any]]:
    """A row a method.

    Args:
        found: explanations of kind "suite" by method.

    Returns:
        For each: explainer, items, each metric's mean (None where undefined), interval (95 %, by
        bootstrap over items), by_class (mean AUC by predicted class), undefined, seconds (a mean
        an item), skipped.
    """
    return [_row(name, one) for name, one in found.items()]


def _row(name: str, found: Explanation) -> dict[str, Any]:
    row: dict[str, Any] = {"explainer": name, "items": len(found.arrays["items"])}
    ends: dict[str, list[float]] = {}
    undefined: dict[str, str] = {}
    for metric in METRICS:
        values = found.arrays[f"metrics/{metric.id}"].astype(np.float64)
        values = values[~np.isnan(values)]
        row[metric.id] = float(values.mean()) if len(values) else None
        if not len(values):
            undefined[metric.id] = UNKNOWN
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
