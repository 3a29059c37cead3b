"""What a recipe leaves open, by data set and architecture."""

from __future__ import annotations

from typing import Any

from backend.explanation import Frozen
from backend.graphs.architecture import Convolution, Labels, Pooling
from backend.graphs.explanation import Recipe


class Training(Frozen):
    """A recipe with nothing left open."""

    kind: Convolution
    hidden: int = 32
    layers: int = 3
    epochs: int = 100
    seed: int = 0
    learning_rate: float = 0.005
    batch: int = 64
    pooling: Pooling = "mean"
    batch_norm: bool = True
    labels: Labels = "true"


DEFAULTS: dict[str, dict[str, Any]] = {
    # An epoch of a node task is one step: all nodes are in one batch.
    "ba_shapes": {"epochs": 500, "learning_rate": 0.01},
    "tree_cycles": {"epochs": 500, "learning_rate": 0.01},
}
"""Settings by data set, or by `data set/architecture`; chosen on validation items."""


def resolved(recipe: Recipe, name: str) -> Training:
    """The recipe with the defaults of a data set and, before those, of its architecture there.

    Args:
        name: id of the data set.
    """
    known = DEFAULTS.get(name, {}) | DEFAULTS.get(f"{name}/{recipe.kind}", {})
    asked = recipe.model_dump(exclude_none=True)
    return Training.model_validate(known | asked)
