"""Pictures of any kind become upright ones of eight bits; faults and limits are named."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib

import numpy as np
import pytest
from PIL import Image, ImageFile

from backend.errors import InputError
from backend.images import inputs
from backend.settings import Settings

OPTIONS = Settings(max_image_mb=0.5, max_unpacked_mb=1.0, max_images=3)
RED, WHITE = (255, 0, 0), (255, 255, 255)
RNG = np.random.default_rng(0)
UPRIGHT = RNG.integers(0, 256, (5, 7, 3), dtype=np.uint8)
TURNED = UPRIGHT.transpose(1, 0, 2)
STORED = {
    1: UPRIGHT,
    2: UPRIGHT[:, ::-1],
    3: UPRIGHT[::-1, ::-1],
    4: UPRIGHT[::-1],
    5: TURNED,
    6: TURNED[::-1],
    7: TURNED[::-1, ::-1],
    8: TURNED[:, ::-1],
}
"""By EXIF orientation, which side of the picture the first row and column of pixels are."""


def saved(picture: Image.Image, kind: str = "PNG", **more) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **more)
    return out.getvalue()


def plain(color=RED, size=(4, 3)) -> bytes:
    return saved(Image.new("RGB", size, color))


def png(width: int, height: int, depth: int, colour: int, rows: bytes) -> bytes:
    """A PNG chunk by chunk, so that it may have what the library does not write."""

    def chunk(name: bytes, data: bytes) -> bytes:
        checked = name + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def packed(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def one(data: bytes, name: str = "a.png"):
    """Pixels, and what was said of them."""
    return inputs.picture(name, data, OPTIONS)


def fault(data: bytes, name: str = "a.png", options: Settings = OPTIONS) -> str:
    with pytest.raises(InputError) as found:
        inputs.read([(name, data)], options)
    assert found.value.todo
    return str(found.value)


def test_an_ordinary_picture_is_kept_to_the_pixel_and_nothing_is_said() -> None:
    found = inputs.read([("my cat.png", saved(Image.fromarray(UPRIGHT)))], OPTIONS)
    assert np.array_equal(found.image(0), UPRIGHT)
    assert found.image(0).dtype == np.uint8
    assert (found.names, found.folders, found.remarks) == (("my cat.png",), ("",), ((),))
    assert (found.title, found.example, len(found)) == ("my cat.png", "", 1)


def test_sixteen_bit_grey_is_divided_by_257() -> None:
    values = np.array([[0, 128, 129, 257], [32768, 40000, 65407, 65535]], dtype=np.uint16)
    found, said = one(saved(Image.fromarray(values)))
    expected = [[0, 0, 1, 1], [128, 156, 255, 255]]
    assert found[..., 0].tolist() == found[..., 2].tolist() == expected
    assert said == ("From more than eight bits a channel to eight.",)


def test_sixteen_bit_colour_is_read_to_within_a_step() -> None:
    values = RNG.integers(0, 65536, (3, 4, 3))
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    found, _ = one(png(4, 3, 16, 2, rows))
    assert np.abs(found - values / 257).max() <= 1


def test_numbers_beyond_sixteen_bits_run_from_their_smallest_to_their_largest() -> None:
    values = np.array([[-2.0, 0.0, 2.0], [-1.0, 1.0, 2.0]], dtype=np.float32)
    found, _ = one(saved(Image.fromarray(values), "TIFF"), "a.tif")
    assert found[..., 1].tolist() == [[0, 128, 255], [64, 191, 255]]
    flat, _ = one(saved(Image.fromarray(np.full((2, 2), 7.5, np.float32)), "TIFF"))
    assert not flat.any()
    broken = np.array([[0, np.nan], [1, 2]], dtype=np.float32)
    assert "cannot be read" in fault(saved(Image.fromarray(broken), "TIFF"), "a.tif")


def test_ink_becomes_light() -> None:
    data = saved(Image.new("CMYK", (16, 16), (0, 255, 255, 0)), "JPEG", quality=95)
    found, said = one(data, "a.jpg")
    assert np.abs(found.astype(int) - RED).max() < 6
    assert "CMYK without a colour profile" in said[0]


@pytest.mark.parametrize("orientation", STORED)
def test_every_exif_orientation_gives_the_same_upright_picture(orientation) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    picture = Image.fromarray(np.ascontiguousarray(STORED[orientation]))
    found, said = one(saved(picture, exif=exif))
    assert np.array_equal(found, UPRIGHT)
    assert said == (() if orientation == 1 else ("Turned as its EXIF says.",))


@pytest.mark.parametrize("kind", ["JPEG", "WEBP", "TIFF"])
def test_other_formats_are_turned_too(kind) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    shown = np.zeros((8, 16, 3), dtype=np.uint8)
    shown[:, 8:] = 255
    picture = Image.fromarray(np.ascontiguousarray(shown.transpose(1, 0, 2)[::-1]))
    found, _ = one(saved(picture, kind, exif=exif))
    assert found.shape == shown.shape
    assert np.abs(found.astype(int) - shown).mean() < 4


def test_an_orientation_that_does_not_exist_turns_nothing() -> None:
    exif = Image.Exif()
    exif[0x0112] = 0
    found, said = one(saved(Image.fromarray(UPRIGHT), exif=exif))
    assert np.array_equal(found, UPRIGHT)
    assert said == ()


def test_a_palette_s_transparent_colour_is_white() -> None:
    picture = Image.new("P", (3, 2), 0)
    picture.putpalette([10, 20, 30, 255, 0, 0])
    picture.putpixel((1, 1), 1)
    found, said = one(saved(picture, transparency=0))
    assert tuple(found[1, 1]) == RED
    assert tuple(found[0, 0]) == tuple(found[1, 0]) == WHITE
    assert "on white" in said[0]
    opaque, said = one(saved(picture))
    assert tuple(opaque[0, 0]) == (10, 20, 30)
    assert said == ()


@pytest.mark.parametrize(("mode", "ink"), [("RGBA", (0, 0, 0)), ("LA", (0,))])
def test_alpha_is_laid_on_white(mode, ink) -> None:
    picture = Image.new(mode, (3, 2), (*ink, 255))
    picture.putpixel((0, 0), (*ink, 0))
    picture.putpixel((1, 0), (*ink, 51))
    found, said = one(saved(picture))
    assert tuple(found[0, 0]) == WHITE
    assert tuple(found[0, 1]) == (204, 204, 204)
    assert tuple(found[0, 2]) == (0, 0, 0)
    assert said == ("Transparent parts are shown, and read, on white.",)


def test_alpha_that_hides_nothing_is_not_spoken_of() -> None:
    found, said = one(saved(Image.new("RGBA", (2, 2), (1, 2, 3, 255))))
    assert tuple(found[0, 0]) == (1, 2, 3)
    assert said == ()


def test_of_an_animation_the_first_frame_is_taken() -> None:
    frames = [Image.new("RGB", (4, 4), color) for color in (RED, (0, 0, 255), (0, 255, 0))]
    found, said = one(saved(frames[0], "GIF", save_all=True, append_images=frames[1:]), "a.gif")
    assert tuple(found[0, 0]) == RED
    assert said == ("The first of 3 frames.",)


@pytest.mark.parametrize(
    ("kind", "more", "off"),
    [
        ("WEBP", {"lossless": True}, 0),
        ("TIFF", {}, 0),
        ("BMP", {}, 0),
        ("JPEG", {"quality": 95}, 4),
        ("AVIF", {"quality": 95}, 4),
    ],
)
def test_formats(kind, more, off) -> None:
    if f".{kind.lower()}" not in (*inputs.readable(), ".tiff"):
        pytest.skip("this library has no AVIF")
    shown = np.full((16, 16, 3), (200, 100, 50), dtype=np.uint8)
    found, said = one(saved(Image.fromarray(shown), kind, **more), "a.bin")
    assert np.abs(found.astype(int) - shown).max() <= off
    assert said == ()


def test_one_bit_and_grey_pictures_have_three_channels() -> None:
    for mode, value in (("1", 255), ("L", 77)):
        found, _ = one(saved(Image.new(mode, (3, 2), 1 if mode == "1" else 77)))
        assert found.shape == (2, 3, 3)
        assert (found == value).all()


@pytest.mark.parametrize("size", [(1, 1), (1, 50), (50, 1)])
def test_a_line_or_a_dot_has_no_place_to_point_at(size) -> None:
    said = fault(plain(size=size))
    assert f"{size[0]} × {size[1]} pixels" in said
    assert "Bring a larger picture." in said
    assert one(plain(size=(2, 2)))[0].shape == (2, 2, 3)


@pytest.mark.parametrize("side", [8_000, 12_000, 20_000])
def test_a_huge_picture_is_refused_by_its_header(side, monkeypatch) -> None:
    def load(_):
        raise AssertionError("pixels were asked for")

    monkeypatch.setattr(ImageFile.ImageFile, "load", load)
    said = fault(png(side, side, 8, 2, b""))
    assert "50 million" in said
    assert "VITRINE_MAX_MEGAPIXELS" in said
    if side == 8_000:
        assert "8,000 × 8,000" in said


def test_the_most_pixels_are_the_operator_s() -> None:
    data = plain(size=(100, 101))
    assert "at most 0.01 million" in fault(data, options=Settings(max_megapixels=0.01))
    assert inputs.read([("a.png", data)], Settings(max_megapixels=0.0101)).image(0).size == 30_300


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"Dear cat,\nwhere are you?\n", "it is broken, or no picture"),
        (b"%PDF-1.7\n%\xe2\xe3", "it is a PDF document"),
        (b"", "the file is empty"),
        (packed({"a.png": plain()}), "it is a zip archive"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "HEIC is not read here"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "it is broken, or no picture"),
        (b"\x89PNG\r\n\x1a\n", "it is broken, or no picture"),
    ],
    ids=["text", "pdf", "empty", "zip", "heic", "svg", "png head"],
)
def test_what_is_no_picture_is_named(data, said) -> None:
    found = fault(data, "cat.png")
    assert found == (
        f"cat.png: It cannot be read as a picture ({said}). Save it as PNG or JPEG and bring it "
        "again."
    )


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP"])
def test_a_picture_cut_short_is_refused(kind) -> None:
    shown = RNG.integers(0, 256, (64, 64, 3), dtype=np.uint8)
    data = saved(Image.fromarray(shown), kind)
    for share in (0.02, 0.5, 0.9):
        assert "cannot be read as a picture" in fault(data[: int(len(data) * share)])


def test_a_png_with_a_wrong_checksum_is_refused() -> None:
    data = bytearray(plain())
    data[20] ^= 255
    assert "cannot be read as a picture" in fault(bytes(data))


def test_formats_that_run_programs_are_not_opened() -> None:
    picture = Image.new("RGB", (4, 4))
    for kind in ("EPS", "PPM", "ICO", "TGA"):
        assert "cannot be read as a picture" in fault(saved(picture, kind))


def test_a_file_beyond_the_limit_is_not_opened() -> None:
    said = fault(b"\0" * 500_001)
    assert said == "a.png: The file has more than 0.5 MB (VITRINE_MAX_IMAGE_MB). Make it smaller."
    assert "1 MB (VITRINE_MAX_UNPACKED_MB)" in fault(b"\0" * 1_000_001, "a.ZIP")


def test_folders_of_a_zip_are_kept_as_classes() -> None:
    files = {
        "set/cats/a.png": plain(RED),
        "set/dogs/b.JPG": saved(Image.new("RGB", (8, 8), WHITE), "JPEG"),
        "c.png": plain((0, 0, 9)),
    }
    found = inputs.read([("set.zip", packed(files))], OPTIONS)
    assert found.names == ("a.png", "b.JPG", "c.png")
    assert found.folders == ("cats", "dogs", "")
    assert tuple(found.image(0)[0, 0]) == RED
    assert tuple(found.image(2)[0, 0]) == (0, 0, 9)
    assert found.title == "3 pictures"


def test_what_a_system_leaves_in_a_zip_is_skipped() -> None:
    files = {
        "__MACOSX/cats/._a.png": b"no picture",
        "cats/.hidden.png": b"no picture",
        ".git/b.png": b"no picture",
        "cats/Thumbs.db": b"no picture",
        "notes.txt": b"no picture",
        "cats/": b"",
        "cats/a.png": plain(),
    }
    found = inputs.read([("a.zip", packed(files))], OPTIONS)
    assert found.names == ("a.png",)


def test_files_and_zips_come_together_in_order() -> None:
    given = [("z.png", plain()), ("a.zip", packed({"x/b.png": plain()})), ("c.png", plain())]
    found = inputs.read(given, OPTIONS)
    assert found.names == ("z.png", "b.png", "c.png")
    assert found.folders == ("", "x", "")


def test_paths_in_a_zip_are_only_names() -> None:
    files = {"/etc/group.png": plain(), "./a/b.png": plain()}
    found = inputs.read([("a.zip", packed(files))], OPTIONS)
    assert found.names == ("group.png", "b.png")
    assert found.folders == ("etc", "a")


@pytest.mark.parametrize(
    "path", ["../../etc/passwd.png", "cats/../b.png", "..\\b.png", "cats\\..\\..\\b.png"]
)
def test_a_path_that_leads_upwards_is_refused_by_its_name(path: str) -> None:
    said = fault(packed({"cats/a.png": plain(), path: plain(WHITE)}), "a.zip")
    assert said == (
        f"a.zip: Its entry '{path}' has '..' in its path. Pack the pictures again, in folders of "
        "the zip."
    )


def test_what_is_no_picture_may_lie_anywhere_and_two_dots_in_a_name_are_no_path() -> None:
    files = {"../notes.txt": b"x", "cats/..a.png": b"hidden", "cats/b..c.png": plain()}
    found = inputs.read([("a.zip", packed(files))], OPTIONS)
    assert (found.names, found.folders) == (("b..c.png",), ("cats",))


def test_backslashes_part_folders_too() -> None:
    files = {
        "set\\cats\\a.png": plain(RED),
        "dogs\\b.png": plain(),
        "cats/c.png": plain(),
        "__MACOSX\\cats\\d.png": b"no picture",
        "cats\\.e.png": b"no picture",
    }
    found = inputs.read([("a.zip", packed(files))], OPTIONS)
    assert found.names == ("a.png", "b.png", "c.png")
    assert found.folders == ("cats", "dogs", "cats")
    assert tuple(found.image(0)[0, 0]) == RED


def test_a_zip_without_pictures() -> None:
    for files in ({}, {"a.txt": b"x"}):
        said = fault(packed(files), "a.zip")
        assert "There is no picture in it. Bring .png, .jpg" in said
    with pytest.raises(InputError, match="no picture"):
        inputs.read([], OPTIONS)


def test_a_broken_zip() -> None:
    whole = packed({"a.png": plain()})
    for data in (b"no zip", b"", whole[: len(whole) // 2]):
        assert fault(data, "a.zip").startswith("a.zip: The zip cannot be read (")
    spoilt = bytearray(packed({"a.png": saved(Image.fromarray(UPRIGHT))}))
    spoilt[60] ^= 255
    assert "a.zip" in fault(bytes(spoilt), "a.zip")


def test_a_broken_picture_in_a_zip_is_named() -> None:
    said = fault(packed({"x/a.png": plain(), "x/b.png": b"text"}), "a.zip")
    assert said.startswith("b.png: It cannot be read as a picture")


def test_a_zip_bomb_is_refused_by_what_it_declares() -> None:
    data = packed({f"{i}.png": b"\0" * 400_000 for i in range(3)})
    assert len(data) < 10_000
    assert fault(data, "a.zip") == (
        "a.zip: It unpacks to more than 1 MB (VITRINE_MAX_UNPACKED_MB). Bring fewer or smaller "
        "pictures."
    )


def test_a_zip_that_declares_less_than_it_holds_is_broken() -> None:
    data = packed({"a.png": b"\0" * 900_000})
    lying = data.replace(struct.pack("<I", 900_000), struct.pack("<I", 9))
    assert lying != data
    assert "a.zip" in fault(lying, "a.zip")


def test_one_picture_of_a_zip_has_the_limit_of_a_picture() -> None:
    said = fault(packed({"big.png": b"\0" * 600_000}), "a.zip")
    assert said.startswith("big.png: The file has more than 0.5 MB (VITRINE_MAX_IMAGE_MB)")


def test_too_many_pictures_in_a_zip_and_beside_it() -> None:
    many = packed({f"{i}.png": plain() for i in range(4)})
    assert fault(many, "a.zip") == (
        "a.zip: There are more than 3 pictures (VITRINE_MAX_IMAGES). Bring fewer."
    )
    three = packed({f"{i}.png": plain() for i in range(3)})
    assert len(inputs.read([("a.zip", three)], OPTIONS)) == 3
    with pytest.raises(InputError, match=r"last\.png: There are more than 3"):
        inputs.read([("a.zip", three), ("last.png", plain())], OPTIONS)


def test_equal_files_make_equal_inputs() -> None:
    first, again = (inputs.read([("a.png", plain())], OPTIONS).digest() for _ in range(2))
    assert first == again
    assert first != inputs.read([("a.png", plain(WHITE))], OPTIONS).digest()
    assert first != inputs.read([("b.png", plain())], OPTIONS).digest()
