"""The command line of the Concepts family: which table or bundled model, which decision."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from backend.concepts import heads, inputs, tabular, thumbnails
from backend.concepts.columns import Mapping
from backend.concepts.examples import EXAMPLES, OWN, example
from backend.concepts.explanation import (
    Bottleneck,
    ConceptTable,
    ConceptTarget,
    Labels,
    Training,
)
from backend.concepts.guess import guess
from backend.errors import InputError, shown
from backend.examples import flagged
from backend.explanation import ModelRef
from backend.files import contents
from backend.settings import Settings

WHOLE = ("label", "prediction", "group", "reference")
PAIRED = ("predicted", "true")
RECIPE = {
    "training": "--training",
    "epochs": "--epochs",
    "train_seed": "--train-seed",
    "labels": "--labels",
}
OF_TABLE = {
    "map": "--map",
    "column": "--column",
    "scale": "--scale",
    "head": "--head",
    "images": "--images",
}


def add(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """Add the family's own flags; returns the group of those that say what is explained."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--example", metavar="NAME", help=f"one of {', '.join(e.id for e in EXAMPLES)}"
    )
    source.add_argument(
        "--input", metavar="FILE", type=Path, help="a .csv, .tsv, .parquet or .npz of predictions"
    )
    parser.add_argument("--map", metavar="JSON", help="which column is what: JSON, or a file of it")
    parser.add_argument(
        "--column",
        metavar="ROLE=NAME",
        action="append",
        default=[],
        help="change the guess: label, prediction, group, reference, predicted:CONCEPT, "
        "true:CONCEPT or class:CLASS, then the column; an empty name is none",
    )
    parser.add_argument(
        "--scale", choices=("probability", "logit"), help="what the predicted columns hold"
    )
    parser.add_argument(
        "--head", metavar="FILE", type=Path, help="label head: .safetensors or .csv"
    )
    parser.add_argument("--images", metavar="ZIP", type=Path, help="pictures of the samples")
    parser.add_argument(
        "--bottleneck", choices=get_args(Bottleneck), help="what the label head reads"
    )
    parser.add_argument(
        "--training", choices=get_args(Training), help="how an example's model is trained"
    )
    parser.add_argument("--epochs", metavar="N", type=int, help="passes over its samples")
    parser.add_argument("--train-seed", metavar="N", type=int, help="seed of its training")
    parser.add_argument(
        "--labels",
        choices=get_args(Labels),
        help="classes an example's model is trained on (default: true); shuffled is a control",
    )
    parser.add_argument("--sample", metavar="N", type=int, help="explain this sample, from 0")
    parser.add_argument("--label", metavar="N", type=int, help="explain this class, from 0")
    return source


def table(given: argparse.Namespace, settings: Settings) -> ConceptTable | None:
    """The table of `--input`, or None for an example, whose model makes it.

    Raises:
        InputError: a file cannot be read, its columns do not fit, or a flag is for the other kind.
    """
    if given.input is None:
        _none_of(given, OF_TABLE, "is about a table", "Give one with --input.")
        return None
    _none_of(given, RECIPE, "is about training an example", "Give one with --example.")
    frame = inputs.read(given.input.name, contents(given.input, settings.max_table_mb), settings)
    found = tabular.build(frame, mapping(given, guess(frame)), given.bottleneck)
    if given.head is not None:
        head = heads.read(
            given.head.name, contents(given.head, settings.max_table_mb), found, settings
        )
        found = heads.attach(found, head, given.bottleneck, given.head.name)
    if given.images is not None:
        data = contents(given.images, settings.max_table_mb)
        found = thumbnails.attach(found, given.images.name, data, settings)
    return found


def model(given: argparse.Namespace) -> ModelRef:
    """The bundled model of an example, or the one that stands for a table of one's own.

    Raises:
        InputError: there is no such example.
    """
    return ModelRef(name=OWN if given.example is None else flagged(example, given.example).model)


