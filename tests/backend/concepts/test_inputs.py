"""Tables read from files: every format gives the same table, and faults say what to do."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from backend.concepts import inputs, tabular
from backend.concepts.guess import guess
from backend.errors import InputError
from backend.settings import Settings
from tests.backend.concepts import tables

OPTIONS = Settings(max_samples=50, max_columns=40, max_table_mb=0.1, max_unpacked_mb=1.0)
SMALL = tables.small()
COLUMNS = tables.columns(SMALL)


def built(name: str, data: bytes | str):
    data = data.encode() if isinstance(data, str) else data
    frame = inputs.read(name, data, OPTIONS)
    return tabular.build(frame, guess(frame))


def notes(table) -> str:
    return " ".join(table.origin["notes"])


def same(found, wanted=SMALL) -> None:
    for name in ("concept_names", "class_names", "group_names", "references", "title"):
        assert getattr(found, name) == getattr(wanted, name)
    assert found.arrays.keys() == wanted.arrays.keys()
    for name, array in wanted.arrays.items():
        assert found.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(found.arrays[name], array, err_msg=name)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
def test_csv_of_every_kind(delimiter, end, codec) -> None:
    same(built("small.csv", tables.csv(COLUMNS, delimiter, end).encode(codec)))


@pytest.mark.parametrize("delimiter", [";", "\t", ","])
def test_decimal_commas(delimiter) -> None:
    found = built("small.csv", tables.csv(COLUMNS, delimiter, comma=True))
    same(found)
    assert "Commas are read as decimal points in logit_red" in notes(found)


def test_parquet_and_npz_and_what_they_hold() -> None:
    same(built("small.parquet", tables.parquet(COLUMNS)))
    same(built("small.NPZ", tables.npz(SMALL)))
    pictures = np.random.default_rng(0).integers(0, 255, size=(12, 4, 4, 3)).astype(np.uint8)
    found = built("small.npz", tables.npz(SMALL, images=pictures, other=np.ones((2, 2))))
    np.testing.assert_array_equal(found.arrays["images"], pictures)
    assert "'other' is not read" in notes(found)


def test_a_written_table_survives_the_store() -> None:
    table = built("small.csv", tables.csv(COLUMNS))
    assert type(table).from_bytes(table.to_bytes()).digest() == table.digest()
    assert table.origin["mapping"]["concepts"][2]["truth"] == "true_has stem"


def test_probabilities_in_an_archive_and_argmax_of_its_scores() -> None:
    data = tables.npz(
        SMALL,
        logits=None,
        predictions=None,
        class_names=None,
        concept_names=None,
        probabilities=SMALL.probabilities,
    )
    found = built("small.npz", data)
    np.testing.assert_allclose(found.arrays["logits"], SMALL.arrays["logits"], rtol=1e-5)
    np.testing.assert_array_equal(found.arrays["predictions"], SMALL.arrays["predictions"])
    assert found.concept_names == ("concept 0", "concept 1", "concept 2")
    assert found.class_names == ("0", "1")
    assert "highest score" in notes(found)


def test_latin_text_is_read_and_said() -> None:
    named = {("true_grün" if c == "true_red" else c): v for c, v in COLUMNS.items()}
    named = {("logit_grün" if c == "logit_red" else c): v for c, v in named.items()}
    found = built("a.csv", tables.csv(named, ";").encode("cp1252"))
    assert found.concept_names[0] == "grün"
    assert "Windows-1252" in notes(found)


def test_names_that_python_would_read_as_numbers_stay_names() -> None:
    named = COLUMNS | {"image": [f"1_{i}" for i in range(12)]}
    assert built("small.csv", tables.csv(named)).references[:2] == ("1_0", "1_1")


def test_trailing_delimiters_and_blank_rows() -> None:
    lines = tables.csv(COLUMNS).splitlines()
    same(built("small.csv", ",\n".join(lines) + ",\n,,,\n\n"))


def test_equal_names_are_kept_apart() -> None:
    lines = tables.csv({**COLUMNS, "again": COLUMNS["true_red"]}).splitlines()
    found = built("small.csv", "\n".join([lines[0].replace("again", "true_red"), *lines[1:]]))
    same(found)
    assert "same name are kept apart by a number: true_red" in notes(found)


def archive(**entries: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in entries.items():
            file.writestr(f"{name}.npy", data)
    return out.getvalue()


def header(shape: str, descr: str = "'<f4'") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def objects() -> bytes:
    out = io.BytesIO()
    np.savez(out, labels=np.array([print, 1], dtype=object), allow_pickle=True)
    return out.getvalue()


def nested() -> bytes:
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"logits": [[1.0, 2.0]]}), out)
    return out.getvalue()


def long_words() -> bytes:
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"a": ["x" * 20_000] * 40}), out)
    return out.getvalue()


LONG = tables.csv({"label": list(range(60))})
FAULTS = [
    ("a.csv", b"", "empty"),
    ("a.csv", b" \n ", "empty"),
    ("a.csv", b"label,prob_a\n", "no sample"),
    ("a.csv", LONG.encode(), "more than 50 samples"),
    ("a.csv", (",".join(f"c{i}" for i in range(41)) + "\n").encode(), "41 columns"),
    ("a.csv", b"x" * 100_001, "more than 0.1 MB"),
    ("a.csv", b"1,2\n3,4\n", "numbers, not names"),
    ("a.csv", b"a,b\n1,2\n3\n", "Row 3 has 1 cells"),
    ("a.csv", b'a,b\n1,"2\n', "broken"),
    ("a.csv", b"a,b\n1,\x002\n", "not a text file"),
    ("a.csv", b"\xff\xfea,b\n1", "not a text file"),
    ("a.csv", b"PK\x03\x04 anything", "zip archive"),
    ("a.parquet", b"PK\x03\x04 anything", "zip archive"),
    ("a.npz", b"a,b\n1,2\n", "no file of that kind"),
    ("a.npz", b"PK\x03\x04 anything", "cannot be read"),
    ("a.parquet", b"PAR1 anything PAR1", "cannot be read"),
    ("a.xlsx", b"PK", "Save the sheet as CSV"),
    ("a.pkl", b"\x80\x04", "can run code"),
    ("a", b"a", "not read"),
    ("a.npz", objects(), "pickled objects"),
    ("a.npz", archive(labels=header("(1000000000000,)")), "not an array of its size"),
    ("a.npz", archive(labels=header("(-1,)")), "not an array of its size"),
    ("a.npz", archive(labels=b"x" * 2_000_000), "unpacks to"),
    ("a.npz", archive(labels=header("(0,)", "'O'")), "pickled objects"),
    ("a.npz", archive(labels=header("(1,)", "'<U1'") + b"\x00\x00\x11\x00"), "no characters"),
    ("a.npz", archive(labels=header("(1,)", "'>U1'") + b"\x00\x00\xd8\x00"), "no characters"),
    ("a.npz", tables.npz(SMALL, labels=None), "no array labels"),
    ("a.npz", tables.npz(SMALL, labels=np.zeros(5)), "shape"),
    ("a.npz", tables.npz(SMALL, concepts=np.zeros((12, 2))), "3"),
    ("a.npz", tables.npz(SMALL, concept_names=np.array(["a"])), "1 names for 3"),
    ("a.parquet", nested(), "no sample"),
    ("a.parquet", long_words(), "20,000 characters"),
    ("a.parquet", tables.parquet({"label": list(range(60))}), "more than 50 samples"),
]


@pytest.mark.parametrize(("name", "data", "said"), FAULTS, ids=[f"{n} {s}" for n, _, s in FAULTS])
def test_faults_are_named(name, data, said) -> None:
    with pytest.raises(InputError, match=said) as found:
        built(name, data)
    assert found.value.todo
    assert found.value.where.startswith(name)


def test_a_bomb_of_parquet_is_refused() -> None:
    out = io.BytesIO()
    zeros = pyarrow.table({f"c{i}": np.zeros(50) + i for i in range(9)})
    pyarrow.parquet.write_table(zeros, out, use_dictionary=False)
    with pytest.raises(InputError, match="unpacks to more"):
        inputs.read("a.parquet", out.getvalue(), Settings(max_unpacked_mb=0.001))
