"""The nouns of the Concepts family: ConceptTable, ConceptTarget, ConceptExplanation."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, JsonValue

from backend.bundle import Arrays, Bundle
from backend.concepts.head import Head
from backend.explanation import Explanation, Frozen

Bottleneck = Literal["hard", "soft"]
Training = Literal["joint", "sequential", "independent"]
Labels = Literal["true", "shuffled"]

CLIP = 1e-6
"""Probabilities are kept this far from 0 and 1 where they become logits."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class ConceptTable(Bundle):
    """What a concept bottleneck model said about n samples, and what is true of them.

    Arrays (n samples, k concepts, m classes):
        logits: [n, k] float32. Concept logits; `probabilities` is their sigmoid.
        concepts: [n, k] int8. True concepts, 0 or 1.
        labels: [n] int32. True class.
        predictions: [n] int32. Predicted class.
        task_logits: [n, m] float32, optional. Logits of the classes (two columns for two classes).
        groups: [n] int32, optional. Known group, an index into `group_names`; -1 is none.
        images: [n, height, width, 3] uint8, optional.
        embedding: [n, e] float32, optional. What the encoder knows beside the concepts.
        head/<i>/weight: [out, in] float32, head/<i>/bias: [out] float32, optional. The label head:
            linear layers with ReLU between them, i = 0, 1, ...; the last has one output for two
            classes (the logit of class 1), else m.

    A table of no samples stands for "none yet": the input of a request that trains a model.
    """

    arrays: Arrays
    title: str = ""
    concept_names: tuple[str, ...] = ()
    class_names: tuple[str, ...] = ()
    group_names: tuple[str, ...] = ()
    planted: tuple[str, ...] = ()
    """Groups that were made to fail; a score is averaged over them."""
    exclusive: tuple[tuple[int, ...], ...] = ()
    """Concepts of which exactly one is true, for each such set."""
    bottleneck: Bottleneck = "hard"
    """What the head reads: concepts thresholded at one half, or concept logits."""
    references: tuple[str, ...] = ()
    """A name for each sample, e.g. a file name."""
    origin: dict[str, JsonValue] = dataclasses.field(default_factory=dict)
    """How the table came to be: how the model was trained, or how the columns were read."""

    @classmethod
    def none(cls) -> ConceptTable:
        """The table of no samples."""
        return cls(arrays={})

    def label(self) -> str:
        return self.title

    def __len__(self) -> int:
        return len(self.arrays["labels"]) if "labels" in self.arrays else 0

    @property
    def probabilities(self) -> np.ndarray:
        """[n, k] float64."""
        logits = self.arrays["logits"].astype(np.float64)
        return 0.5 * (1.0 + np.tanh(0.5 * logits))

    @property
    def errors(self) -> np.ndarray:
        """[e] indices of the samples whose predicted class is wrong, ascending."""
        return np.flatnonzero(self.arrays["labels"] != self.arrays["predictions"])

    def head(self) -> Head | None:
        """The label head, or None where the table has none."""
        return Head.of(self.arrays)

    def head_inputs(self) -> np.ndarray:
        """[n, k] float64: what the head reads of each sample."""
        if self.bottleneck == "hard":
            return (self.arrays["logits"] > 0).astype(np.float64)
        return self.arrays["logits"].astype(np.float64)


class Recipe(Frozen):
    """How a bundled concept bottleneck model is trained."""

    bottleneck: Bottleneck = Field(
        "hard",
        title="Bottleneck",
        description="What the label head reads: hard is concepts thresholded at one half, soft "
        "is their logits.",
    )
    training: Training = Field(
        "sequential",
        title="Training",
        description="joint: concepts and label at once. sequential: concepts first, then the head "
        "on predicted concepts. independent: the head on true concepts.",
    )
    epochs: Annotated[int, Field(ge=1, le=200)] = Field(
        10, title="Epochs", description="Passes over the training samples."
    )
    seed: Annotated[int, Field(ge=0, lt=2**32)] = Field(
        0, title="Training seed", description="Decides data, initial weights and order."
    )
    labels: Labels = Field(
        "true",
        title="Labels",
        description="Shuffled: the classes learned from are those of other samples, of which "
        "nothing true can be learned; concepts stay true. A control for explainers.",
    )


class ConceptTarget(Frozen):
    """What of a table is explained.

    Pages and the command line start with a recipe, ask the step `train_cbm` for the table, and then
    put that table in the place of the input; explainers and scores need no recipe.
    """

    recipe: Recipe | None = None
    sample: Annotated[int, Field(ge=0)] | None = None
    """Which sample, for explainers of one decision."""
    label: Annotated[int, Field(ge=0)] | None = None
    """Which class's logit, for explainers of one decision; None is the predicted class."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class ConceptExplanation(Explanation):
    """What an explainer found in a table.

    `values["kind"]` says which of these it is.

    "table" (step `train_cbm`): the arrays and fields of a `ConceptTable`, see
        `backend.concepts.plan.table_of`; and encoder/<name>, the encoder's weights.
    "slices": groups of wrongly predicted samples (e of them, K groups, d kept concepts).
        errors: [e] int32, sample indices. slices: [e] int32, the slice of each, 0 is the first
        in the ranking. memberships: [e, K] float32, rows sum to 1. Columns are in ranking order.
        `values["slices"]`: one dict a slice, see `backend.concepts.slices.Slice`.
    "decision": one sample's decision. scores: [k] float32, each concept's contribution to the
        explained logit.
    "experts": a mixture of experts, see `backend.concepts.mcbe`.
    "score": numbers about a subject.
    """

    unit: str = ""
    """What one unit of a score is."""
