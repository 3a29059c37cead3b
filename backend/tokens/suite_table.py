"""From a suite's measurements to its table: means with intervals, and paired differences.

Every mean is over the cases on which the metric is defined; its number is kept beside it.
"""

from __future__ import annotations

import csv
import io
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from backend.bootstrap import Interval, interval, paired
from backend.tokens.measured import MEASURED, Measured
from backend.tokens.metrics import METRICS

_BRACKETS = re.compile(r" \([^()]*\)")
ALL = "all"
"""Kind of the rows over every case."""
HIGHER: dict[str, bool] = {
    metric.id: metric.higher_is_better for metric in METRICS if metric.id in MEASURED
}
TITLES: dict[str, str] = {metric.id: metric.title for metric in METRICS if metric.id in MEASURED}


@dataclass(frozen=True)
class Row:
    """One explainer on the cases of one kind and size."""

    kind: str
    size: int | None
    explainer: str
    cases: int
    metrics: dict[str, Interval]
    ceiling: float | None
    """Mean of the highest recovery any ranking can have."""


@dataclass(frozen=True)
class Difference:
    """The first explainer less another one, on the cases both have."""

    kind: str
    metric: str
    first: str
    other: str
    difference: Interval

    @property
    def verdict(self) -> str:
        """Whether the interval lies wholly on the better side of zero.

        "above" or "not above" where higher is better, "below" or "not below" where lower is;
        "unknown" without an interval.
        """
        low, high = self.difference.low, self.difference.high
        if low is None or high is None:
            return "unknown"
        if HIGHER[self.metric]:
            return "above" if low > 0 else "not above"
        return "below" if high < 0 else "not below"


def rows(found: Sequence[Measured], seed: int = 0) -> list[Row]:
    """A row for each kind, size and explainer, then one an explainer over all cases."""
    groups = list(dict.fromkeys((one.kind, one.size) for one in found))
    names = list(dict.fromkeys(one.explainer for one in found))
    table = [
        _row(kind, size, name, [m for m in found if (m.kind, m.size) == (kind, size)], seed)
        for kind, size in groups
        for name in names
    ]
    if len(groups) > 1:
        table += [_row(ALL, None, name, found, seed) for name in names]
    return table


def by_kind(found: Sequence[Measured], seed: int = 0) -> list[Row]:
    """A row for each kind and explainer, over all sizes."""
    kinds = list(dict.fromkeys(one.kind for one in found))
    names = list(dict.fromkeys(one.explainer for one in found))
    return [
        _row(kind, None, name, [m for m in found if m.kind == kind], seed)
        for kind in kinds
        for name in names
    ]


def differences(found: Sequence[Measured], seed: int = 0) -> list[Difference]:
    """The first explainer against each other one, by metric: over all cases, then by kind."""
    names = list(dict.fromkeys(one.explainer for one in found))
    kinds = list(dict.fromkeys(one.kind for one in found))
    table = []
    for kind in [ALL, *(kinds if len(kinds) > 1 else ())]:
        part = [one for one in found if kind in (ALL, one.kind)]
        for metric in MEASURED:
            values = {name: _by_case(part, metric, name) for name in names}
            for other in names[1:]:
                found_here = paired(values[names[0]], values[other], seed=seed)
                table.append(Difference(kind, metric, names[0], other, found_here))
    return table


def reasons(found: Sequence[Measured]) -> dict[str, list[str]]:
    """Why values are missing -> which, as "explainer metric" with the number of cases.

    Numbers in brackets are left out of a reason: each case has its own.
    """
    counted: dict[str, dict[str, int]] = {}
    for one in found:
        for metric, reason in one.reasons.items():
            by_name = counted.setdefault(_BRACKETS.sub("", reason), {})
            name = f"{one.explainer} {metric}"
            by_name[name] = by_name.get(name, 0) + 1
    return {
        reason: [f"{name} ({count})" for name, count in by_name.items()]
        for reason, by_name in counted.items()
    }


def numbers(found: Sequence[Measured]) -> bytes:
    """Every measurement as CSV, one row a case and explainer; an empty cell is not defined."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["kind", "size", "number", "explainer", "tokens", "ceiling", *MEASURED])
    for one in found:
        place = [one.kind, one.size, one.number, one.explainer, one.tokens, one.ceiling]
        writer.writerow([*place, *(one.values[metric] for metric in MEASURED)])
    return text.getvalue().encode()


def _row(kind: str, size: int | None, name: str, among: Sequence[Measured], seed: int) -> Row:
    own = [one for one in among if one.explainer == name]
    found = {
        metric: interval(list(_by_case(own, metric, name).values()), seed=seed)
        for metric in MEASURED
    }
    ceilings = [one.ceiling for one in own if one.ceiling is not None]
    most = statistics.fmean(ceilings) if ceilings else None
    return Row(kind, size, name, len(own), found, most)


def _by_case(
    found: Sequence[Measured], metric: str, name: str
) -> dict[tuple[str, int | None, int], float]:
    """Case -> value of one explainer, where it is defined."""
    return {
        (one.kind, one.size, one.number): value
        for one in found
        if one.explainer == name and (value := one.values[metric]) is not None
    }
