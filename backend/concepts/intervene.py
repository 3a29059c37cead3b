"""What would the model say if it knew a concept? Test-time interventions.

Koh et al., "Concept Bottleneck Models", ICML 2020: a predicted concept is replaced by its true
value in front of the label head, and the task's accuracy is taken again. A hard bottleneck gets 0
or 1; a soft one gets the 5th or 95th percentile of that concept's logit over the table. Concepts
that are not named stay as predicted.

An interval is a bootstrap of the samples, each paired with itself: its values are -1 where a right
prediction is broken, 1 where a wrong one is fixed, else 0.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from backend import bootstrap
from backend.bootstrap import Interval
from backend.concepts.explanation import ConceptTable
from backend.concepts.head import Head
from backend.concepts.surrogate import label_head
from backend.errors import InputError

PERCENTILES = (5.0, 95.0)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Task accuracy before and after the concepts are set, as the label head gives it."""

    concepts: tuple[int, ...]
    rows: int
    """How many samples they were set for."""
    before: float
    """Accuracy over these samples."""
    after: float
    gain: Interval
    """after - before."""
    all_before: float
    """Accuracy over all samples, set for these only."""
    all_after: float
    all_gain: Interval
    fixed: int
    """Wrong predictions that became right."""
    broken: int
    agreement: float
    """Share of all samples for which the head predicts what the table says was predicted."""
    surrogate: bool
    """Whether the head stands in for one that was not brought."""

    @property
    def caution(self) -> str:
        """What a person must know before believing the numbers, or ""."""
        if self.agreement == 1.0:
            return ""
        whose = "The fitted stand-in for the label head" if self.surrogate else "The label head"
        return (
            f"{whose} repeats {self.agreement:.1%} of the table's predictions; the accuracies are "
            "those of the head."
        )


@dataclasses.dataclass(frozen=True)
class Gain:
    """What setting one concept alone does."""

    concept: int
    wrong: int
    """Samples whose predicted concept is wrong."""
    fixed: int
    broken: int
    gain: Interval


@dataclasses.dataclass(frozen=True, eq=False)
class Ready:
    """What every intervention on a table needs, worked out once."""

    table: ConceptTable
    head: Head
    surrogate: bool
    inputs: np.ndarray
    """[n, k] float64, of the head."""
    first: np.ndarray
    """[n, out], the first layer's outputs."""
    predictions: np.ndarray
    """[n], the head's."""

    @classmethod
    def of(cls, table: ConceptTable) -> Ready:
        """A head is fitted where the table has none, which can take a second."""
        head, fidelity = label_head(table)
        inputs = table.head_inputs()
        first = inputs @ head.weights[0].T + head.biases[0]
        return cls(table, head, fidelity is not None, inputs, first, _predicted(head, first))

    def truth(self, concept: int) -> np.ndarray:
        """[n] float64: what the head would read if the concept were predicted truly."""
        true = self.table.arrays["concepts"][:, concept]
        if self.table.bottleneck == "hard":
            return np.asarray(true, dtype=np.float64)
        low, high = np.percentile(self.inputs[:, concept], PERCENTILES)
        return np.asarray(np.where(true > 0, high, low))

    def setting(self, concepts: Sequence[int], rows: np.ndarray) -> np.ndarray:
        """[r] predictions for these rows with the concepts set."""
        moved = np.stack([self.truth(j)[rows] - self.inputs[rows, j] for j in concepts], axis=1)
        changed = moved.any(axis=1)
        found = np.array(self.predictions[rows])
        # A sample whose concepts are right keeps its prediction to the last digit.
        first = self.first[rows[changed]] + moved[changed] @ self.head.weights[0][:, concepts].T
        found[changed] = _predicted(self.head, first)
        return found


def intervene(
    table: ConceptTable,
    concepts: Sequence[int],
    rows: np.ndarray | None = None,
    *,
    ready: Ready | None = None,
) -> Outcome:
    """Set these concepts to their true value, all at once.

    Args:
        concepts: which, at least one.
        rows: sample indices they are set for, at least one; None is all.
        ready: `Ready.of(table)`, for a caller that keeps it.

    Raises:
        InputError: no or unknown concepts or samples.
    """
    ready = ready or Ready.of(table)
    chosen = tuple(dict.fromkeys(int(j) for j in concepts))
    _check(table, chosen)
    rows = _rows(table, rows)
    labels = table.arrays["labels"]
    before, after = ready.predictions == labels, ready.predictions == labels
    after[rows] = ready.setting(chosen, rows) == labels[rows]
    fixed, broken = int((after & ~before).sum()), int((before & ~after).sum())
    return Outcome(
        concepts=chosen,
        rows=len(rows),
        before=float(before[rows].mean()),
        after=float(after[rows].mean()),
        gain=_gain(fixed, broken, len(rows)),
        all_before=float(before.mean()),
        all_after=float(after.mean()),
        all_gain=_gain(fixed, broken, len(labels)),
        fixed=fixed,
        broken=broken,
        agreement=float((ready.predictions == table.arrays["predictions"]).mean()),
        surrogate=ready.surrogate,
    )


def each(
    table: ConceptTable, rows: np.ndarray | None = None, *, ready: Ready | None = None
) -> list[Gain]:
    """Every concept set to its true value alone, the largest gain in accuracy first.

    Arguments and errors as of `intervene`.
    """
    ready = ready or Ready.of(table)
    rows = _rows(table, rows)
    labels = table.arrays["labels"][rows]
    before = ready.predictions[rows] == labels
    wrong = (table.arrays["logits"][rows] > 0) != (table.arrays["concepts"][rows] > 0)
    found = []
    for j in range(wrong.shape[1]):
        after = ready.setting((j,), rows) == labels
        fixed, broken = int((after & ~before).sum()), int((before & ~after).sum())
        gain = _gain(fixed, broken, len(rows))
        found.append(Gain(j, int(wrong[:, j].sum()), fixed, broken, gain))
    return sorted(found, key=lambda one: one.broken - one.fixed)


def _predicted(head: Head, first: np.ndarray) -> np.ndarray:
    """[n] classes from the first layer's outputs [n, out]."""
    if head.linear:
        z = first
    else:
        z = Head(head.weights[1:], head.biases[1:]).outputs(np.maximum(first, 0.0))
    return np.asarray(z[:, 0] > 0 if z.shape[1] == 1 else z.argmax(axis=1), dtype=np.int64)


def _gain(fixed: int, broken: int, n: int) -> Interval:
    return bootstrap.counted({1.0: fixed, 0.0: n - fixed - broken, -1.0: broken})


def _rows(table: ConceptTable, rows: np.ndarray | None) -> np.ndarray:
    found = np.arange(len(table)) if rows is None else np.unique(rows)
    if not len(found):
        raise InputError("No sample was chosen.", todo="Choose a slice that has members.")
    if found[0] < 0 or found[-1] >= len(table):
        raise InputError(f"The table has {len(table)} samples; sample {found[-1]} is not in it.")
    return found


def _check(table: ConceptTable, concepts: tuple[int, ...]) -> None:
    k = table.arrays["logits"].shape[1]
    if not concepts:
        raise InputError("No concept was chosen.", todo="Choose at least one concept to set.")
    unknown = [j for j in concepts if not 0 <= j < k]
    if unknown:
        raise InputError(f"The table has {k} concepts; concept {unknown[0]} is not in it.")
