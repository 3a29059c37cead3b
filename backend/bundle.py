"""Named arrays and plain values that travel together as one safetensors file."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any, Self, get_origin, get_type_hints

import numpy as np
import safetensors
import safetensors.numpy
from pydantic import ConfigDict, TypeAdapter, ValidationError

from backend.errors import InputError

Arrays = dict[str, np.ndarray]


def canonical_json(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no spaces, no NaN.

    Raises:
        ValueError: a NaN or an infinity is in it.
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def digest(*parts: bytes) -> str:
    """SHA-256 of the parts, each preceded by its length, as 64 hex digits."""
    sha = hashlib.sha256()
    for part in parts:
        sha.update(len(part).to_bytes(8, "big"))
        sha.update(part)
    return sha.hexdigest()


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Bundle:
    """Base of everything that is stored: an input or an explanation.

    A subclass is a frozen dataclass. A field annotated `Arrays` holds named numpy arrays; every
    other field holds what pydantic can write as JSON and read back by its annotation.
    """

    def to_bytes(self) -> bytes:
        """This bundle as a safetensors file whose metadata holds the plain values.

        Raises:
            ValueError: a NaN or an infinity is among the plain values.
        """
        arrays, values = self.parts()
        # One entry: safetensors writes several in no fixed order, and equal content shall give
        # equal bytes.
        bundle = canonical_json({"kind": type(self).__name__, "values": values})
        return safetensors.numpy.save(arrays, metadata={"bundle": bundle})

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote.

        Raises:
            InputError: the bytes are not a bundle of this class.
        """
        try:
            found = _head(data)
            if found["kind"] != cls.__name__:
                raise InputError(f"This file holds a {found['kind']}, not a {cls.__name__}.")
            return cls.build(found["values"], safetensors.numpy.load(data))
        except (
            KeyError,
            TypeError,
            ValueError,
            RecursionError,
            ValidationError,
            safetensors.SafetensorError,
        ) as error:
            raise InputError(f"The file is not a stored {cls.__name__}: {error}") from error

    def label(self) -> str:
        """A short name for lists, in a person's own words; "" where there is none."""
        return ""

    def digest(self) -> str:
        """Content hash over values and arrays: equal content, equal hash."""
        arrays, values = self.parts()
        parts = [type(self).__name__.encode(), canonical_json(values).encode()]
        for name in sorted(arrays):
            array = arrays[name]
            parts += [name.encode(), f"{array.dtype.str}{array.shape}".encode(), array.tobytes()]
        return digest(*parts)

    def parts(self) -> tuple[Arrays, dict[str, Any]]:
        """The named arrays, and everything else as JSON values."""
        arrays: Arrays = {}
        values: dict[str, Any] = {}
        for name, hint in _hints(type(self)).items():
            value = getattr(self, name)
            if hint is Arrays or hint == Arrays:
                arrays.update({key: _plain(array) for key, array in value.items()})
            else:
                values[name] = _adapter(hint).dump_python(value, mode="json")
        return arrays, values

    @classmethod
    def build(cls, values: dict[str, Any], arrays: Arrays) -> Self:
        fields: dict[str, Any] = {}
        for name, hint in _hints(cls).items():
            if hint == Arrays:
                fields[name] = arrays
            elif name in values:
                fields[name] = TypeAdapter(hint).validate_python(values[name])
        return cls(**fields)


def _adapter(hint: Any) -> TypeAdapter[Any]:
    # By default pydantic writes a NaN among untyped values as null without a word.
    config = ConfigDict(ser_json_inf_nan="constants") if get_origin(hint) is dict else None
    return TypeAdapter(hint, config=config)


def _plain(array: np.ndarray) -> np.ndarray:
    """The array as safetensors needs it, which writes the raw buffer: in C order, little-endian."""
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def kind(data: bytes) -> str:
    """The name of the class whose `to_bytes` wrote this, or "" where it is no bundle."""
    try:
        return str(_head(data)["kind"])
    except (KeyError, TypeError, ValueError, RecursionError):
        return ""


def _head(data: bytes) -> dict[str, Any]:
    size = int.from_bytes(data[:8], "little")
    found: dict[str, Any] = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["bundle"])
    return found


def _hints(cls: type[Bundle]) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}
