"""A frame and its mapping as the table the explainers read; whatever does not fit is refused."""

from __future__ import annotations

from pathlib import PurePath

import numpy as np

from backend.concepts import cells, classes, heads
from backend.concepts.columns import ConceptColumns, Mapping
from backend.concepts.explanation import Bottleneck, ConceptTable
from backend.concepts.head import Head
from backend.errors import InputError, shown
from backend.names import listed
from backend.tables.frame import Frame

FEWEST_CONCEPTS = 2


def build(frame: Frame, mapping: Mapping, bottleneck: Bottleneck | None = None) -> ConceptTable:
    """The table of a frame's columns.

    Args:
        bottleneck: what the label head reads; None is what suits a head the file holds, else hard.

    Returns:
        The table; `origin["mapping"]` says which columns it was read from, and `origin["notes"]`
        what a reader should know about it.

    Raises:
        InputError: a column is missing, or holds something else than it should.
    """
    _check(frame, mapping)
    notes = list(frame.notes)
    kept = _filled(frame, mapping, notes)
    found = classes.read(frame, mapping)
    arrays = _arrays(frame, mapping, kept, found, notes)
    group_names = _groups(frame, mapping, arrays)
    table = ConceptTable(
        arrays=arrays,
        title=PurePath(frame.name).stem,
        concept_names=tuple(concept.name for concept in kept),
        class_names=found.names,
        group_names=group_names,
        bottleneck=bottleneck or "hard",
        references=_references(frame, mapping),
        origin={
            "file": frame.name,
            "mapping": mapping.model_dump(mode="json"),
            "notes": list(notes),
        },
    )
    head = Head.of(frame.arrays)
    return table if head is None else heads.attach(table, head, bottleneck, frame.name)


def _arrays(
    frame: Frame,
    mapping: Mapping,
    kept: list[ConceptColumns],
    found: classes.Classes,
    notes: list[str],
) -> dict[str, np.ndarray]:
    """The arrays of the table but for the groups and the head."""
    logits = np.stack([cells.logits_of(frame, c.predicted, mapping.scale) for c in kept], axis=1)
    truth = _truth(frame, kept, notes)
    notes += found.notes
    _remark(mapping, kept, logits, truth, notes)
    if (found.labels == found.predictions).all():
        notes.append("Every sample is predicted rightly: there is no error to look into.")
    arrays = {
        "logits": logits.astype(np.float32),
        "concepts": truth,
        "labels": found.labels,
        "predictions": found.predictions,
    }
    if found.task_logits is not None:
        arrays["task_logits"] = found.task_logits
    others = {name: a for name, a in frame.arrays.items() if not name.startswith("head/")}
    return arrays | others


def _check(frame: Frame, mapping: Mapping) -> None:
    """Check that the columns exist and none is used twice."""
    used = [column for concept in mapping.concepts for column in (concept.predicted, concept.truth)]
    used += [one.column for one in mapping.classes]
    used += [c for c in (mapping.label, mapping.prediction, mapping.group) if c is not None]
    named = [*used, *([mapping.reference] if mapping.reference is not None else [])]
    absent = [column for column in dict.fromkeys(named) if column not in frame.columns]
    if absent:
        raise InputError(
            f"There is no column {listed(absent)}.",
            frame.name,
            f"It has {listed(list(frame.columns))}.",
        )
    twice = list(dict.fromkeys(column for column in used if used.count(column) > 1))
    if twice:
        raise InputError(f"A column is used twice: {listed(twice)}.", frame.name, "Choose another.")
    names = [concept.name for concept in mapping.concepts]
    if len(set(names)) < len(names) or not all(map(str.strip, names)):
        raise InputError("Two concepts have one name, or one has none.", frame.name, "Name each.")
    if len(names) < FEWEST_CONCEPTS:
        raise InputError(
            f"{'One concept is' if names else 'No concept is'} there with a predicted and a true "
            "column; at least two are needed.",
            frame.name,
            "Name the columns as in prob_red and true_red, or choose them.",
        )


def _filled(frame: Frame, mapping: Mapping, notes: list[str]) -> list[ConceptColumns]:
    """The concepts of which any cell is filled; a whole empty column is left out with a note."""
    kept: list[ConceptColumns] = []
    empty: list[ConceptColumns] = []
    for concept in mapping.concepts:
        hollow = any(frame.missing(c).all() for c in (concept.predicted, concept.truth))
        (empty if hollow else kept).append(concept)
    if empty:
        names = [concept.name for concept in empty]
        notes.append(f"Left out, as a column of theirs is empty: {listed(names)}.")
    if len(kept) < FEWEST_CONCEPTS:
        raise InputError(
            "Fewer than two concepts have any value.", frame.name, "Fill the columns of concepts."
        )
    return kept


def _truth(frame: Frame, kept: list[ConceptColumns], notes: list[str]) -> np.ndarray:
    """[n, k] int8 true concepts."""
    columns: list[np.ndarray] = []
    ways: dict[str, list[str]] = {}
    for concept in kept:
        values, way = cells.truth_of(frame, concept.truth)
        columns.append(values)
        if way:
            ways.setdefault(way, []).append(concept.name)
    notes += [f"In the true values {way}: {listed(names)}." for way, names in ways.items()]
    return np.stack(columns, axis=1)


def _remark(
    mapping: Mapping,
    kept: list[ConceptColumns],
    logits: np.ndarray,
    truth: np.ndarray,
    notes: list[str],
) -> None:
    """Notes about what is allowed and yet unusual."""
    names = np.array([concept.name for concept in kept], dtype=object)
    for what, values in (("True", truth), ("Predicted", logits)):
        constant = names[(values == values[0]).all(axis=0)]
        if len(constant):
            notes.append(f"{what} values never change: {listed(list(constant))}.")
    if mapping.scale == "logit" and logits.min() >= 0 and logits.max() <= 1:
        notes.append("The logits are all between 0 and 1, as probabilities are: check the choice.")
    if mapping.scale == "probability" and np.allclose(abs(logits), cells.logit(np.ones(1))):
        notes.append("The predicted concepts are 0 and 1 only, without the model's certainty.")


def _groups(frame: Frame, mapping: Mapping, arrays: dict[str, np.ndarray]) -> tuple[str, ...]:
    """Add the known group of each sample; returns the groups' names."""
    if mapping.group is None:
        return ()
    missing = frame.missing(mapping.group)
    values = frame.columns[mapping.group][~missing]
    if not len(values):
        return ()
    part = Frame(frame.name, {mapping.group: values})
    found = classes.words(part, mapping.group)
    given = frame.group_names
    names = classes.ordered(set(found))
    place = {name: i for i, name in enumerate(given or names)}
    if given and frame.numeric(mapping.group):
        numbered = {str(i): i for i in range(-1, len(given))}
        place = numbered if set(found) <= numbered.keys() else place
    strange = [name for name in names if name not in place]
    if strange:
        raise InputError(
            f"The groups {listed(strange)} have no name in 'group_names'.", frame.name, "Name each."
        )
    groups = np.full(len(frame), -1, dtype=np.int32)
    groups[~missing] = [place[name] for name in found]
    arrays["groups"] = groups
    return tuple(given or names)


def _references(frame: Frame, mapping: Mapping) -> tuple[str, ...]:
    if mapping.reference is None:
        return ()
    found = frame.columns[mapping.reference]
    if not frame.numeric(mapping.reference):
        return tuple(shown(word, 500) for word in found)
    return tuple("" if np.isnan(value) else f"{value:.15g}" for value in found)
