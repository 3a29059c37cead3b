"""The files that carry the bundled data, and sources read from them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from backend.explanation import ModelRef
from backend.graphs import FAMILY, models


def carrier(preset):
    """Path of the file inside the installed package, which is not imported."""
    found = next(one for one in FAMILY.presets if one.id == preset)
    places = importlib.util.find_spec(found.package).submodule_search_locations
    return Path(next(iter(places))) / found.file


def source(preset, folder):
    """Convert into `folder`, then load from it."""
    models.convert(carrier(preset), folder)
    return models.load(folder, ModelRef(name=preset), "cpu")
