"""The members of slices as a file: who they are, and which concepts are wrong on them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from backend.concepts.explanation import ConceptExplanation, ConceptTable
from backend.errors import InputError
from backend.files import cell
from backend.files import table as as_csv

HEAD = ("slice", "index", "reference", "label", "prediction", "membership", "group", "wrong")
JOIN = "; "


def members(explanation: ConceptExplanation, slice: int) -> np.ndarray:
    """Sample indices [members] of one slice, the largest membership first.

    Raises:
        InputError: there is no such slice.
    """
    count = len(explanation.values["slices"])
    if not 0 <= slice < count:
        raise InputError(f"There are {count} slices, counted from 0; {slice} is none of them.")
    rows = np.flatnonzero(explanation.arrays["slices"] == slice)
    surest = explanation.arrays["memberships"][rows, slice]
    found: np.ndarray = explanation.arrays["errors"][rows[np.argsort(-surest, kind="stable")]]
    return found


def numbers(
    table: ConceptTable, explanation: ConceptExplanation, slice: int | None = None
) -> bytes:
    """CSV in UTF-8, one row a member, by slice and then the largest membership first.

    Columns: `HEAD`, then for each concept "<name> predicted" (probability) and "<name> true" (0 or
    1). Slices are counted from 1, as on the page; "wrong" names the concepts whose predicted
    probability is on the other side of one half. A cell that a spreadsheet would run as a formula
    gets an apostrophe in front.

    Args:
        slice: the one to list, or None for all.

    Raises:
        InputError: there is no such slice, or the slices are of another table.
    """
    errors = explanation.arrays["errors"]
    if len(errors) and errors.max() >= len(table):
        raise InputError("The slices are of another table.", todo="Make them again with this one.")
    columns = [f"{name} {what}" for name in table.concept_names for what in ("predicted", "true")]
    every = range(len(explanation.values["slices"])) if slice is None else [slice]
    rows = (row for c in every for row in _rows(table, explanation, c))
    return as_csv([*HEAD, *map(cell, columns)], rows)


def _rows(
    table: ConceptTable, explanation: ConceptExplanation, slice: int
) -> Iterator[list[str | int]]:
    who = members(explanation, slice)
    places = np.searchsorted(explanation.arrays["errors"], who)
    surest = explanation.arrays["memberships"][places, slice]
    predicted, true = table.probabilities[who], table.arrays["concepts"][who]
    for row, i in enumerate(who.tolist()):
        wrong = np.flatnonzero((predicted[row] > 0.5) != (true[row] > 0))
        concepts = zip(predicted[row], true[row], strict=True)
        yield [
            slice + 1,
            i,
            cell(table.references[i] if table.references else ""),
            cell(_name(table.class_names, table.arrays["labels"][i])),
            cell(_name(table.class_names, table.arrays["predictions"][i])),
            f"{surest[row]:.6g}",
            cell(_group(table, i)),
            cell(JOIN.join(table.concept_names[j] for j in wrong)),
            *(value for p, c in concepts for value in (f"{p:.6g}", int(c))),
        ]


def _name(names: tuple[str, ...], index: int) -> str:
    return names[index] if index < len(names) else str(index)


def _group(table: ConceptTable, i: int) -> str:
    group = int(table.arrays["groups"][i]) if "groups" in table.arrays else -1
    return _name(table.group_names, group) if group >= 0 else ""
