"""A study: explainers compared over many inputs, in the table that papers print.

1. Every input gives each method one value a metric. A mean has a 95 % bootstrap interval over the
   inputs (`backend.bootstrap`).
2. The method with the best mean is compared with each other one on the inputs both have a value
   for: Wilcoxon's signed-rank test (1945), two-sided, corrected over the methods of a metric by
   Holm (1979). So what makes an input hard for all cancels.
3. Agreement of a method on an input is its mean rank correlation with the other methods there;
   stability is that among its own seeds.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import wilcoxon

from backend import consensus
from backend.agreement import agreement
from backend.bootstrap import Interval, interval
from backend.control import won_by_control
from backend.cost import cost
from backend.explanation import Comparison, Explanation, Request
from backend.metric import Metric
from backend.stability import stability

RANDOM = "random"
LEVEL = 0.05
"""Corrected p below which a method is said to be behind."""
FEWEST = 6
"""Inputs without which no test is made: fewer can never reach LEVEL."""

STABILITY = Metric(
    "stability", "Stability", True, "Mean rank correlation of a method's explanations over seeds."
)
AGREEMENT = Metric(
    "agreement",
    "Agreement",
    True,
    "Mean rank correlation with the other methods' explanations, a consensus left out.",
)
SECONDS = Metric("seconds", "Seconds", False, "An explanation, without what a method learned.")


@dataclasses.dataclass(frozen=True)
class Case:
    """One input of a study.

    Attributes:
        title: its name in the table.
        opens: what the family's page shows of it.
        asked: a request a method.
        again: by method (its place), the same with other seeds; empty of a deterministic one.
        scores: a score request a method, and last that of random rankings.
        command: the command line that gives the explanations of this input.
    """

    title: str
    opens: Comparison
    asked: tuple[Request, ...]
    again: tuple[tuple[Request, ...], ...]
    scores: tuple[Request, ...]
    command: str

    @property
    def explained(self) -> tuple[Request, ...]:
        """Every explanation, further seeds included."""
        return (*self.asked, *(request for seeds in self.again for request in seeds))


@dataclasses.dataclass(frozen=True)
class Studied:
    """What a study computes and says of itself.

    Attributes:
        methods: ids of the explainers, in the order of the cases' requests. titles: theirs.
        metrics: of the cases' scores.
        controls: those of the methods that know nothing.
        about: what is explained, in a few words.
        command: the command line that makes the study again.
        beside: makes the files that it needs, by name.
    """

    cases: Sequence[Case]
    methods: Sequence[str]
    titles: Sequence[str]
    metrics: Sequence[Metric]
    about: str
    command: str
    beside: Callable[[], Mapping[str, bytes]]
    controls: Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class Measured:
    """What is there of a case: explanations and scores in the case's order, None where missing."""

    asked: Sequence[Explanation | None]
    again: Sequence[Sequence[Explanation | None]]
    scores: Sequence[Explanation | None]


@dataclasses.dataclass(frozen=True, eq=False)
class Study:
    """M methods, of which the last is RANDOM, on C cases.

    Attributes:
        values: metric id -> [M, C]; NaN where it is not defined or not there.
        pairs: [M - 1, M - 1, C] rank correlation of two methods on each case; NaN likewise.
        controls: those of the methods that know nothing, besides RANDOM.
    """

    methods: tuple[str, ...]
    cases: tuple[str, ...]
    metrics: tuple[Metric, ...]
    values: Mapping[str, np.ndarray]
    pairs: np.ndarray
    controls: tuple[str, ...] = ()

    @functools.cached_property
    def agreement(self) -> tuple[tuple[Interval, ...], ...]:
        """[M - 1][M - 1] mean rank correlation over the cases, with its bootstrap interval."""
        return tuple(
            tuple(interval(pair[np.isfinite(pair)].tolist()) for pair in row) for row in self.pairs
        )

    @functools.cached_property
    def cells(self) -> dict[str, tuple[Cell, ...]]:
        """Metric id -> a cell a method."""
        return {metric.id: _row(metric, self.values[metric.id]) for metric in self.metrics}

    @functools.cached_property
    def won_by_control(self) -> dict[str, str]:
        """Metric id -> the control whose mean no method's is better than.

        AGREEMENT is neither better nor worse, and SECONDS are no merit of what is found.
        """
        judged = [m for m in self.metrics if direction(m) and m.id != SECONDS.id]
        means = {
            method: {metric.id: self.cells[metric.id][place].mean.mean for metric in judged}
            for place, method in enumerate(self.methods)
        }
        return won_by_control(means, {*self.controls, RANDOM}, judged)


@dataclasses.dataclass(frozen=True)
class Cell:
    """A method's mean by one metric.

    Attributes:
        best: whether no mean is better (random rankings left out); of AGREEMENT none is.
        p: of the difference from the best method, corrected; None of the best one, of RANDOM, of
            AGREEMENT, and where there are too few inputs.
    """

    mean: Interval
    best: bool
    p: float | None

    @property
    def behind(self) -> bool:
        """Whether it is surely behind the best method."""
        return self.p is not None and self.p < LEVEL


