"""The bundled data sets as model folders, and the adapter that hands them to the training.

What the Concepts family lists as a bundled model is the data one is trained on: an installed
package carries it, `convert` copies it into a folder, `load` reads it. Which samples are trained
on, and how they are put together, is decided by a recipe's seed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from backend import carried
from backend.bundle import Arrays
from backend.concepts import cancer, digits, shapes
from backend.concepts.explanation import ConceptTable
from backend.concepts.samples import Data
from backend.explanation import ModelRef

CARRIERS = {
    "mnist_5k.csv.gz": "mnist_sum",
    "shapes.py": "shapes",
    "breast_cancer.csv": "breast_cancer",
    "xor.py": "xor",
    "explanation.py": "table",
}
"""Which data a carrier file holds, by its name."""
READERS: dict[str, Callable[[Path], Arrays]] = {
    "mnist_sum": digits.read,
    "breast_cancer": cancer.read,
}
MAKERS: dict[str, Callable[[Arrays, int], Data]] = {
    "mnist_sum": digits.data,
    "shapes": shapes.data,
    "breast_cancer": cancer.data,
}
WITHOUT_DATA = ("xor", "table")
"""Those no model is trained on: the one is a table as it stands, the other is the user's."""


class Source:
    """One data set, or what stands in its place.

    Args:
        id: `mnist_sum`, `shapes`, `breast_cancer`, `xor` or `table`.
        arrays: what its reader found in the carrier.
    """

    def __init__(self, id: str, arrays: Arrays) -> None:
        self.id, self.arrays = id, arrays

    def data(self, seed: int) -> Data | None:
        """Training and validation samples, or None where there is nothing to train on."""
        make = MAKERS.get(self.id)
        return make(self.arrays, seed) if make else None

    def table(self, seed: int) -> ConceptTable | None:
        """The table, where it comes ready made."""
        if self.id != "xor":
            return None
        from backend.concepts.xor import xor_table  # type: ignore[import-untyped, import-not-found]

        found: ConceptTable = xor_table(seed)
        return found


def convert(carrier: Path, folder: Path) -> None:
    """Write the data of a carrier as config.json and data.safetensors.

    Raises:
        ModelError: it is no carrier of the Concepts family, or cannot be read.
    """
    carried.convert(carrier, folder, CARRIERS, READERS, "data")


def unsupported(config: dict[str, object]) -> str | None:
    """Why a folder with this config.json holds no data of this family, or None."""
    if config.get("data") in (*MAKERS, *WITHOUT_DATA):
        return None
    return "This folder holds no data set of the Concepts family; choose a bundled one."


def load(folder: Path, ref: ModelRef, device: str) -> Source:  # noqa: ARG001
    """The data set in a folder that `convert` wrote; training runs on the CPU.

    Raises:
        ModelError: the folder holds no data set.
    """
    config, arrays = carried.load(folder, ref, unsupported)
    return Source(config["data"], arrays)
