"""Pictures find their samples; broken, huge and missing ones are grey and counted."""

from __future__ import annotations

import dataclasses
import io
import zipfile

import numpy as np
import pytest
from PIL import Image

from backend.concepts import thumbnails
from backend.errors import InputError
from backend.settings import Settings
from tests.backend.concepts.tables import small

OPTIONS = Settings(max_table_mb=1.0, max_unpacked_mb=5.0, max_megapixels=0.1)
RED, BLUE = (255, 0, 0), (0, 0, 255)


def picture(color, size=(80, 80), kind="PNG") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, color).save(out, kind)
    return out.getvalue()


def packed(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def attached(references: tuple[str, ...], files: dict[str, bytes]):
    table = dataclasses.replace(small(), references=references)
    found = thumbnails.attach(table, "p.zip", packed(files), OPTIONS)
    return found.arrays["images"], found.origin["notes"][-1]


def colors(images) -> list:
    return [tuple(image[32, 32]) for image in images[:3]]


GREY = (128, 128, 128)


@pytest.mark.parametrize(
    "names",
    [("a.png", "b.png"), ("set/a.png", "../../b.png"), ("a", "b"), ("C:\\x\\a.png", "/y/b.png")],
)
def test_pictures_are_matched_by_name(names) -> None:
    files = {"deep/a.png": picture(RED), "b.png": picture(BLUE), "c.txt": b"no"}
    images, note = attached((*names, *["none"] * 10), files)
    assert images.shape == (12, 64, 64, 3)
    assert images.dtype == np.uint8
    assert colors(images) == [RED, BLUE, GREY]
    assert "2 of 12" in note


def test_equal_names_in_two_folders_are_told_by_their_path() -> None:
    files = {"x/a.png": picture(RED), "y/a.png": picture(BLUE)}
    images, _ = attached(("data/y/a.png", "x/a.png", "a.png", *["none"] * 9), files)
    assert colors(images) == [BLUE, RED, GREY]


@pytest.mark.parametrize("first", [0, 1])
def test_rows_are_names_where_there_is_no_reference(first) -> None:
    files = {f"{first:03}.jpg": picture(RED, kind="JPEG"), f"{first + 1}.png": picture(BLUE)}
    images, _ = attached((), files)
    assert abs(images[0, 32, 32].astype(int) - RED).max() < 4
    assert colors(images)[1:] == [BLUE, GREY]


def test_a_wide_picture_keeps_its_shape() -> None:
    images, _ = attached((), {"0.png": picture(RED, (100, 50))})
    assert (images[0, 0, 0] == 128).all()
    assert tuple(images[0, 32, 0]) == RED
    assert tuple(images[0, 20, 63]) == RED


def test_broken_and_huge_pictures_are_grey_and_counted() -> None:
    whole = picture(RED)
    gif = io.BytesIO()
    Image.new("RGB", (9, 9)).save(gif, "GIF")
    files = {
        "0.png": whole[: len(whole) // 2],
        "1.png": picture(RED, (1000, 1000)),
        "2.png": gif.getvalue(),
        "3.png": whole,
    }
    images, note = attached((), files)
    assert colors(images) == [GREY] * 3
    assert "1 of 12" in note
    assert "3 could not be read" in note


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"no zip", "cannot be read"),
        (packed({}), "no PNG or JPEG"),
        (packed({"a.txt": b"x"}), "no PNG or JPEG"),
        (packed({"other.png": picture(RED)}), "called other.png, the samples 0.png, 1.png"),
        (packed({"0.png": b"0" * 6_000_000}), "unpacks to more than 5 MB"),
        (b"x" * 1_000_001, "more than 1 MB"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_faults_are_named(data, said) -> None:
    with pytest.raises(InputError, match=said) as found:
        thumbnails.attach(small(), "p.zip", data, OPTIONS)
    assert found.value.todo


def test_too_many_samples() -> None:
    with pytest.raises(InputError, match="too many for pictures"):
        thumbnails.attach(small(), "p.zip", b"", Settings(max_pictures=3))