def study(
    methods: Sequence[str],
    titles: Sequence[str],
    measured: Sequence[Measured],
    metrics: Sequence[Metric],
    controls: Sequence[str] = (),
) -> Study:
    """The values of every method on every case.

    Args:
        methods: M - 1 ids, in the order of the cases' requests.
        titles: of the cases.
        metrics: whose values are in `values["metrics"]` of the scores.
        controls: those of the methods that know nothing.
    """
    names = (*methods, RANDOM)
    columns = (*metrics, STABILITY, AGREEMENT, SECONDS)
    values = {metric.id: np.full((len(names), len(titles)), np.nan) for metric in columns}
    pairs = np.full((len(methods), len(methods), len(titles)), np.nan)
    for c, case in enumerate(measured):
        for m, score in enumerate(case.scores):
            for metric in metrics:
                value = None if score is None else _metrics(score).get(metric.id)
                values[metric.id][m, c] = np.nan if value is None else value
        for m, one in enumerate(case.asked):
            if one is None:
                continue
            values[SECONDS.id][m, c] = cost(one)[SECONDS.id]
            seeds = [one, *(other for other in case.again[m] if other is not None)]
            if len(seeds) > 1:
                runs = [each.compared() for each in seeds]
                mean = stability(runs).correlation.mean
                values[STABILITY.id][m, c] = np.nan if mean is None else mean
        pairs[:, :, c] = _pairs(case.asked)
        values[AGREEMENT.id][: len(methods), c] = _agreement(pairs[:, :, c], methods)
    kept = tuple(metric for metric in columns if np.isfinite(values[metric.id]).any())
    known = {metric.id: values[metric.id] for metric in kept}
    return Study(names, tuple(titles), kept, known, pairs, tuple(controls))


def direction(metric: Metric) -> int:
    """1 where higher is better, -1 where lower is, 0 of AGREEMENT: to agree is neither."""
    if metric.id == AGREEMENT.id:
        return 0
    return 1 if metric.higher_is_better else -1


def holm(p: Sequence[float]) -> list[float]:
    """p-values corrected by Holm's step-down procedure, in their order."""
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    steps = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    found = np.empty(len(values))
    found[order] = np.minimum(steps, 1.0)
    return [float(value) for value in found]


def signed_rank(first: np.ndarray, other: np.ndarray) -> float | None:
    """p of Wilcoxon's signed-rank test over the inputs both have; None for fewer than FEWEST."""
    both = np.isfinite(first) & np.isfinite(other)
    if both.sum() < FEWEST:
        return None
    difference = first[both] - other[both]
    if not difference.any():
        return 1.0
    return float(wilcoxon(difference, zero_method="pratt").pvalue)


def _metrics(score: Explanation) -> dict[str, float | None]:
    """A score's metrics; where they are by the way something is taken away, those of the first."""
    found: dict[str, Any] = score.values["metrics"]
    first = next(iter(found.values()), None)
    return first if isinstance(first, dict) else found


def _row(metric: Metric, values: np.ndarray) -> tuple[Cell, ...]:
    means = [interval(row[np.isfinite(row)].tolist()) for row in values]
    sign = direction(metric)
    known = [m for m, one in enumerate(means[:-1]) if one.mean is not None and sign]
    ranked = sorted(known, key=lambda m: -sign * float(means[m].mean or 0.0))
    p: dict[int, float] = {}
    if ranked:
        raw = {m: signed_rank(values[ranked[0]], values[m]) for m in ranked[1:]}
        tested = {m: value for m, value in raw.items() if value is not None}
        p = dict(zip(tested, holm(list(tested.values())), strict=True))
    top = means[ranked[0]].mean if ranked else None
    return tuple(Cell(one, m in known and one.mean == top, p.get(m)) for m, one in enumerate(means))


def _pairs(asked: Sequence[Explanation | None]) -> np.ndarray:
    """[methods, methods] rank correlation; NaN where one is missing or ranks nothing."""
    there = [m for m, one in enumerate(asked) if one is not None]
    found = np.full((len(asked), len(asked)), np.nan)
    scores = [one.compared() for one in asked if one is not None]
    found[np.ix_(there, there)] = agreement([str(m) for m in there], scores).spearman
    return found


def _agreement(pairs: np.ndarray, methods: Sequence[str]) -> np.ndarray:
    """[methods] mean rank correlation with the others; NaN without another one to compare with.

    A consensus is made of the others: with it they do not agree by themselves.
    """
    found = np.full(len(methods), np.nan)
    for m, row in enumerate(pairs):
        others = [o for o, name in enumerate(methods) if o != m and name != consensus.ID]
        known = row[others][np.isfinite(row[others])]
        found[m] = known.mean() if len(known) else np.nan
    return found
