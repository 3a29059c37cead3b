"""Which column of a frame is what."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from backend.explanation import Frozen

Scale = Literal["logit", "probability"]


class ConceptColumns(Frozen):
    """The two columns of a concept."""

    name: str
    predicted: str
    """Column of its predicted probability or logit."""
    truth: str
    """Column of its true value."""


class ClassColumn(Frozen):
    """The column of a class's score."""

    name: str
    column: str


class Mapping(Frozen):
    """Which columns of a frame make a `ConceptTable`."""

    concepts: tuple[ConceptColumns, ...] = ()
    scale: Scale = "probability"
    """What the predicted columns hold."""
    label: str | None = None
    prediction: str | None = None
    classes: tuple[ClassColumn, ...] = ()
    class_scale: Scale = "logit"
    """What the columns of the classes hold."""
    group: str | None = None
    reference: str | None = None
    reasons: dict[str, str] = Field({}, exclude=True)
    """What each column was taken for and why; of the guess alone, not of what is read."""
