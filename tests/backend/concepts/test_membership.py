"""The member list: read back, checked against the table, and safe in a spreadsheet."""

from __future__ import annotations

import csv
import dataclasses
import io

import numpy as np
import pytest

from backend.concepts.explanation import ConceptTarget
from backend.concepts.gaussian_slices import GaussianSlices
from backend.concepts.membership import HEAD, members, numbers
from backend.errors import InputError
from tests.backend.concepts.planted import planted
from tests.fake import FakeRun


def case(**names):
    table = planted(spread=1.0)
    concepts = table.arrays["concepts"].copy()
    concepts[:, 1] = 1
    references = tuple(f"picture {i}.png" for i in range(len(table)))
    table = dataclasses.replace(
        table, arrays={**table.arrays, "concepts": concepts}, **{"references": references} | names
    )
    chosen = GaussianSlices.Parameters(slices=4)
    return table, GaussianSlices().explain(None, table, ConceptTarget(), chosen, FakeRun())


def read(data):
    return list(csv.DictReader(io.StringIO(data.decode("utf-8"), newline="")))


def test_every_error_is_listed_once():
    table, found = case()
    rows = read(numbers(table, found))
    assert sorted(int(row["index"]) for row in rows) == table.errors.tolist()
    slices = [int(row["slice"]) for row in rows]
    assert slices == sorted(slices)
    for c in range(4):
        surest = [float(row["membership"]) for row in rows if row["slice"] == str(c + 1)]
        assert surest == sorted(surest, reverse=True)
        assert len(surest) == found.values["slices"][c]["size"]


def test_a_row_says_what_the_table_says():
    table, found = case()
    places = {int(i): row for row, i in enumerate(found.arrays["errors"])}
    for row in read(numbers(table, found)):
        i = int(row["index"])
        assert row["reference"] == f"picture {i}.png"
        assert row["label"] == f"class {table.arrays['labels'][i]}"
        assert row["prediction"] == f"class {table.arrays['predictions'][i]}"
        assert row["group"] == f"group {table.arrays['groups'][i]}"
        place = int(row["slice"]) - 1
        assert place == found.arrays["slices"][places[i]]
        expected = found.arrays["memberships"][places[i], place]
        assert float(row["membership"]) == pytest.approx(expected, rel=1e-5)
        wrong = []
        for j, name in enumerate(table.concept_names):
            p = 1 / (1 + np.exp(-float(table.arrays["logits"][i, j])))
            assert float(row[f"{name} predicted"]) == pytest.approx(p, rel=1e-5)
            assert int(row[f"{name} true"]) == table.arrays["concepts"][i, j]
            wrong += [name] if (p > 0.5) != table.arrays["concepts"][i, j] else []
        assert row["wrong"] == "; ".join(wrong)


def test_one_slice():
    table, found = case()
    rows = read(numbers(table, found, 2))
    assert {row["slice"] for row in rows} == {"3"}
    assert [int(row["index"]) for row in rows] == members(found, 2).tolist()
    everything = read(numbers(table, found))
    assert rows == [row for row in everything if row["slice"] == "3"]


def test_names_a_spreadsheet_would_run():
    bad = ("=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\tx", '  =1,"\n2')
    table, found = case(
        concept_names=bad,
        class_names=("=a", "@b"),
        group_names=("=g0", "+g1", "-g2", "g3"),
        planted=(),
        references=("=HYPERLINK()",) * 440,
    )
    lines = list(csv.reader(io.StringIO(numbers(table, found).decode(), newline="")))
    assert lines[0][len(HEAD)] == "'=cmd|' /C calc'!A0 predicted"
    for line in lines:
        assert len(line) == len(HEAD) + 12
        for cell in line:
            assert not cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r", "\n")), cell


def test_a_table_without_names_groups_and_references():
    table, found = case(references=(), class_names=())
    arrays = {name: array for name, array in table.arrays.items() if name != "groups"}
    row = read(numbers(dataclasses.replace(table, arrays=arrays), found))[0]
    assert row["reference"] == row["group"] == ""
    assert row["label"] in ("0", "1")


@pytest.mark.parametrize("slice", [-1, 4])
def test_there_is_no_such_slice(slice):
    table, found = case()
    with pytest.raises(InputError, match="There are 4 slices"):
        numbers(table, found, slice)


def test_slices_of_another_table():
    _, found = case()
    with pytest.raises(InputError, match="another table"):
        numbers(planted(sizes=(20,), right=10), found)
