"""Whatever bytes come, they are read or refused with a sentence, in bounded time."""

from __future__ import annotations

import contextlib
import io
import time
import zipfile

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from backend.concepts import heads, inputs, tabular, thumbnails
from backend.concepts.explanation import ConceptTable
from backend.concepts.guess import guess
from backend.errors import InputError
from backend.settings import Settings
from tests.backend.concepts import tables

OPTIONS = Settings(max_table_mb=1.0, max_unpacked_mb=4.0)
SMALL = tables.small()
COLUMNS = tables.columns(SMALL)
FILES = {
    "t.csv": tables.csv(COLUMNS, ";", comma=True).encode(),
    "t.parquet": tables.parquet(COLUMNS),
    "t.npz": tables.npz(SMALL),
}


def picture() -> bytes:
    out = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (9, 9, 3)).astype("u1")).save(
        out, "PNG"
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("0.png", out.getvalue())
    return packed.getvalue()


HEAD = safetensors.numpy.save({"weight": np.ones((2, 3), "f4"), "bias": np.ones(2, "f4")})
edits = st.lists(
    st.tuples(
        st.floats(0, 1), st.sampled_from(["set", "cut", "add", "swap"]), st.binary(max_size=6)
    ),
    min_size=1,
    max_size=5,
)
cells = st.sampled_from(["", "nan", "1,5", "1e999", "-1", "0", "x", "\u0660", "1_0", '"', "\u2212"])
fuzz = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def mutated(data: bytes, changes) -> bytes:
    for place, kind, new in changes:
        i = int(place * len(data))
        if kind == "set":
            data = data[:i] + new + data[i + len(new) :]
        elif kind == "cut":
            data = data[:i] + data[i + 1 + 8 * len(new) :]
        elif kind == "add":
            data = data[:i] + new + data[i:]
        else:
            data = data[i:] + data[:i] if new.startswith(b"\x00") else data[: max(i, 20)]
    return data


def checked(work) -> None:
    start = time.perf_counter()
    with contextlib.suppress(InputError):
        found = work()
        if isinstance(found, ConceptTable):
            ConceptTable.from_bytes(found.to_bytes())
            assert np.isfinite(found.arrays["logits"]).all()
            assert found.arrays["concepts"].shape == found.arrays["logits"].shape
    assert time.perf_counter() - start < 5


def build(name, data) -> ConceptTable:
    frame = inputs.read(name, data, OPTIONS)
    return tabular.build(frame, guess(frame))


@pytest.mark.parametrize("name", FILES)
@fuzz
@given(changes=edits)
def test_mutated_tables(name, changes) -> None:
    checked(lambda: build(name, mutated(FILES[name], changes)))


@fuzz
@given(changes=edits, which=st.sampled_from(["logits", "concepts", "labels", "class_names"]))
def test_mutated_arrays(changes, which) -> None:
    """Inside an archive whose checksums are right."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(FILES["t.npz"])) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, mutated(data, changes) if name == f"{which}.npy" else data)
    checked(lambda: build("t.npz", out.getvalue()))


@pytest.mark.parametrize("name", FILES)
@fuzz
@given(data=st.binary(max_size=200))
def test_any_bytes(name, data) -> None:
    start = {"t.parquet": b"PAR1", "t.npz": b"PK\x03\x04"}.get(name, b"")
    checked(lambda: build(name, start + data))


@fuzz
@given(st.dictionaries(st.sampled_from(list(COLUMNS)), st.lists(cells, min_size=12, max_size=12)))
def test_any_cells(columns) -> None:
    checked(lambda: build("t.csv", tables.csv(COLUMNS | columns).encode()))


@fuzz
@given(st.lists(st.text(max_size=12), min_size=len(COLUMNS), max_size=len(COLUMNS)))
def test_any_names(names) -> None:
    numbered = [f"{i}{name}" if i % 2 else name for i, name in enumerate(names)]
    named = dict(zip(numbered, COLUMNS.values(), strict=True))
    checked(lambda: build("t.csv", tables.csv(named).encode("utf-8", "replace")))


@fuzz
@given(changes=edits)
def test_mutated_heads_and_pictures(changes) -> None:
    checked(
        lambda: heads.attach(
            SMALL, heads.read("h.safetensors", mutated(HEAD, changes), SMALL, OPTIONS)
        )
    )
    checked(lambda: thumbnails.attach(SMALL, "p.zip", mutated(picture(), changes), OPTIONS))
