"""One sample's decision: the logit that is explained, and the point it is compared with.

What is explained is a difference of class logits, f = z[class] - z[other], or one logit alone:

- two classes: the log-odds of the explained class, always against the other one;
- more classes: z[class], or its lead over the runner-up or over the true class.

Concept j contributes to f(x) - f(b); b is the reference, a point or the samples of the table.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np
from pydantic import Field

from backend.concepts.explanation import ConceptTable, ConceptTarget
from backend.concepts.head import Head
from backend.concepts.surrogate import label_head
from backend.errors import InputError
from backend.explanation import Frozen

Baseline = Literal["mean", "absent"]
Contrast = Literal["none", "runner-up", "true"]

OFF, ON = 5.0, 95.0
"""Percentiles of a concept's logits over the table that stand for "off" and "on" where the head
reads logits (Koh et al., "Concept Bottleneck Models", ICML 2020)."""

BASELINE: Any = Field(
    "mean",
    title="Compare with",
    description="`mean`: what the head reads of all samples, averaged; `absent`: every concept "
    "off, which is 0, or the 5th percentile of the concept's logits in a soft bottleneck.",
)
CONTRAST: Any = Field(
    "none",
    title="Contrast",
    description="With more than two classes: `none` explains the logit of the class, `runner-up` "
    "its lead over the class that comes next, `true` its lead over the true class. Two classes are "
    "always explained against each other.",
)


class DecisionParameters(Frozen):
    """What a decision is compared with."""

    baseline: Baseline = BASELINE
    contrast: Contrast = CONTRAST


@dataclasses.dataclass(frozen=True, eq=False)
class Decision:
    """What one sample's explained logit is, and how to compute it for other concept values.

    Attributes:
        x: [k] float64, what the head reads of the sample. baseline: [k], the reference point.
        direction: [q], the explained logit as a sum of the head's raw outputs.
        fidelity: of a head that stands in for one that was not brought, else None.
    """

    table: ConceptTable
    head: Head
    fidelity: float | None
    sample: int
    label: int
    against: int | None
    x: np.ndarray
    baseline: np.ndarray
    direction: np.ndarray

    @classmethod
    def of(
        cls,
        table: ConceptTable,
        target: ConceptTarget,
        baseline: Baseline = "mean",
        contrast: Contrast = "none",
    ) -> Decision:
        """The decision a target names: by default the first error, and the predicted class.

        Raises:
            InputError: no such sample or class, or the head does not fit the table.
        """
        sample = _sample(table, target)
        head, fidelity = label_head(table)
        inputs = table.head_inputs()
        if head.weights[0].shape[1] != inputs.shape[1]:
            raise InputError(
                f"The label head reads {head.weights[0].shape[1]} concepts, the table has "
                f"{inputs.shape[1]}.",
                todo="Bring the head that belongs to these concepts, or none.",
            )
        label = _label(table, target, head, sample)
        against = _against(table, head, sample, label, contrast)
        classes = np.zeros(head.classes)
        classes[label] = 1.0
        if against is not None:
            classes[against] = -1.0
        return cls(
            table=table,
            head=head,
            fidelity=fidelity,
            sample=sample,
            label=label,
            against=against,
            x=inputs[sample],
            baseline=inputs.mean(axis=0) if baseline == "mean" else switched(table)[0],
            direction=classes[1:] if len(head.biases[-1]) == 1 else classes,
        )

    def value(self, inputs: np.ndarray) -> np.ndarray:
        """[...] explained logits of head inputs [..., k]."""
        return np.asarray(self.head.outputs(inputs) @ self.direction)

    def probability(self, inputs: np.ndarray) -> np.ndarray:
        """[...] probabilities of the explained class for head inputs [..., k]."""
        return self.head.probabilities(inputs)[..., self.label]

    def gradient(self, inputs: np.ndarray) -> np.ndarray:
        """[..., k] gradient of the explained logit at head inputs [..., k].

        At the kink of a ReLU it is 0, as in torch.
        """
        active, x = [], np.asarray(inputs, dtype=np.float64)
        for weight, bias in zip(self.head.weights[:-1], self.head.biases[:-1], strict=True):
            x = x @ weight.T + bias
            active.append(x > 0)
            x = np.maximum(x, 0.0)
        back = np.broadcast_to(self.direction @ self.head.weights[-1], (*x.shape[:-1], x.shape[-1]))
        for weight, alive in zip(self.head.weights[-2::-1], active[::-1], strict=True):
            back = (back * alive) @ weight
        return back

    @property
    def unit(self) -> str:
        """What one unit of the explained logit is."""
        if self.against is None:
            return "logit"
        return "log-odds" if self.head.classes == 2 else "logit difference"


def switched(table: ConceptTable) -> tuple[np.ndarray, np.ndarray]:
    """What the head reads of each concept when it is off and when it is on, [k] each."""
    logits = table.arrays["logits"].astype(np.float64)
    if table.bottleneck == "hard":
        return np.zeros(logits.shape[1]), np.ones(logits.shape[1])
    off, on = np.percentile(logits, (OFF, ON), axis=0)
    return off, on


def concept_name(names: tuple[str, ...] | list[str], j: int) -> str:
    """The concept's name, or its number where it has none."""
    return names[j] if j < len(names) else f"concept {j}"


def class_name(names: tuple[str, ...] | list[str], label: int) -> str:
    """The class's name, or its number where it has none."""
    return names[label] if label < len(names) else f"class {label}"


def _sample(table: ConceptTable, target: ConceptTarget) -> int:
    if not len(table):
        raise InputError("The table has no samples.", todo="Bring predictions, or train a model.")
    if target.sample is None:
        return int(table.errors[0]) if len(table.errors) else 0
    if target.sample >= len(table):
        raise InputError(
            f"There is no sample {target.sample}.",
            "sample",
            f"The table has {len(table):,}, counted from 0.",
        )
    return target.sample


def _label(table: ConceptTable, target: ConceptTarget, head: Head, sample: int) -> int:
    label = target.label
    if label is None:
        label = int(table.arrays["predictions"][sample])
    if label >= head.classes:
        raise InputError(
            f"There is no class {label}.",
            "label",
            f"The label head tells {head.classes} classes apart, counted from 0.",
        )
    return label


def _against(
    table: ConceptTable, head: Head, sample: int, label: int, contrast: Contrast
) -> int | None:
    """The class whose logit is taken off; the true class is not contrasted with itself."""
    if head.classes == 2:
        return 1 - label
    if contrast == "none":
        return None
    truth = int(table.arrays["labels"][sample])
    if contrast == "true" and truth != label and truth < head.classes:
        return truth
    logits = head.logits(table.head_inputs()[sample]).copy()
    logits[label] = -np.inf
    return int(logits.argmax())
