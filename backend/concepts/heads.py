"""A label head from a file: .safetensors of linear layers, or a .csv of its weights."""

from __future__ import annotations

import dataclasses
import re
from pathlib import PurePath

import numpy as np

from backend.concepts.cells import numbers
from backend.concepts.explanation import Bottleneck, ConceptTable
from backend.concepts.guess import plain
from backend.concepts.head import Head
from backend.concepts.inputs import check_size
from backend.concepts.surrogate import FAITHFUL, agreement
from backend.errors import InputError, shown
from backend.names import listed
from backend.settings import Settings
from backend.tables import delimited
from backend.tables.frame import Frame

ENDINGS = (".safetensors", ".csv")
BIAS = ("bias", "intercept", "(intercept)", "const")
HEAD_WORDS = ("head", "fc", "classifier", "label", "task", "predictor", "out")
_TODO = "Save the layers between concepts and classes alone."


def read(name: str, data: bytes, table: ConceptTable, settings: Settings) -> Head:
    """The label head of a file, for the concepts and classes of a table.

    A .safetensors holds `weight` [m, k] and `bias` [m], under any prefix, or several such layers
    in order, with ReLU between them. A .csv has a row a concept and a row `bias`, its first column
    their names, and a column a class; for two classes one column does, the logit of the second.

    Raises:
        InputError: it cannot be read, or does not fit the table; names and shapes are in the text.
    """
    check_size(name, data, settings)
    ending = PurePath(name).suffix.lower()
    if ending == ".safetensors":
        head = _layers(name, data)
    elif ending == ".csv":
        head = _from_columns(delimited.read(name, data, settings), table)
    else:
        raise InputError(
            f"Files ending in '{shown(ending)}' are no label head.",
            name,
            f"Use {' or '.join(ENDINGS)}.",
        )
    return fitting(name, head, len(table.concept_names), len(table.class_names))


def fitting(name: str, head: Head, k: int, m: int) -> Head:
    """The head as a table of k concepts and m classes holds it: one output for two classes.

    Raises:
        InputError: its layers do not chain from k to m.
    """
    sizes = " → ".join(str(w.shape[1]) for w in head.weights) + f" → {len(head.biases[-1])}"
    widths = [weight.shape[0] for weight in head.weights]
    chained = all(w.shape[1] == size for w, size in zip(head.weights[1:], widths, strict=False))
    entry, out = head.weights[0].shape[1], widths[-1]
    if entry != k and head.linear and head.weights[0].shape == (k, m):
        raise InputError(
            f"The weight is {k} × {m}, a row a concept.", name, "Transpose it: a row is a class."
        )
    if not chained or entry != k or out not in ((1, 2) if m == 2 else (m,)):
        raise InputError(
            f"The head leads {sizes}; from {k} concepts to {m} classes is needed.", name, _TODO
        )
    if not all(np.isfinite(array).all() for array in (*head.weights, *head.biases)):
        raise InputError("The head holds a number that is not finite.", name, "Save it again.")
    if m == 2 and out == 2:
        last, bias = head.weights[-1], head.biases[-1]
        return Head(
            (*head.weights[:-1], last[1:] - last[:1]), (*head.biases[:-1], bias[1:] - bias[:1])
        )
    return head


def attach(
    table: ConceptTable, head: Head, bottleneck: Bottleneck | None = None, name: str = ""
) -> ConceptTable:
    """The table with this head, and a note how often the two agree on the predicted class.

    Args:
        head: may have two outputs for two classes.
        bottleneck: what the head reads; None takes what agrees with more predictions.
        name: of the file, for messages.

    Raises:
        InputError: the head does not fit the table.
    """
    head = fitting(name, head, len(table.concept_names), len(table.class_names))
    kinds: tuple[Bottleneck, ...] = ("hard", "soft")
    agreed = {
        kind: agreement(
            head,
            dataclasses.replace(table, bottleneck=kind).head_inputs(),
            table.arrays["predictions"],
        )
        for kind in kinds
    }
    better = max(kinds, key=lambda kind: agreed[kind])
    chosen = bottleneck or better
    notes = [
        f"The label head on {'thresholded concepts' if chosen == 'hard' else 'concept logits'} "
        f"repeats {agreed[chosen]:.1%} of the predictions."
    ]
    if agreed[better] > agreed[chosen]:
        notes.append(f"A {better} bottleneck fits better: {agreed[better]:.1%}.")
    if agreed[chosen] < FAITHFUL:
        shares = agreement(head, table.probabilities, table.arrays["predictions"])
        hint = " It seems to read probabilities." if shares >= FAITHFUL else ""
        notes.append(
            f"That is below {FAITHFUL:.0%}: is it this model's head, with its concepts and "
            f"classes in this order?{hint}"
        )
    kept = table.origin.get("notes")
    return dataclasses.replace(
        table,
        arrays={n: a for n, a in table.arrays.items() if not n.startswith("head/")} | head.arrays(),
        bottleneck=chosen,
        origin={**table.origin, "notes": [*(kept if isinstance(kept, list) else []), *notes]},
    )


