"""TCAV: planted concepts, and sets that have none."""

from __future__ import annotations

import csv
import io

import pytest

from backend.errors import InputError
from backend.images import files, parts
from backend.images.explanation import Photos
from backend.images.tcav import FEWEST, Tcav, concepts
from tests.backend.images.made import explain, photos


def labelled(folders: list[str]) -> Photos:
    whole = photos(len(folders))
    return Photos(
        arrays=whole.arrays, names=whole.names, folders=tuple(folders), remarks=whole.remarks
    )


@pytest.mark.parametrize(
    ("folders", "known"),
    [
        ([""] * 12, []),
        (["striped"] * FEWEST, []),
        (["striped"] * FEWEST + [""] * FEWEST, ["striped"]),
        (["striped"] * (FEWEST - 1) + [""] * FEWEST, []),
        (["a"] * FEWEST + ["b"] * FEWEST, ["a", "b"]),
    ],
)
def test_a_concept_is_a_folder_with_enough_pictures_and_enough_others(folders, known):
    assert list(concepts(labelled(folders))) == known


def test_a_set_without_concepts_is_refused_with_what_to_bring(cnn):
    pictures = labelled([""] * 12)
    assert "Bring a zip with a folder" in (Tcav().supports({}, pictures) or "")
    assert Tcav().supports({}, labelled(["a"] * 5 + ["b"] * 5)) is None
    with pytest.raises(InputError, match="concepts of your own"):
        explain(Tcav, cnn, pictures)


@pytest.fixture(scope="module")
def found(parts_cnn):
    """A folder a part kind: pictures that have it; of one class the score is asked."""
    drawn = parts.pictures(90, 77)
    folders = ["disc" if m[0].any() else "cross" if m[3].any() else "" for m in drawn.masks]
    pictures = Photos(
        arrays={f"image/{i}": image for i, image in enumerate(drawn.images)},
        names=tuple(str(i) for i in range(90)),
        folders=tuple(folders),
        remarks=((),) * 90,
    )
    return explain(Tcav, parts_cnn, pictures, image=0, label=0)


def test_a_part_of_the_class_scores_one_and_another_none(found):
    rows = {row["concept"]: row for row in found.values["rows"]}
    assert set(rows) == {"disc", "cross"}
    assert rows["disc"]["score"] == 1
    assert rows["disc"]["here"] > 0
    assert rows["cross"]["score"] < 0.5
    assert rows["cross"]["here"] < rows["disc"]["here"]
    assert all(row["auc"] > 0.9 for row in rows.values())
    assert found.values["rows"][0]["concept"] == "disc"


def test_a_linear_tail_is_told(found):
    assert "scores 0 or 1" in found.notes[0]
    assert found.values["class_pictures"] == 10


def test_equal_seeds_give_equal_scores_within_their_interval(vit):
    pictures = labelled(["a"] * 8 + ["b"] * 8)
    one = explain(Tcav, vit, pictures, seed=3)
    again = explain(Tcav, vit, pictures, seed=3)
    assert one.values["rows"] == again.values["rows"]
    for row in one.values["rows"]:
        assert 0 <= row["low"] <= row["score"] <= row["high"] <= 1
        assert 0 <= row["p"] <= 1


def test_its_numbers_are_a_table(found):
    rows = list(csv.reader(io.StringIO(files.numbers(found).decode())))
    assert rows[0] == list(files.TCAV)
    assert len(rows) == 3
    assert float(rows[1][3]) == found.values["rows"][0]["score"]


def test_a_class_there_is_not_is_refused(cnn):
    with pytest.raises(InputError, match="There is no class 99"):
        explain(Tcav, cnn, labelled(["a"] * 5 + ["b"] * 5), label=99)
