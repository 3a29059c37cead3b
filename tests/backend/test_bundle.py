"""Bundles: what is written is what is read, and nothing else is read."""

import dataclasses
import json
import pickle  # noqa: TID251  what must be refused

import numpy as np
import pytest
import safetensors.numpy

from backend.bundle import Arrays, Bundle, canonical_json, digest, kind
from backend.errors import InputError
from backend.explanation import Explanation


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Thing(Bundle):
    name: str
    pairs: tuple[tuple[int, str], ...] = ()
    share: float | None = None
    arrays: Arrays = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Other(Bundle):
    name: str


BASE = np.arange(60, dtype=np.float64).reshape(3, 4, 5)
ARRAYS = {
    "plain": BASE,
    "fortran": np.asfortranarray(BASE),
    "transposed": BASE.T,
    "sliced": BASE[::2, 1:, ::-2],
    "broadcast": np.broadcast_to(np.float32(3), (2, 3)),
    "scalar": np.array(7.5),
    "empty": np.zeros((0, 4), np.float32),
    "big endian": BASE.astype(">f8"),
    "bool": BASE > 30,
    "int8": BASE.astype(np.int8),
    "half": BASE.astype(np.float16),
    "undefined": np.array([np.nan, np.inf, -0.0]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_come_back_as_they_were(name):
    array = ARRAYS[name]
    thing = Thing(name="x", arrays={name: array})
    found = Thing.from_bytes(thing.to_bytes())
    assert list(found.arrays) == [name]
    assert found.arrays[name].shape == array.shape
    assert found.arrays[name].dtype == array.dtype.newbyteorder("<")
    np.testing.assert_array_equal(found.arrays[name], array)
    assert found.digest() == thing.digest()


def test_values_come_back_as_they_were():
    thing = Thing(name="مرحبا 🙂\0\ud7ff\n", pairs=((1, "a"), (2, "b")), share=0.1)
    found = Thing.from_bytes(thing.to_bytes())
    assert (found.name, found.pairs, found.share) == (thing.name, thing.pairs, thing.share)
    assert found.arrays == {}
    assert kind(thing.to_bytes()) == "Thing"


def test_equal_content_gives_equal_bytes():
    things = [Thing(name="x", arrays={k: ARRAYS[k] for k in o}) for o in (ARRAYS, sorted(ARRAYS))]
    assert len({thing.to_bytes() for thing in things for _ in range(20)}) == 1
    assert things[0].digest() == things[1].digest()


def test_digest_tells_apart():
    array = np.arange(6, dtype=np.int32)
    different = [
        Thing(name="x", arrays={"a": array}),
        Thing(name="y", arrays={"a": array}),
        Thing(name="x", share=0.0, arrays={"a": array}),
        Thing(name="x", arrays={"b": array}),
        Thing(name="x", arrays={"a": array.reshape(2, 3)}),
        Thing(name="x", arrays={"a": array.reshape(3, 2)}),
        Thing(name="x", arrays={"a": array.astype(np.uint32)}),
        Thing(name="x", arrays={"a": array.view(np.float32)}),
        Thing(name="x", arrays={"a": array + 1}),
        Thing(name="x", arrays={"a": array, "b": array}),
        Thing(name="x"),
        Other(name="x"),
    ]
    assert len({thing.digest() for thing in different}) == len(different)
    assert len({thing.to_bytes() for thing in different}) == len(different)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_undefined_values_are_refused(value):
    """JSON has no NaN: what is undefined is None, or in an array."""
    with pytest.raises(ValueError, match="JSON"):
        Thing(name="x", share=value).to_bytes()
    with pytest.raises(ValueError, match="JSON"):
        Explanation(arrays={}, values={"deep": [{"er": value}]}).to_bytes()


@pytest.mark.parametrize("array", [np.array(["text"]), np.array([{}, None]), np.array([b"x"])])
def test_only_numbers_are_stored(array):
    with pytest.raises((TypeError, ValueError, KeyError, safetensors.SafetensorError)):
        Thing(name="x", arrays={"a": array}).to_bytes()


def test_wrong_class():
    with pytest.raises(InputError, match="holds a Other, not a Thing"):
        Thing.from_bytes(Other(name="x").to_bytes())


def header(text):
    return len(text.encode()).to_bytes(8, "little") + text.encode()


def bundle(text):
    return header(json.dumps({"__metadata__": {"bundle": text}}))


GARBAGE = {
    "nothing": b"",
    "short": b"abc",
    "zeros": bytes(100),
    "ones": b"\xff" * 100,
    "pickle": pickle.dumps({"name": "x"}, protocol=4),
    "no metadata": safetensors.numpy.save({"a": BASE}),
    "foreign": safetensors.numpy.save({"a": BASE}, metadata={"format": "pt"}),
    "list": header("[]"),
    "null": header("null"),
    "deep": header("[" * 100_000),
    "no json": bundle("{"),
    "number": bundle("3"),
    "no values": bundle('{"kind": "Thing"}'),
    "missing field": bundle('{"kind": "Thing", "values": {}}'),
    "wrong type": bundle('{"kind": "Thing", "values": {"name": []}}'),
    "values no object": bundle('{"kind": "Thing", "values": 3}'),
    "not UTF-8": (4).to_bytes(8, "little") + b"\xff\xfe\x00\x01",
}


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_is_refused(name):
    with pytest.raises(InputError, match="is not a stored Thing"):
        Thing.from_bytes(GARBAGE[name])
    assert kind(GARBAGE[name]) in ("", "Thing")


def test_every_cut_is_refused():
    data = Thing(name="x", arrays={"a": BASE}).to_bytes()
    for length in range(0, len(data), 7):
        with pytest.raises(InputError):
            Thing.from_bytes(data[:length])


def test_parts_of_a_digest_do_not_run_together():
    assert digest(b"ab", b"c") != digest(b"a", b"bc") != digest(b"abc")
    assert digest() != digest(b"")


def test_canonical_json():
    assert canonical_json({"b": 1, "a": [1.5, None, "é"]}) == '{"a":[1.5,null,"é"],"b":1}'