def target(given: argparse.Namespace) -> ConceptTarget:
    """What of the table is explained, and for an example how its model is trained.

    Raises:
        InputError: there is no such example, or a flag's value is out of bounds.
    """
    changes: dict[str, Any] = {"recipe": None, "sample": given.sample, "label": given.label}
    if given.example is not None:
        recipe = flagged(example, given.example).recipe.model_dump()
        asked = {
            "bottleneck": given.bottleneck,
            "training": given.training,
            "epochs": given.epochs,
            "seed": given.train_seed,
            "labels": given.labels,
        }
        changes["recipe"] = recipe | {k: v for k, v in asked.items() if v is not None}
    try:
        return ConceptTarget.model_validate(changes)
    except ValidationError as error:
        first = error.errors()[0]
        flag = {"seed": "train-seed"}.get(str(first["loc"][-1]), str(first["loc"][-1]))
        raise InputError(f"{first['msg']}.", f"--{flag}") from error


def check(found: ConceptTable, asked: ConceptTarget) -> None:
    """Check that the explained sample and class are there.

    Raises:
        InputError: one is not.
    """
    for value, size, flag in (
        (asked.sample, len(found), "--sample"),
        (asked.label, len(found.class_names), "--label"),
    ):
        if value is not None and value >= size:
            raise InputError(f"There is no {value}.", flag, f"Choose from 0 to {size - 1}.")


def mapping(given: argparse.Namespace, guessed: Mapping) -> Mapping:
    """The guess, or what `--map` says, with the changes of `--column` and `--scale`.

    Raises:
        InputError: a flag is not of its form.
    """
    found = guessed if given.map is None else _from_json(given.map)
    if given.scale is not None:
        found = found.model_copy(update={"scale": given.scale})
    singles: dict[str, str | None] = {}
    concepts = {c.name: {"predicted": c.predicted, "true": c.truth} for c in found.concepts}
    classes = {one.name: one.column for one in found.classes}
    for text in given.column:
        role, equals, column = text.partition("=")
        kind, colon, name = role.partition(":")
        if equals and role in WHOLE:
            singles[role] = column or None
        elif equals and colon and name and kind in PAIRED:
            concepts.setdefault(name, {})[kind] = column
        elif equals and colon and name and kind == "class":
            classes[name] = column
        else:
            raise InputError(
                f"'{shown(text)}' says no column's role.",
                "--column",
                f"Write {', '.join(WHOLE)}, predicted:CONCEPT, true:CONCEPT or class:CLASS, then "
                "= and the column.",
            )
    return _changed(found, singles, concepts, classes)


def _changed(
    found: Mapping,
    singles: dict[str, str | None],
    concepts: dict[str, dict[str, str]],
    classes: dict[str, str],
) -> Mapping:
    kept = {name: pair for name, pair in concepts.items() if any(pair.values())}
    half = [name for name, pair in kept.items() if not all(pair.get(side) for side in PAIRED)]
    if half:
        raise InputError(
            f"Concept '{shown(half[0])}' has a predicted or a true column alone.",
            "--column",
            "Give both.",
        )
    return Mapping.model_validate(
        found.model_dump()
        | singles
        | {
            "concepts": [
                {"name": name, "predicted": pair["predicted"], "truth": pair["true"]}
                for name, pair in kept.items()
            ],
            "classes": [{"name": n, "column": c} for n, c in classes.items() if c],
        }
    )


def _from_json(text: str) -> Mapping:
    try:
        if not text.lstrip().startswith("{"):
            text = Path(text).read_text(encoding="utf-8")
        return Mapping.model_validate(json.loads(text))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"{first['msg']} ({shown(where)}).", "--map", "Mend it there.") from error
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"It cannot be read ({shown(str(error))}).", "--map", "Give a JSON object or its file."
        ) from error


def _none_of(given: argparse.Namespace, flags: dict[str, str], what: str, todo: str) -> None:
    for name, flag in flags.items():
        if getattr(given, name):
            raise InputError(f"{flag} {what}.", flag, todo)
