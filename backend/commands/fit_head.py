"""`fit-head`: a classifier of one's own classes, as a model folder."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from backend.catalogue import catalogue
from backend.commands import work
from backend.commands.explain import folder
from backend.engine.engine import Engine
from backend.errors import InputError, ModelError
from backend.explanation import ModelRef, Request
from backend.files import contents
from backend.images import head, headed, inputs
from backend.images.explanation import Photos
from backend.images.fit_head import FitHead, FitHeadParameters
from backend.models import find_folder
from backend.settings import Settings

FAMILY, MODEL = "images", "dinov2-small"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `fit-head`."""
    given = FitHeadParameters()
    parser.add_argument(
        "--model",
        metavar="REF",
        default=MODEL,
        help=f"a classifier of transformers, as `explain images` takes it (default {MODEL})",
    )
    parser.add_argument(
        "--input",
        metavar="ZIP",
        type=Path,
        required=True,
        help="pictures in folders, which are the classes",
    )
    parser.add_argument("--out", metavar="FOLDER", type=Path, required=True)
    parser.add_argument(
        "--crops",
        metavar="N",
        type=int,
        default=given.crops,
        help=f"views of each picture that the head is fitted on (default {given.crops})",
    )
    parser.add_argument(
        "--strength",
        metavar="C",
        type=float,
        default=given.strength,
        help=f"inverse weight of the penalty (default {given.strength})",
    )
    parser.add_argument("--seed", metavar="N", type=work.seed, default=0, help="of the views")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(given: argparse.Namespace, settings: Settings) -> dict[str, Any]:
    """Fit, write the model folder, and return what `--json` prints.

    Raises:
        InputError: a flag or the pictures cannot be used, or the folder cannot be written.
        ModelError: there is no such model, or none that a head can be fitted to.
    """
    family = catalogue()[FAMILY]
    ref = work.model(given.model, "float32", family)
    photos = _photos(given.input, settings)
    if (given.out / "config.json").exists():
        raise InputError("There is a model in this folder.", str(given.out), "Name another one.")
    folder(given.out)
    engine = Engine(settings)
    try:
        request = Request(
            family=FAMILY,
            explainer=FitHead.id,
            model=ref,
            input=engine.put_input(photos, FAMILY),
            parameters={"crops": given.crops, "strength": given.strength},
            seed=given.seed,
        )
        [(_, found)] = work.finish(engine, [request])
    finally:
        engine.close()
    told, arrays = found.values, found.arrays
    _write(find_folder(ref, family, settings), given.out, ref, told, arrays)
    return {
        "folder": str(given.out),
        "pictures": len(photos),
        **{name: told[name] for name in ("classes", "accuracy", "majority", "folds")},
        "by_class": _by_class(told["classes"], arrays["labels"], arrays["judged"]),
    }


def table(found: dict[str, Any]) -> str:
    """What was found, for people."""
    lines = [f"{'class':32} {'pictures':>8}  {'right':>5}"]
    lines += [
        f"{name[:32]:32} {row['pictures']:8}  {row['right']:5}"
        for name, row in found["by_class"].items()
    ]
    return "\n".join(
        [
            *lines,
            f"{found['accuracy']:.1%} of the pictures are judged rightly when they are left out "
            f"({found['folds']} folds); always the largest class would be {found['majority']:.1%}.",
            f"The model is in {found['folder']}. Pages offer it when VITRINE_MODEL_FOLDERS lists "
            "that folder.",
        ]
    )


def _photos(path: Path, settings: Settings) -> Photos:
    if path.suffix.lower() != inputs.ZIP:
        raise InputError("It is no zip of class folders.", path.name, "Pack the folders as a .zip.")
    found = inputs.read([(path.name, contents(path, settings.max_unpacked_mb))], settings)
    head.check(found)
    return found


def _write(
    source: Path | None,
    out: Path,
    ref: ModelRef,
    told: dict[str, Any],
    arrays: dict[str, np.ndarray],
) -> None:
    if source is None:
        raise ModelError(f"{ref.label()} is no longer there. Run the command again.")
    made = (told["classes"], told["layer"], arrays["weight"], arrays["bias"])
    try:
        headed.write(source, out, *made, architecture=told["architecture"])
    except OSError as error:
        raise InputError(
            f"Cannot write there ({error.strerror}).", str(out), "Name another folder."
        ) from error
    except ValueError as error:
        raise ModelError(f"{ref.label()} cannot be copied: {error}.") from error


def _by_class(
    classes: list[str], labels: np.ndarray, judged: np.ndarray
) -> dict[str, dict[str, int]]:
    return {
        name: {
            "pictures": int((labels == number).sum()),
            "right": int(((labels == number) & (judged == number)).sum()),
        }
        for number, name in enumerate(classes)
    }