def _layers(name: str, data: bytes) -> Head:
    """Linear layers in the order of their names' numbers."""
    import safetensors
    import safetensors.numpy

    try:
        found = safetensors.numpy.load(data)
    except (safetensors.SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"This is no safetensors file of float32 ({shown(str(error))}).",
            name,
            "Write it with safetensors.torch.save_file.",
        ) from error
    stems = sorted(
        (key.removesuffix("weight") for key in found if re.fullmatch(r"(.*\.)?weight", key)),
        key=lambda stem: [int(p) if p.isdigit() else -1 for p in stem.split(".")],
    )
    if len(stems) > 1:
        own = [stem for stem in stems if set(stem.lower().split(".")) & set(HEAD_WORDS)]
        stems = own or stems
    layers = [
        (found[f"{s}weight"], found.get(f"{s}bias", np.zeros(len(found[f"{s}weight"]))))
        for s in stems
        if found[f"{s}weight"].ndim
    ]
    if not layers or any(w.ndim != 2 or b.shape != w.shape[:1] or not w.size for w, b in layers):
        raise InputError(
            f"It holds {listed([f'{k} {list(a.shape)}' for k, a in found.items()] or ['nothing'])}"
            "; a `weight` of classes × concepts and its `bias` are needed.",
            name,
            _TODO,
        )
    return Head(
        tuple(weight.astype(np.float64) for weight, _ in layers),
        tuple(bias.astype(np.float64) for _, bias in layers),
    )


def _from_columns(frame: Frame, table: ConceptTable) -> Head:
    """The linear head of a table of weights, its rows and columns matched by name."""
    first, *rest = frame.columns
    if frame.numeric(first) or not rest:
        raise InputError(
            "The first column does not name the concepts.",
            frame.name,
            "Begin each row with its concept, the last with 'bias'.",
        )
    rows = {plain(str(word)): i for i, word in enumerate(frame.columns[first])}
    bias = next((rows[word] for word in BIAS if word in rows), None)
    wanted = [plain(concept) for concept in table.concept_names]
    strange = rows.keys() - set(wanted) - set(BIAS)
    absent = [c for c, word in zip(table.concept_names, wanted, strict=True) if word not in rows]
    if absent or strange or len(rows) < len(frame):
        raise InputError(
            f"Its rows are not the table's concepts: missing {listed(absent or ['none'])}, unknown "
            f"{listed(sorted(strange) or ['none'])}.",
            frame.name,
            "Give each concept one row, called as in the table.",
        )
    weight = np.stack([numbers(frame, column) for column in _class_columns(frame, rest, table)])
    if len(rest) == 1 and plain(rest[0]) == plain(table.class_names[0]):
        weight = -weight  # The one column is the logit of the first class.
    offset = weight[:, bias] if bias is not None else np.zeros(len(weight))
    return Head((weight[:, [rows[word] for word in wanted]],), (offset,))


def _class_columns(frame: Frame, given: list[str], table: ConceptTable) -> list[str]:
    """The columns in the order of the table's classes."""
    if len(given) == 1 and len(table.class_names) == 2:
        return given
    by = {plain(column): column for column in given}
    names = [plain(name) for name in table.class_names]
    if set(by) != set(names) or len(given) != len(names):
        raise InputError(
            f"Its columns {listed(given)} are not the classes {listed(table.class_names)}.",
            frame.name,
            "Name a column after each class.",
        )
    return [by[name] for name in names]
