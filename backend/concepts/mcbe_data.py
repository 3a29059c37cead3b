"""From a table to what a mixture is trained on: concepts, selector inputs, labels, a split."""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

from backend.concepts.experts import Data
from backend.concepts.explanation import CLIP, ConceptTable
from backend.errors import InputError

Seen = Literal["hard", "soft", "true"]
Explained = Literal["labels", "predictions"]

FEWEST = 20
"""Samples."""


@dataclasses.dataclass(frozen=True)
class Prepared:
    """All samples, which of them are held out, and names."""

    data: Data
    held_out: np.ndarray
    """[n] bool."""
    concept_names: tuple[str, ...]
    class_names: tuple[str, ...]
    embedded: bool
    """Whether the selector sees an embedding, and not the concept logits."""
    binary: bool
    """Whether concepts are 0 or 1."""

    @property
    def training(self) -> Data:
        return self.data.rows(~self.held_out)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The class that each output of an expert speaks for."""
        return self.class_names[1:2] if self.data.outputs == 1 else self.class_names


def prepare(
    table: ConceptTable, seen: Seen, explained: Explained, share: float, random: np.random.Generator
) -> Prepared:
    """Read a table.

    Args:
        seen: what experts see of the concepts: thresholded, their probabilities, the true ones.
        explained: which classes are learnt.
        share: of the samples, to be held out.

    Raises:
        InputError: too few samples, one class only, or concepts that never change.
    """
    if len(table) < FEWEST:
        raise InputError(
            f"The table has {len(table)} samples; experts need {FEWEST}.",
            todo="Bring more samples, or train a concept bottleneck model first.",
        )
    labels = table.arrays[explained].astype(np.int64)
    if np.ptp(labels) == 0:
        whose = "true label" if explained == "labels" else "prediction"
        raise InputError(
            f"Every sample has the same {whose}, so there is nothing to tell apart.",
            todo="Bring samples of two classes or more"
            + (", or explain the true labels." if explained == "predictions" else "."),
        )
    concepts = concepts_seen(table, seen)
    if not np.ptp(concepts, axis=0).any():
        raise InputError(
            "No concept changes from sample to sample, so experts have nothing to go by.",
            todo="Bring samples in which a concept is present in some and absent in others"
            + (", or let experts see probabilities." if seen == "hard" else "."),
        )
    held_out = split(labels, share, random)
    count = max(2, len(table.class_names), int(labels.max()) + 1)
    known = (*table.class_names, *map(str, range(len(table.class_names), count)))
    names = table.concept_names or tuple(f"concept {j + 1}" for j in range(concepts.shape[1]))
    inputs, embedded = _inputs(table, held_out)
    data = Data(concepts.astype(np.float32), inputs, labels, 1 if count == 2 else count)
    return Prepared(data, held_out, names, known, embedded, seen != "soft")


def concepts_seen(table: ConceptTable, seen: Seen) -> np.ndarray:
    """[n, k] float64: what the experts see of the concepts."""
    if seen == "soft":
        return table.probabilities
    found = table.arrays["concepts"] > 0 if seen == "true" else table.arrays["logits"] > 0
    return found.astype(np.float64)


def split(labels: np.ndarray, share: float, random: np.random.Generator) -> np.ndarray:
    """[n] bool, drawn so that every class is held out in proportion."""
    order = random.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    reached = np.floor(share * np.arange(len(labels) + 1) + 0.5)
    held_out = np.zeros(len(labels), dtype=bool)
    held_out[order[np.diff(reached) > 0]] = True
    return held_out


def _inputs(table: ConceptTable, held_out: np.ndarray) -> tuple[np.ndarray, bool]:
    """[n, e] float32 standardised selector inputs, and whether they are an embedding."""
    embedded = "embedding" in table.arrays
    most = float(np.log(1 / CLIP - 1))
    found = table.arrays["embedding"] if embedded else np.clip(table.arrays["logits"], -most, most)
    found = found.astype(np.float64)
    mean, spread = found[~held_out].mean(axis=0), found[~held_out].std(axis=0)
    scaled = (found - mean) / np.where(spread > 0, spread, 1.0)
    return scaled.astype(np.float32), embedded
