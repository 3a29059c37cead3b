"""Cells of a frame as numbers, each with the sentence that says what is wrong with them."""

from __future__ import annotations

import numpy as np

from backend.concepts.explanation import CLIP
from backend.errors import InputError, shown
from backend.names import listed
from backend.tables.frame import Frame

SLACK = 1e-6
"""How far past 0 and 1 a rounded probability may be."""
LARGEST = 1e6
"""Largest logit."""
YES = frozenset({"yes", "true", "t", "y", "1", "1.0", "present", "on"})
NO = frozenset({"no", "false", "f", "n", "0", "0.0", "absent", "off"})


def numbers(frame: Frame, column: str) -> np.ndarray:
    """[n] float64: a column without an empty cell.

    Raises:
        InputError: it holds words, an infinity, or an empty cell.
    """
    complete(frame, column)
    cells = frame.columns[column]
    if not frame.numeric(column):
        word = next((cell for cell in cells if not _number(cell)), cells[0])
        raise InputError(
            f"Column '{shown(column)}' holds words such as '{shown(str(word))}', no numbers.",
            frame.name,
            "Choose another column, or mend its cells.",
        )
    if not np.isfinite(cells).all():
        raise InputError(
            f"Column '{shown(column)}' holds an infinity {_where(~np.isfinite(cells))}.",
            frame.name,
            "Bring finite numbers.",
        )
    return cells


def complete(frame: Frame, column: str) -> None:
    """Check that no cell of a column is empty.

    Raises:
        InputError: some are.
    """
    missing = frame.missing(column)
    if missing.any():
        raise InputError(
            f"Column '{shown(column)}' is empty {_where(missing)}.",
            frame.name,
            "Fill these cells, or leave these samples out.",
        )


def logits_of(frame: Frame, column: str, scale: str) -> np.ndarray:
    """[n] float64 logits of a column of logits or of probabilities.

    Raises:
        InputError: its values are not of that scale.
    """
    values = numbers(frame, column)
    low, high = float(values.min()), float(values.max())
    if scale == "logit":
        if max(-low, high) > LARGEST:
            raise InputError(
                f"Column '{shown(column)}' goes from {low:g} to {high:g}, too far for logits.",
                frame.name,
                "Bring logits of a reasonable size.",
            )
        return values
    if low < -SLACK or high > 1 + SLACK:
        percent = low >= 0 and 2 < high <= 100
        raise InputError(
            f"Column '{shown(column)}' goes from {low:g} to {high:g}, not 0 to 1.",
            frame.name,
            "These look like percentages: divide them by 100."
            if percent
            else "These look like logits: choose logits.",
        )
    return logit(values)


def logit(p: np.ndarray) -> np.ndarray:
    """Logits of probabilities, which are kept `CLIP` away from 0 and 1."""
    kept = np.clip(p, CLIP, 1 - CLIP)
    return np.asarray(np.log(kept / (1 - kept)))


def truth_of(frame: Frame, column: str) -> tuple[np.ndarray, str]:
    """[n] int8 true values of a column, and how they were read where they are not 0 and 1.

    Raises:
        InputError: they are neither 0 and 1, yes and no, -1 and 1, nor shares between 0 and 1.
    """
    complete(frame, column)
    if not frame.numeric(column):
        return _from_words(frame, column), ""
    values = numbers(frame, column)
    if ((values == 0) | (values == 1)).all():
        return values.astype(np.int8), ""
    if (abs(values) == 1).all():
        return (values > 0).astype(np.int8), "-1 is read as 0"
    if values.min() >= 0 and values.max() <= 1:
        return (values > 0.5).astype(np.int8), "shares above one half are read as 1"
    raise InputError(
        f"The true values in '{shown(column)}' go from {values.min():g} to {values.max():g}.",
        frame.name,
        "Write 0 and 1, or yes and no; or is it the predicted column?",
    )


def _from_words(frame: Frame, column: str) -> np.ndarray:
    words = np.array([word.lower() for word in frame.columns[column]], dtype=object)
    yes, no = np.isin(words, list(YES)), np.isin(words, list(NO))
    if not (yes | no).all():
        strange = sorted({str(word) for word in frame.columns[column][~(yes | no)]})
        raise InputError(
            f"The true values in '{shown(column)}' are words such as {listed(strange, 3)}.",
            frame.name,
            "Write 0 and 1, or yes and no.",
        )
    return yes.astype(np.int8)


def _number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _where(rows: np.ndarray) -> str:
    places = (np.flatnonzero(rows) + 1).tolist()
    return f"in sample{'s' if len(places) > 1 else ''} {listed(places)} of {len(rows):,}"
