"""Bundled data sets as model folders: what a carrier file holds, as config.json and safetensors."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import safetensors
import safetensors.numpy

from backend.bundle import Arrays
from backend.errors import ModelError
from backend.explanation import ModelRef

Reader = Callable[[Path], Arrays]


def convert(
    carrier: Path, folder: Path, known: Mapping[str, str], readers: Mapping[str, Reader], field: str
) -> None:
    """Write the data of a carrier as config.json and data.safetensors.

    Args:
        known: the data set a carrier holds, by the carrier's name.
        readers: what reads a data set's carrier; one without is made, and has no arrays.
        field: of config.json, for the data set's id.

    Raises:
        ModelError: it is no known carrier, or cannot be read.
    """
    if carrier.name not in known:
        raise ModelError(f"{carrier.name} carries none of {', '.join(known.values())}.")
    id = known[carrier.name]
    read = readers.get(id)
    try:
        arrays = read(carrier) if read else {}
    except (OSError, ValueError, IndexError) as error:
        raise ModelError(f"{carrier.name} cannot be read: {error}") from error
    safetensors.numpy.save_file(arrays, folder / "data.safetensors")
    (folder / "config.json").write_text(json.dumps({field: id}), encoding="utf-8")


def load(
    folder: Path, ref: ModelRef, unsupported: Callable[[dict[str, Any]], str | None]
) -> tuple[dict[str, Any], Arrays]:
    """config.json and the arrays of a folder that `convert` wrote.

    Args:
        unsupported: of the family.

    Raises:
        ModelError: the folder holds no data set of the family.
    """
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        arrays = safetensors.numpy.load_file(folder / "data.safetensors")
    except (OSError, ValueError, safetensors.SafetensorError) as error:
        raise ModelError(f"{ref.label()} holds no readable data set: {error}") from error
    if not isinstance(config, dict):
        raise ModelError(f"{ref.label()} holds no readable data set: config.json is no object")
    if reason := unsupported(config):
        raise ModelError(reason)
    return config, arrays
