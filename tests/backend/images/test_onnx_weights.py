"""Weights of ONNX files that are written here field by field."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from backend.images.onnx_weights import read


def varint(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def tensor(name, values, kind=1, packed=False):
    dims = values.shape
    shape = (
        block(1, b"".join(map(varint, dims)))
        if packed
        else b"".join(number(1, side) for side in dims)
    )
    return shape + number(2, kind) + block(8, name.encode()) + block(9, values.tobytes())


def node(name, kind, *inputs):
    used = b"".join(block(1, one.encode()) for one in inputs)
    return used + block(2, b"out") + block(3, name.encode()) + block(4, kind.encode())


A = np.arange(600, dtype=np.float32).reshape(2, 300)
B = np.array(2.5, dtype=np.float32)
GRAPH = (
    block(1, node("first/MatMul", "MatMul", "x", "a"))
    + block(1, node("second/MatMul", "MatMul", "x", "y"))
    + block(1, node("third", "Add", "x", "a"))
    + block(2, b"a graph")
    + block(5, tensor("a", A))
    + block(5, tensor("b", B, packed=True))
    + block(5, tensor("whole", np.arange(3), kind=7))
)
MODEL = (
    number(1, 8)
    + varint(40 << 3 | 1) + struct.pack("<d", 1.0)
    + varint(41 << 3 | 5) + struct.pack("<f", 1.0)
    + block(7, GRAPH)
    + block(8, b"opset")
)  # fmt: skip


def test_float_tensors_and_what_products_multiply_by(tmp_path):
    file = tmp_path / "a.onnx"
    file.write_bytes(MODEL)
    tensors, products = read(file)
    assert set(tensors) == {"a", "b"}
    np.testing.assert_array_equal(tensors["a"], A)
    np.testing.assert_array_equal(tensors["b"], B)
    assert tensors["b"].shape == ()
    assert products == {"first/MatMul": "a"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no weights",
        MODEL[:-200],
        number(1, 8),
        b"\x3a" + b"\xff" * 40,
        block(7, block(5, number(1, 5) + number(2, 1) + block(8, b"a") + block(9, b"123"))),
        block(7, block(5, number(1, 1) + number(2, 1) + block(8, b"a"))),
    ],
)
def test_other_files_are_refused(tmp_path, data):
    file = tmp_path / "a.onnx"
    file.write_bytes(data)
    with pytest.raises(ValueError, match="no ONNX file"):
        read(file)


def test_a_missing_file_is_an_error_of_the_system(tmp_path):
    with pytest.raises(OSError, match="missing"):
        read(tmp_path / "missing.onnx")
