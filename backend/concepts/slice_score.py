"""The score of a slicing: does it recover the groups that are known?

One harness for every method: the wrongly predicted samples, their known groups, and the numbers of
`backend.concepts.slice_metrics`. Without a slicing to score it scores random partitions, the row
each method has to beat.
"""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from backend.concepts import slice_metrics as metrics
from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget
from backend.concepts.partition import SliceParameters
from backend.concepts.random_slices import random_memberships
from backend.concepts.slices import check_errors
from backend.errors import InputError
from backend.explainer import Explainer, Run
from backend.explanation import Explanation

NO_GROUPS = "The table says nothing of known groups."


class SliceScoreParameters(SliceParameters):
    """Which groups count, and what the random row is."""

    fewest: Annotated[int, Field(ge=1, le=1000)] = Field(
        metrics.FEWEST,
        title="Fewest errors",
        description="Groups with fewer errors are left out: below 10 none can reach a "
        "precision@10 of 1.",
    )
    draws: Annotated[int, Field(ge=2, le=200)] = Field(
        20, title="Random draws", description="Random partitions behind the random row."
    )


@dataclasses.dataclass(frozen=True)
class _Known:
    """The errors' groups, and which of them are asked about."""

    groups: np.ndarray
    """[e]"""
    asked: tuple[int, ...]
    chosen: str
    """"planted" or "underperforming"."""


class SliceScore(Explainer):
    """Score of the slicing `run.subject`, or of random partitions where there is none.

    The groups asked about are the table's planted ones; where it names none, those with a higher
    share of errors than the whole table.

    Values:
        kind: "score".
        metrics: {metric: float or None}, ids as in `backend.concepts.slice_metrics.METRICS`.
        undefined: {metric: reason} for each None.
        spread: {metric: [low, high]}, 2.5 and 97.5 % over the draws; random row only.
        per_group: a dict a group, the fields of `GroupScore` and its name; empty for random rows.
        left_out: {name: errors} of the groups with too few.
        groups_by: "planted" or "underperforming"; "" without groups.
        saturated: whether precision@10 is at least 0.95.
        found: slices in all. draws: how many partitions were scored.
        seconds, peak_memory_bytes: what the slicing cost, None where that is not known.
    """

    id = "slice_score"
    title = "Recovery of groups"
    family = "concepts"
    role = "score"
    how_to_read = (
        "Slices are compared with groups that are known to fail. Read precision@10 together with "
        "completeness: a method may show a group cleanly and still split it over many slices."
    )
    libraries = ("numpy",)
    uses_seed = True
    Parameters = SliceScoreParameters

    def explain(
        self, model: Any, input: ConceptTable, target: ConceptTarget, parameters: Any, run: Run
    ) -> ConceptExplanation:
        """Score the subject.

        Raises:
            InputError: the subject is not a slicing of this table's errors, or the table has too
                few errors.
        """
        rows, slicings = _slicings(input, parameters, run)
        known = _known(input, rows)
        if known is None:
            found = _nothing()
        else:
            scored = [
                metrics.score(memberships, slices, known.groups, known.asked, parameters.fewest)
                for memberships, slices in slicings
            ]
            found = _found(scored, known, input.group_names, parameters.fewest)
            found |= {"spread": _spread(scored), "per_group": []} if run.subject is None else {}
        run.progress(1, 1, "scoring")
        found |= {"found": slicings[0][0].shape[1], "draws": len(slicings), **_cost(run.subject)}
        return ConceptExplanation(arrays={}, values={"kind": "score", **found})


def _nothing() -> dict[str, Any]:
    names = [metric.id for metric in metrics.METRICS]
    return {
        "metrics": dict.fromkeys(names),
        "undefined": dict.fromkeys(names, NO_GROUPS),
        "per_group": [],
        "left_out": {},
        "groups_by": "",
        "saturated": False,
    }


def _found(
    scored: list[metrics.Scores], known: _Known, names: tuple[str, ...], fewest: int
) -> dict[str, Any]:
    means = _means(scored)
    per_group = [
        {"name": _name(names, one.group), **dataclasses.asdict(one)} for one in scored[0].per_group
    ]
    return {
        "metrics": means,
        "undefined": _undefined(means, known, fewest),
        "per_group": per_group,
        "left_out": {_name(names, a): n for a, n in scored[0].left_out.items()},
        "groups_by": known.chosen,
        "saturated": (means["precision_at_10"] or 0.0) >= metrics.SATURATED,
    }


def _slicings(
    table: ConceptTable, parameters: Any, run: Run
) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """Sample indices [e], and memberships [e, K] with slices [e] of the subject or of each draw."""
    if run.subject is None:
        errors, generator = check_errors(table), run.numpy_generator()
        drawn = [
            random_memberships(len(errors), parameters.slices, generator)
            for _ in range(parameters.draws)
        ]
        return errors, [(memberships, memberships.argmax(axis=1)) for memberships in drawn]
    subject = run.subject
    if subject.values.get("kind") != "slices":
        raise InputError("This explanation has no slices.", todo="Score a slicing method.")
    wrong = np.isin(subject.arrays["errors"], table.errors)
    # A method that was shown all samples is scored by the errors among them.
    rows = subject.arrays["errors"][wrong]
    if len(rows) != len(table.errors):
        raise InputError(
            "The slices are of another table than the score asks about.",
            todo="Make the slices again with this table.",
        )
    return rows, [(subject.arrays["memberships"][wrong], subject.arrays["slices"][wrong])]


def _known(table: ConceptTable, rows: np.ndarray) -> _Known | None:
    groups = table.arrays.get("groups")
    if groups is None or groups.max(initial=-1) < 0:
        return None
    if table.planted:
        asked = tuple(table.group_names.index(name) for name in table.planted)
        return _Known(groups[rows], asked, "planted")
    wrong = table.arrays["labels"] != table.arrays["predictions"]
    asked = tuple(
        int(a) for a in np.unique(groups[groups >= 0]) if wrong[groups == a].mean() > wrong.mean()
    )
    return _Known(groups[rows], asked, "underperforming")


def _means(scored: list[metrics.Scores]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for metric in metrics.METRICS:
        values = [one.metrics[metric.id] for one in scored]
        known = [value for value in values if value is not None]
        # The same groups are left out of every draw: all have a value, or none.
        found[metric.id] = float(np.mean(known)) if known else None
    return found


def _spread(scored: list[metrics.Scores]) -> dict[str, list[float]]:
    return {
        metric.id: np.percentile([one.metrics[metric.id] for one in scored], [2.5, 97.5]).tolist()
        for metric in metrics.METRICS
        if scored[0].metrics[metric.id] is not None
    }


def _undefined(found: dict[str, float | None], known: _Known, fewest: int) -> dict[str, str]:
    if known.asked:
        reason = f"No {known.chosen} group has {fewest} errors or more."
    else:
        reason = "No group has a higher share of errors than the whole table."
    return {name: reason for name, value in found.items() if value is None}


def _name(names: tuple[str, ...], group: int) -> str:
    return names[group] if group < len(names) else str(group)


def _cost(subject: Explanation | None) -> dict[str, float | None]:
    if subject is None:
        return {"seconds": 0.0, "peak_memory_bytes": 0}
    provenance = subject.provenance
    return {
        "seconds": provenance.seconds if provenance else None,
        "peak_memory_bytes": provenance.peak_memory_bytes if provenance else None,
    }
