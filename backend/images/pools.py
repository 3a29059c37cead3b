"""The pictures that a class's concepts are found in, where a person names none of their own.

- Pictures in class folders: they, and not those that lie beside the folders.
- Ten pictures or more: they.
- A model that was trained on the pictures of parts, or one of these pictures: more of them.
- Else bundled photos of many things, with the pictures brought.
"""

from __future__ import annotations

import dataclasses

from backend.explanation import ModelRef
from backend.images import inputs, parts
from backend.images.examples import EXAMPLES, PARTS, Photo, carried, photos
from backend.images.explanation import Photos
from backend.settings import Settings

FROM = 10
"""Pictures from which on a set is its own pool."""
PARTS_SEED, PARTS_COUNT = 20_000, 180
OTHERS = (
    "brick.png", "clock_motion.png", "coins.png", "grass.png", "gravel.png", "horse.png",
    "hubble_deep_field.jpg", "moon.png", "page.png", "retina.jpg",
)  # fmt: skip
"""Pictures of scikit-image that are of no class in particular."""


def pool(given: Photos, model: ModelRef, settings: Settings) -> Photos:
    """The concept pictures of a set that is explained.

    Raises:
        InputError: the package of a bundled photo is not installed.
    """
    if given.example == PARTS or (model.source == "preset" and model.name.startswith("parts-")):
        return parts.photos(PARTS_COUNT, PARTS_SEED)
    if not given.example:
        inside = [i for i, folder in enumerate(given.folders) if folder]
        if len({given.folders[i] for i in inside}) > 1:
            return given.subset(inside)
        if len(given) >= FROM:
            return given
    bundled = _bundled(settings)
    return bundled if given.example else bundled.beside(given)


def _bundled(settings: Settings) -> Photos:
    known = photos(tuple(photo.id for photo in EXAMPLES), settings)
    others = [Photo(name, name, "skimage", f"data/{name}", "") for name in OTHERS]
    read = inputs.read([(one.title, carried(one)) for one in others], settings)
    return dataclasses.replace(known.beside(read), title="Bundled photos")
