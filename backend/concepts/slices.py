"""What slicing methods have in common: a slice, and the explanation that holds them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from backend.concepts.explanation import ConceptExplanation, ConceptTable
from backend.errors import InputError

FEWEST_ERRORS = 20
SLICES = 10
"""How many slices every method looks for unless told, so that their rows compare."""


@dataclasses.dataclass(frozen=True)
class Keyword:
    """A concept that decides who is in a slice."""

    concept: int
    score: float
    """Mean change of the membership when the concept is set, nats."""
    predicted: float
    """Weighted mean of the members' predicted probability."""
    true: float
    """Weighted share of the members that have it."""

    @property
    def mispredicted(self) -> bool:
        """Whether the members' typical prediction is on the other side of the truth."""
        return (self.predicted > 0.5) != (self.true > 0.5)


@dataclasses.dataclass(frozen=True)
class Slice:
    """One slice: its score and keywords; who is in it is in the explanation's arrays."""

    size: int
    weight: float
    """Summed memberships of its members."""
    score: float
    """For the ranking, higher first."""
    keywords: tuple[Keyword, ...] = ()
    parts: dict[str, float] = dataclasses.field(default_factory=dict)
    """What the score is made of, by name."""

    def value(self) -> dict[str, Any]:
        """As an explanation's plain value."""
        found = dataclasses.asdict(self)
        for words, keyword in zip(found["keywords"], self.keywords, strict=True):
            words["mispredicted"] = keyword.mispredicted
        return found


def check_errors(table: ConceptTable) -> np.ndarray:
    """Indices of the wrongly predicted samples.

    Raises:
        InputError: there are too few to look for groups among them.
    """
    errors = table.errors
    if len(errors) < FEWEST_ERRORS:
        raise InputError(
            f"Only {len(errors)} of {len(table)} samples are predicted wrongly; slices need "
            f"{FEWEST_ERRORS}.",
            todo="Bring more validation samples, or the predictions of a weaker model.",
        )
    return errors


def explanation(
    table: ConceptTable,
    errors: np.ndarray,
    memberships: np.ndarray,
    slices: list[Slice],
    *,
    arrays: dict[str, np.ndarray] | None = None,
    values: dict[str, Any] | None = None,
    notes: tuple[str, ...] = (),
) -> ConceptExplanation:
    """The explanation of a slicing, its slices ranked by score; equal scores keep their order.

    Values that every method has: `slices` (`Slice.value`, with `confusion`: [true class, predicted
    class, members] from the most frequent pair on), `concept_names`, `class_names`, `samples`.

    Args:
        errors: [e] sample indices.
        memberships: [e, K], one column for each of `slices`, rows sum to 1.
        arrays, values: what else the method has to tell.
    """
    order = sorted(range(len(slices)), key=lambda c: -slices[c].score)
    ranked = memberships[:, order]
    assigned = ranked.argmax(axis=1)
    shown = [
        slices[c].value() | {"confusion": _confusion(table, errors[assigned == i])}
        for i, c in enumerate(order)
    ]
    return ConceptExplanation(
        arrays={
            "errors": errors.astype(np.int32),
            "slices": assigned.astype(np.int32),
            "memberships": ranked.astype(np.float32),
            **(arrays or {}),
        },
        values={
            "kind": "slices",
            "slices": shown,
            "concept_names": list(table.concept_names),
            "class_names": list(table.class_names),
            "samples": len(table),
            **(values or {}),
        },
        notes=notes,
        unit="members",
    )


def _confusion(table: ConceptTable, members: np.ndarray) -> list[list[int]]:
    pairs = np.stack([table.arrays[name][members] for name in ("labels", "predictions")], axis=1)
    found, counts = np.unique(pairs, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return [[int(found[i, 0]), int(found[i, 1]), int(counts[i])] for i in order]
