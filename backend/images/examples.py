"""Bundled pictures: photos, and a set that is drawn.

Photos are read out of the packages that carry them, as a person's own are.
"""

from __future__ import annotations

import dataclasses
import importlib.util
from pathlib import Path

from backend import examples
from backend.errors import InputError
from backend.images import inputs, parts
from backend.images.explanation import Photos
from backend.settings import Settings


@dataclasses.dataclass(frozen=True)
class Photo:
    """A bundled photo: where it is, and what to look at."""

    id: str
    title: str
    package: str
    file: str
    about: str


@dataclasses.dataclass(frozen=True)
class DrawnSet:
    """A set of pictures of parts: how many, of which seed, and what to look at."""

    id: str
    title: str
    count: int
    seed: int
    about: str


EXAMPLES: tuple[Photo, ...] = (
    Photo(
        "chelsea", "A cat", "skimage", "data/chelsea.png",
        "A tabby from near. Does the classifier look at the face, the ears or the fur?",
    ),
    Photo(
        "coffee", "A cup of coffee", "skimage", "data/coffee.png",
        "An espresso. Is it the cup, the foam or the spoon?",
    ),
    Photo(
        "motorcycle", "A motorcycle", "skimage", "data/motorcycle_left.png",
        "Indoors, among much else. Does the rest of the room count?",
    ),
    Photo(
        "rocket", "A rocket", "skimage", "data/rocket.jpg",
        "Is it the rocket that decides, or the tower and the smoke?",
    ),
    Photo(
        "flower", "A flower", "sklearn", "datasets/images/flower.jpg",
        "A dahlia. Most classifiers know daisies better.",
    ),
    Photo(
        "palace", "A palace", "sklearn", "datasets/images/china.jpg",
        "A large scene: is it the roof alone?",
    ),
    Photo(
        "camera", "A photographer", "skimage", "data/camera.png",
        "Grey, and the tripod decides. Does the man matter?",
    ),
    Photo(
        "astronaut", "An astronaut", "skimage", "data/astronaut.png",
        "Few classifiers have a class for her: what do they look at instead?",
    ),
)  # fmt: skip


PARTS = "parts"
SETS: tuple[DrawnSet, ...] = (
    DrawnSet(
        PARTS, parts.TITLE, 24, 10_000,
        "Two coloured parts make a class. None of these was learned from: does a classifier "
        "trained here look at both?",
    ),
)  # fmt: skip
OFFERED: tuple[Photo | DrawnSet, ...] = (*EXAMPLES, *SETS)


def example(name: str) -> Photo | DrawnSet:
    """The photo or the set with this id.

    Raises:
        KeyError: there is none; the text lists those there are.
    """
    return examples.find(OFFERED, name)


def photos(names: tuple[str, ...], settings: Settings) -> Photos:
    """Bundled photos as a set, or a set that is one already.

    Raises:
        InputError: the package of one is not installed, or a set is named with others.
        KeyError: there is no such photo or set.
    """
    named = [example(name) for name in names]
    chosen = [one for one in named if isinstance(one, Photo)]
    for one in named:
        if isinstance(one, DrawnSet):
            if len(named) > 1:
                raise InputError(f"'{one.id}' is a set of pictures already.", todo="Name it alone.")
            return parts.photos(one.count, one.seed, one.id)
    found = inputs.read([(Path(p.file).name, carried(p)) for p in chosen], settings)
    title = chosen[0].title if len(chosen) == 1 else f"{len(chosen)} bundled photos"
    return dataclasses.replace(
        found,
        names=tuple(p.title for p in chosen),
        title=title,
        example=",".join(names),
    )


def carried(photo: Photo) -> bytes:
    """The file of a photo.

    Raises:
        InputError: the package that carries it is not installed.
    """
    spec = importlib.util.find_spec(photo.package)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        file = Path(place) / photo.file
        if file.is_file():
            return file.read_bytes()
    raise InputError(
        f"The photo '{photo.id}' is not installed.",
        todo=f"Install it with: pip install {photo.package}",
    )
