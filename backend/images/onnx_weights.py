"""The weights inside an ONNX file, by name: its wire format read by hand, nothing of it run.

An ONNX file is a protocol buffer: fields of a number, a kind and a value, messages inside messages.
Of it only the graph's stored float tensors are read, and which of them its products multiply by.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

GRAPH, NODE, INITIALIZER = 7, 1, 5
INPUT, NAME, KIND = 1, 3, 4
DIMS, DATA_TYPE, TENSOR_NAME, RAW = 1, 2, 8, 9
FLOAT = 1
_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5


def read(file: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The stored tensors, and the name of the one that each matrix product multiplies by.

    Returns:
        tensors: float32 arrays by name, read-only. products: tensor's name by node's name.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no ONNX file.
    """
    tensors: dict[str, np.ndarray] = {}
    products: dict[str, str] = {}
    data = memoryview(file.read_bytes())
    try:
        for graph in _all(data, GRAPH):
            for part in _all(graph, INITIALIZER):
                if (tensor := _tensor(part)) is not None:
                    tensors[tensor[0]] = tensor[1]
            for part in _all(graph, NODE):
                if _text(part, KIND) == ["MatMul"]:
                    used = [name for name in _text(part, INPUT) if name in tensors]
                    products |= dict.fromkeys(_text(part, NAME), used[0]) if used else {}
    except (IndexError, ValueError, TypeError) as error:
        raise ValueError("this is no ONNX file") from error
    if not tensors:
        raise ValueError("this is no ONNX file with weights in it")
    return tensors, products


def _tensor(part: memoryview) -> tuple[str, np.ndarray] | None:
    """Name and values of a tensor of float32; None of other kinds of numbers."""
    found = list(_fields(part))
    if (DATA_TYPE, FLOAT) not in found:
        return None
    shape: list[int] = []
    for number, value in found:
        if number == DIMS:  # one by one, or packed
            shape += [value] if isinstance(value, int) else _varints(value)
    [raw] = _all(part, RAW)
    [name] = _text(part, TENSOR_NAME)
    return name, np.frombuffer(raw, dtype="<f4").reshape(shape)


def _all(message: memoryview, wanted: int) -> list[memoryview]:
    return [v for number, v in _fields(message) if number == wanted and not isinstance(v, int)]


def _text(message: memoryview, wanted: int) -> list[str]:
    return [bytes(value).decode() for value in _all(message, wanted)]


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Number and value of each field: a whole number, or the bytes of it."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if kind == _BYTES:
            size, at = _varint(message, at)
        elif kind in (_EIGHT, _FOUR):
            size = 8 if kind == _EIGHT else 4
        else:
            raise ValueError("a field of no known kind")
        if at + size > len(message):
            raise ValueError("a field is cut short")
        yield number, message[at : at + size]
        at += size


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """A whole number of seven bits a byte, and where it ends."""
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at
        if shift > 63:
            raise ValueError("a number without an end")


def _varints(message: memoryview) -> list[int]:
    found, at = [], 0
    while at < len(message):
        value, at = _varint(message, at)
        found.append(value)
    return found
