"""The bundled data sets and networks as model folders, and the adapter that hands them out.

What the Graphs family lists as a bundled model is the data one is trained on: a module that makes
it, or a file in an installed package; or networks that come trained. `convert` copies what a file
holds into a folder, `load` reads it. Which items are trained on is decided by a recipe's seed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from backend import carried
from backend.bundle import Arrays
from backend.explanation import ModelRef
from backend.graphs import (
    admet_ai,
    ba_2motifs,
    ba_shapes,
    benzene,
    multi_shapes,
    mutag,
    nitro_amine,
    tree_cycles,
)
from backend.graphs.examples import OWN
from backend.graphs.explanation import GraphSet, Pretrained

CARRIERS = {
    "ba_2motifs.py": "ba_2motifs",
    "multi_shapes.py": "multi_shapes",
    "ba_shapes.py": "ba_shapes",
    "tree_cycles.py": "tree_cycles",
    "nitro_amine.py": "nitro_amine",
    "benzene.py": "benzene",
    "MUTAG_A.txt": "mutag",
    "model_0.pt": "admet_ai",
    "explanation.py": OWN,
}
"""Which data a carrier file holds, by its name."""
READERS: dict[str, Callable[[Path], Arrays]] = {"mutag": mutag.read, "admet_ai": admet_ai.read}
MAKERS: dict[str, Callable[[Arrays, int], GraphSet]] = {
    "ba_2motifs": lambda _, seed: ba_2motifs.data(seed),
    "multi_shapes": lambda _, seed: multi_shapes.data(seed),
    "ba_shapes": lambda _, seed: ba_shapes.data(seed),
    "tree_cycles": lambda _, seed: tree_cycles.data(seed),
    "nitro_amine": lambda _, seed: nitro_amine.data(seed),
    "benzene": lambda _, seed: benzene.data(seed),
    "mutag": mutag.data,
}
"""Labelled graphs to train on, of a seed."""
TRAINED: dict[str, Callable[[Arrays, Pretrained], GraphSet]] = {"admet_ai": admet_ai.data}
"""Graphs with a network that came trained."""


class Source:
    """One data set, or what stands in its place.

    Args:
        id: a key of MAKERS or TRAINED, or OWN.
        arrays: what its reader found in the carrier.
    """

    def __init__(self, id: str, arrays: Arrays) -> None:
        self.id, self.arrays = id, arrays

    def data(self, seed: int) -> GraphSet | None:
        """Labelled graphs without a GNN, or None where there is nothing to train on."""
        make = MAKERS.get(self.id)
        return make(self.arrays, seed) if make else None

    def network(self, asked: Pretrained) -> GraphSet | None:
        """Graphs with a network that came trained, or None where none did."""
        make = TRAINED.get(self.id)
        return make(self.arrays, asked) if make else None


def convert(carrier: Path, folder: Path) -> None:
    """Write the data of a carrier as config.json and data.safetensors.

    Raises:
        ModelError: it is no carrier of the Graphs family, or cannot be read.
    """
    carried.convert(carrier, folder, CARRIERS, READERS, "graphs")


def unsupported(config: dict[str, object]) -> str | None:
    """Why a folder with this config.json holds no data of this family, or None."""
    if config.get("graphs") in (*MAKERS, *TRAINED, OWN):
        return None
    return "This folder holds no data set of the Graphs family; choose a bundled one."


def load(folder: Path, ref: ModelRef, device: str) -> Source:  # noqa: ARG001
    """The data set in a folder that `convert` wrote.

    Raises:
        ModelError: the folder holds no data set.
    """
    config, arrays = carried.load(folder, ref, unsupported)
    return Source(config["graphs"], arrays)
