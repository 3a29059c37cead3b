"""Which concepts a slicing looks at, and why these: CB-SLICE's filter, a list, or all."""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

from backend.concepts.ectp import Step, by_class, influence, keep
from backend.concepts.explanation import ConceptTable
from backend.concepts.surrogate import FAITHFUL, label_head
from backend.errors import InputError

KeptBy = Literal["ectp", "list", "all"]


@dataclasses.dataclass(frozen=True)
class Kept:
    """The kept concepts [d], ascending, and how they were found."""

    concepts: np.ndarray
    by: KeptBy
    ectp: np.ndarray
    """[m, k] mean influence on each true class's errors, nats; NaN for a class without errors."""
    fidelity: float | None
    """A surrogate head's agreement with the model, None for the model's own head."""
    notes: tuple[str, ...] = ()


def kept(
    table: ConceptTable,
    errors: np.ndarray,
    most: int,
    listed: str = "",
    grouped: bool = True,
    step: Step = lambda *_: None,
) -> Kept:
    """Choose concepts by their influence on the errors.

    A list overrides; where only a surrogate head with an agreement below `FAITHFUL` is there, its
    influence says nothing about the model, and all concepts are kept.

    Args:
        listed: concepts by name, see `chosen`, or "".
        grouped: setting an exclusive concept on sets the others of its set off.

    Raises:
        InputError: the list names a concept that is not there, or too few.
    """
    manual = chosen(listed, table)
    head, fidelity = label_head(table)
    scores = influence(
        head,
        table.head_inputs()[errors],
        table.probabilities[errors],
        table.bottleneck,
        table.exclusive if grouped else (),
        step,
    )
    means = by_class(scores, table.arrays["labels"][errors], classes(table, head.classes))
    if manual is not None:
        return Kept(manual, "list", means, fidelity)
    if fidelity is not None and fidelity < FAITHFUL:
        note = (
            f"The table has no label head, and a fitted one agrees with only {fidelity:.0%} of the "
            "predictions: all concepts are kept."
        )
        return Kept(np.arange(scores.shape[1]), "all", means, fidelity, (note,))
    notes = [] if scores.any() else ["No concept moves the predicted class of any error."]
    if fidelity is not None:
        notes.append(
            f"The label head was fitted to the predictions; it agrees with {fidelity:.1%}."
        )
    return Kept(keep(means, most), "ectp", means, fidelity, tuple(notes))


def classes(table: ConceptTable, most: int = 2) -> int:
    """How many classes there are, at least `most`."""
    highest = max(int(table.arrays[name].max()) for name in ("labels", "predictions"))
    return max(most, len(table.class_names), highest + 1)


def chosen(listed: str, table: ConceptTable) -> np.ndarray | None:
    """Concepts of a list, ascending, or None for an empty one.

    Args:
        listed: names, without regard to case, or numbers from 0, with commas between them, or
            semicolons where a name has a comma.

    Raises:
        InputError: a name is not there, or there are fewer than two.
    """
    if not listed.strip():
        return None
    names = [name.casefold() for name in table.concept_names]
    k = table.arrays["logits"].shape[1]
    found = set()
    for word in listed.split(";" if ";" in listed else ","):
        word = word.strip()
        if word.casefold() in names:
            found.add(names.index(word.casefold()))
        elif word.isdecimal() and int(word) < k:
            found.add(int(word))
        elif word:
            raise InputError(
                f"There is no concept '{word[:60]}'.",
                "concepts",
                f"The concepts are {', '.join(table.concept_names[:20]) or f'0 to {k - 1}'}.",
            )
    if len(found) < 2:
        raise InputError("A list needs two concepts.", "concepts", "Add one, or leave it empty.")
    return np.array(sorted(found))
