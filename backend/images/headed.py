"""A model folder with another head: all else is copied byte by byte, in its own precision."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import safetensors

PREPROCESSOR = "preprocessor_config.json"
_GONE = ("num_labels", "_num_labels", "problem_type", "_name_or_path")


def write(
    source: Path,
    folder: Path,
    classes: Sequence[str],
    layer: str,
    weight: np.ndarray,
    bias: np.ndarray,
    architecture: str,
) -> None:
    """Write config.json, preprocessor_config.json and model.safetensors of the new classifier.

    Args:
        source: folder of a classifier of transformers; may be `folder`.
        layer: name of the last linear layer. weight: [K, D]. bias: [K].
        architecture: name of the classifier's class.

    Raises:
        OSError: a file cannot be read or written.
        ValueError: one of the source's is broken.
    """
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    config = {name: value for name, value in config.items() if name not in _GONE}
    config |= {
        "architectures": [architecture],
        "id2label": {str(i): name for i, name in enumerate(classes)},
        "label2id": {name: i for i, name in enumerate(classes)},
    }
    tensors = _tensors(source)
    tensors |= {f"{layer}.weight": _float32(weight), f"{layer}.bias": _float32(bias)}
    preprocessor = (source / PREPROCESSOR).read_bytes()
    _save(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    (folder / PREPROCESSOR).write_bytes(preprocessor)


def _tensors(source: Path) -> dict[str, dict[str, Any]]:
    try:
        return {
            name: tensor
            for file in sorted(source.glob("*.safetensors"))
            for name, tensor in safetensors.deserialize(file.read_bytes())  # type: ignore[no-untyped-call]
        }
    except safetensors.SafetensorError as error:
        raise ValueError("the weights are broken") from error


def _float32(values: np.ndarray) -> dict[str, Any]:
    data = np.ascontiguousarray(values, dtype="<f4")
    return {"dtype": "F32", "shape": list(data.shape), "data": data.tobytes()}


def _save(tensors: dict[str, dict[str, Any]], file: Path) -> None:
    """Write tensors of any precision: numpy, whose writer safetensors has, lacks some.

    Wide numbers come first, so that each starts at a multiple of its width; then by name.
    """

    def place(name: str) -> tuple[int, str]:
        tensor = tensors[name]
        return -(len(tensor["data"]) // max(1, math.prod(tensor["shape"]))), name

    tensors = {name: tensors[name] for name in sorted(tensors, key=place)}
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, tensor in tensors.items():
        start, end = end, end + len(tensor["data"])
        told = {"dtype": tensor["dtype"], "shape": tensor["shape"]}
        header[name] = told | {"data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with file.open("wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            stream.write(tensor["data"])
