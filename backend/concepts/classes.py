"""True and predicted classes of a frame."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from backend.concepts import cells
from backend.concepts.columns import Mapping
from backend.concepts.explanation import CLIP
from backend.concepts.guess import plain
from backend.errors import InputError, shown
from backend.names import listed
from backend.tables.frame import Frame

MOST_CLASSES = 1000


@dataclasses.dataclass(frozen=True)
class Classes:
    """What a frame says about classes: m names, n samples."""

    names: tuple[str, ...]
    labels: np.ndarray
    """[n] int32"""
    predictions: np.ndarray
    """[n] int32"""
    task_logits: np.ndarray | None
    """[n, m] float32"""
    notes: tuple[str, ...]


def read(frame: Frame, mapping: Mapping) -> Classes:
    """The classes of a frame.

    Classes are whole numbers or words. Their order is that of the columns of scores, of the names a
    file gives, or else ascending.

    Raises:
        InputError: a column does not hold classes, or true and predicted ones do not match.
    """
    if mapping.label is None:
        raise InputError(
            "No column holds the true class.", frame.name, "Choose it, or call it 'label'."
        )
    if mapping.prediction is None and not mapping.classes:
        raise InputError(
            "No column holds the predicted class.",
            frame.name,
            "Choose it, or call it 'prediction'; scores of all classes do as well.",
        )
    notes: list[str] = []
    true = words(frame, mapping.label)
    said = None if mapping.prediction is None else words(frame, mapping.prediction)
    given = [column.name for column in mapping.classes] or list(frame.class_names)
    if said is not None and not given:
        _match(frame, mapping, true, said, notes)
    seen = ordered({*true, *(() if said is None else said)})
    names, place = _places(frame, seen, given, notes)
    if len(names) < 2:
        raise InputError(
            f"Every sample has the class '{shown(names[0])}'.",
            frame.name,
            "Bring samples of at least two classes.",
        )
    scores = _scores(frame, mapping)
    labels = np.array([place[word] for word in true], dtype=np.int32)
    highest = None if scores is None else scores.argmax(axis=1).astype(np.int32)
    if said is not None:
        predictions = np.array([place[word] for word in said], dtype=np.int32)
    elif highest is not None:
        predictions = highest
        notes.append("The predicted class is that of the highest score.")
    if highest is not None and (share := float(np.mean(highest != predictions))) > 0:
        notes.append(
            f"For {share:.1%} of the samples another class than the predicted one has the highest "
            "score."
        )
    return Classes(tuple(names), labels, predictions, scores, tuple(notes))


def words(frame: Frame, column: str) -> list[str]:
    """[n] cells of a column as names: words as they are, whole numbers without a point.

    Raises:
        InputError: a cell is empty or a fraction, or there are more than 1000 names.
    """
    cells.complete(frame, column)
    found = frame.columns[column]
    if frame.numeric(column):
        values = cells.numbers(frame, column)
        broken = values[(values != np.round(values)) | (abs(values) > 2**53)]
        if len(broken):
            raise InputError(
                f"Column '{shown(column)}' holds {broken[0]:g}, which is no class.",
                frame.name,
                "Choose a column of classes: words or whole numbers.",
            )
        found = np.array([str(int(value)) for value in values], dtype=object)
    count = len(set(found))
    if count > MOST_CLASSES:
        raise InputError(
            f"Column '{shown(column)}' holds {count:,} different values; at most "
            f"{MOST_CLASSES:,} are told apart.",
            frame.name,
            "Choose another column: this one looks like a name of each sample.",
        )
    return list(map(str, found))


def _match(
    frame: Frame, mapping: Mapping, true: list[str], said: list[str], notes: list[str]
) -> None:
    """Check that predicted classes are named as true ones are."""
    known = set(true)
    strange = ordered(set(said) - known)
    alike = {word.casefold() for word in known}
    if not strange:
        return
    if len(strange) == len(set(said)) or any(word.casefold() in alike for word in strange):
        raise InputError(
            f"The predicted classes in '{shown(mapping.prediction or '')}' ({listed(strange, 3)}) "
            f"are not those in '{shown(mapping.label or '')}' ({listed(ordered(known), 3)}).",
            frame.name,
            "Name the classes alike in both columns.",
        )
    notes.append(f"Predicted, but true of no sample: {listed(strange)}.")


def ordered(names: set[str]) -> list[str]:
    if all(name.lstrip("-").isascii() and name.lstrip("-").isdigit() for name in names):
        return sorted(names, key=int)
    return sorted(names)


def _places(
    frame: Frame, seen: list[str], given: Sequence[str], notes: list[str]
) -> tuple[list[str], dict[str, int]]:
    """The names of the classes, and the class of each value that occurs."""
    if not given:
        return seen, {name: i for i, name in enumerate(seen)}
    exact = {name: i for i, name in enumerate(given)}
    alike = {plain(name): i for i, name in enumerate(given)}
    numbered = [str(i) for i in range(len(given))]
    if all(name in exact for name in seen):
        return list(given), exact
    if len(alike) == len(given) and all(plain(name) in alike for name in seen):
        return list(given), {name: alike[plain(name)] for name in seen}
    if set(seen) <= set(numbered):
        return list(given), {name: int(name) for name in seen}
    if list(given) in (numbered, [str(i + 1) for i in range(len(given))]) and len(seen) == len(
        given
    ):
        notes.append(f"The classes' columns are taken in this order: {listed(seen)}.")
        return seen, {name: i for i, name in enumerate(seen)}
    raise InputError(
        f"The classes are called {listed(given)}, but the values are {listed(seen)}.",
        frame.name,
        "Name the classes' columns after the values of the label.",
    )


def _scores(frame: Frame, mapping: Mapping) -> np.ndarray | None:
    if not mapping.classes:
        return None
    if len(mapping.classes) < 2:
        raise InputError(
            "There is the score of one class alone.", frame.name, "Choose one for each class."
        )
    scores = np.stack([cells.numbers(frame, one.column) for one in mapping.classes], axis=1)
    if mapping.class_scale == "probability":
        if scores.min() < -cells.SLACK or scores.max() > 1 + cells.SLACK:
            raise InputError(
                f"The scores of the classes go from {scores.min():g} to {scores.max():g}, so they "
                "are no probabilities.",
                frame.name,
                "Choose logits for them.",
            )
        scores = np.log(np.clip(scores, CLIP, 1.0))
    elif abs(scores).max() > cells.LARGEST:
        raise InputError("The scores of the classes are too large.", frame.name, "Bring logits.")
    return np.asarray(scores, dtype=np.float32)
