"""A small labelled photo set out of packages that are installed anyway: 14 photos of 8 kinds.

It shows what a head on frozen features can do, and no more: four kinds have one photo alone.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from backend.errors import ModelError
from backend.images import inputs
from backend.images.explanation import Photos
from backend.settings import Settings

_SCIKIT_IMAGE, _SCIKIT_LEARN = ("skimage", "data"), ("sklearn", "datasets/images")
_MATPLOTLIB = ("matplotlib", "mpl-data/sample_data")
PHOTOS = (
    ("animal", _SCIKIT_IMAGE, "chelsea.png"),
    ("building", _SCIKIT_LEARN, "china.jpg"),
    ("drink", _SCIKIT_IMAGE, "coffee.png"),
    ("person", _SCIKIT_IMAGE, "astronaut.png"),
    ("person", _SCIKIT_IMAGE, "camera.png"),
    ("person", _MATPLOTLIB, "grace_hopper.jpg"),
    ("plant", _SCIKIT_LEARN, "flower.jpg"),
    ("space", _SCIKIT_IMAGE, "hubble_deep_field.jpg"),
    ("space", _SCIKIT_IMAGE, "moon.png"),
    ("texture", _SCIKIT_IMAGE, "brick.png"),
    ("texture", _SCIKIT_IMAGE, "grass.png"),
    ("texture", _SCIKIT_IMAGE, "gravel.png"),
    ("vehicle", _SCIKIT_IMAGE, "motorcycle_left.png"),
    ("vehicle", _SCIKIT_IMAGE, "rocket.jpg"),
)  # fmt: skip
"""Class, place and file of each."""


def photos() -> Photos:
    """The set; folders are classes.

    Raises:
        ModelError: a package that carries some of it is not installed, or lacks them.
    """
    files = [_read(place, name) for _, place, name in PHOTOS]
    found = inputs.read(files, Settings())
    return Photos(
        arrays=found.arrays,
        names=found.names,
        folders=tuple(kind for kind, _, _ in PHOTOS),
        remarks=found.remarks,
        title="Photos of installed packages",
    )


def _read(place: tuple[str, str], name: str) -> tuple[str, bytes]:
    package, folder = place
    spec = importlib.util.find_spec(package)
    for root in (spec.submodule_search_locations or ()) if spec else ():
        file = Path(root) / folder / name
        if file.is_file():
            return name, file.read_bytes()
    raise ModelError(f"The photo {name} of {package} is missing: pip install -r requirements.txt")
