"""The command line of the Images family: which pictures, which class."""

from __future__ import annotations

import argparse
from pathlib import Path

from backend.errors import InputError, shown
from backend.files import contents
from backend.images import inputs
from backend.images.examples import EXAMPLES, OFFERED, SETS, photos
from backend.images.explanation import ImageTarget, Photos
from backend.settings import Settings

ALL = "all"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the family's own flags."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--example",
        metavar="NAME[,NAME]",
        help=f"of {', '.join(e.id for e in EXAMPLES)}; or {ALL} of these; or a set: "
        f"{', '.join(s.id for s in SETS)}",
    )
    source.add_argument(
        "--input",
        metavar="FILE",
        type=Path,
        help=f"a picture ({', '.join(inputs.ENDINGS)}), or a .zip of pictures in class folders",
    )
    parser.add_argument("--image", metavar="N", type=int, default=0, help="which picture, from 0")
    parser.add_argument("--label", metavar="N", type=int, help="explain this class, from 0")


def read(given: argparse.Namespace, settings: Settings) -> Photos:
    """The pictures the flags name.

    Raises:
        InputError: there is no such example or file, or it cannot be used.
    """
    if given.input is not None:
        path: Path = given.input
        most = (
            settings.max_unpacked_mb
            if path.suffix.lower() == inputs.ZIP
            else (settings.max_image_mb)
        )
        return inputs.read([(path.name, contents(path, most))], settings)
    known = [e.id for e in OFFERED]
    every = [e.id for e in EXAMPLES]
    names = every if given.example == ALL else [n for n in given.example.split(",") if n]
    for name in names:
        if name not in known:
            raise InputError(
                f"There is no example '{shown(name)}'.", "--example", f"Use {', '.join(known)}."
            )
    if not names:
        raise InputError("No example is named.", "--example", f"Use {', '.join(known)}.")
    return photos(tuple(dict.fromkeys(names)), settings)


def target(given: argparse.Namespace, found: Photos) -> ImageTarget:
    """Which picture and class the flags name.

    Raises:
        InputError: there is no such picture, or the class is no number from 0 on.
    """
    if not 0 <= given.image < len(found):
        raise InputError(
            f"There is no picture {given.image}.", "--image", f"Choose from 0 to {len(found) - 1}."
        )
    if given.label is not None and given.label < 0:
        raise InputError("It is a whole number from 0 on.", "--label")
    return ImageTarget(image=given.image, label=given.label)
