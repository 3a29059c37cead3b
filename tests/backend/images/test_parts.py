"""Pictures of parts: what is in them, and that the masks are exact."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy import ndimage

from backend.errors import InputError
from backend.images import parts
from backend.images.examples import EXAMPLES, photos
from backend.images.explanation import Photos
from backend.images.parts import ACROSS, CLASSES, COLOURS, DEFINING, GAP, PARTS, SIDE
from backend.settings import Settings


@pytest.fixture(scope="module")
def drawn():
    return parts.pictures(270, 5)


def boxes(masks):
    """(top, left, bottom, right) of each part that is there, the last two one past the end."""
    for mask in masks[masks.any(axis=(1, 2))]:
        rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
        yield rows[0], columns[0], rows[-1] + 1, columns[-1] + 1


def test_classes_are_neighbours_on_a_ring():
    assert len(PARTS) == len(set(PARTS)) == 8
    assert DEFINING == ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 0), ())
    assert CLASSES[:2] == ("disc + square", "square + triangle")
    assert CLASSES[7:] == ("diamond + disc", "none")
    assert [sum(part in own for own in DEFINING) for part in range(8)] == [2] * 8


def test_a_picture_has_the_parts_of_its_class_and_no_other(drawn):
    there = drawn.masks.any(axis=(2, 3))
    for label, found in zip(drawn.labels, there, strict=True):
        assert set(np.flatnonzero(found)) == set(DEFINING[label])
    assert np.bincount(drawn.labels).tolist() == [30] * 9
    counts = np.bincount(parts.pictures(20, 0).labels, minlength=9)
    assert counts.tolist() == [3, 3, 2, 2, 2, 2, 2, 2, 2]
    assert (drawn.images.shape, drawn.images.dtype) == ((270, 64, 64, 3), np.uint8)
    assert (drawn.masks.shape, drawn.masks.dtype) == ((270, 8, 64, 64), bool)


@pytest.mark.parametrize("label", range(9))
def test_masks_are_where_the_picture_differs_from_one_without_parts(label):
    for seed in range(25):
        masks, none = np.zeros((2, 8, SIDE, SIDE), dtype=bool)
        with_parts = parts.picture(DEFINING[label], masks, np.random.default_rng(seed))
        without = parts.picture((), none, np.random.default_rng(seed))
        differs = (with_parts != without).any(axis=2)
        assert not none.any()
        np.testing.assert_array_equal(masks.any(axis=0), differs)
        pieces, count = ndimage.label(differs, structure=np.ones((3, 3)))
        assert count == len(DEFINING[label])
        own = [pieces[masks[part]] for part in DEFINING[label]]
        assert [len(set(piece.tolist())) for piece in own] == [1] * count
        assert len({int(piece[0]) for piece in own}) == count


def test_each_mask_holds_the_colours_of_its_part(drawn):
    for part, colours in enumerate(COLOURS):
        for i in np.flatnonzero(drawn.masks[:, part].any(axis=(1, 2))):
            pixels = drawn.images[i][drawn.masks[i, part]].astype(float)
            near = np.linalg.norm(pixels[:, None] - colours, axis=2).min(axis=1)
            assert near.mean() < 35
            others = np.linalg.norm(pixels.mean(axis=0) - COLOURS.mean(axis=1), axis=1)
            assert others.argmin() == part


def test_shapes_are_what_they_are_called():
    shares = [parts._inside(part, 24).mean() for part in range(8)]
    assert shares == pytest.approx(
        [np.pi / 4, 1, 0.52, 1 - 0.65**2, np.pi / 4 * 0.7, 1, 1, 0.54], abs=0.03
    )
    for size in range(ACROSS[0], ACROSS[1] + 1):
        for part in range(8):
            inside = parts._inside(part, size)
            assert inside[0].any()
            assert inside[-1].any()
            assert inside[:, 0].any()
            assert inside[:, -1].any()
    stripes, checker = parts._alternates(5, 20), parts._alternates(6, 20)
    assert stripes[:, 0].tolist() == ([False] * 4 + [True] * 4) * 2 + [False] * 4
    assert (stripes == stripes[:, :1]).all()
    assert (checker[:16, :16].mean(), checker[0, 0], checker[0, 4]) == (0.5, False, True)
    assert not parts._alternates(0, 20).any()


def test_parts_are_whole_and_apart(drawn):
    sizes = []
    for masks in drawn.masks:
        assert masks.sum(axis=0).max() <= 1
        found = list(boxes(masks))
        for top, left, bottom, right in found:
            assert bottom - top == right - left
            sizes.append(int(bottom - top))
        if found:
            a, b = found
            apart = max(b[0] - a[2], a[0] - b[2], b[1] - a[3], a[1] - b[3])
            assert apart >= GAP
    assert set(sizes) == set(range(ACROSS[0], ACROSS[1] + 1))


def test_parts_are_everywhere():
    """A place does not tell the part."""
    masks = parts.pictures(900, 1).masks
    covered = masks.any(axis=(0, 1))
    edges = (covered[0], covered[-1], covered[:, 0], covered[:, -1])
    assert min(edge.mean() for edge in edges) > 0.8
    assert covered[4:-4, 4:-4].all()
    for part in range(8):
        found = np.array([box for one in masks[:, part : part + 1] for box in boxes(one)])
        centres = (found[:, :2] + found[:, 2:]) / 2
        assert len(centres) == 200
        assert np.abs(centres.mean(axis=0) - SIDE / 2).max() < 3.5
        assert (np.ptp(centres, axis=0) > 36).all()


def test_the_ground_is_dull_and_has_blobs(drawn):
    outside = ~drawn.masks.any(axis=1)
    pixels = drawn.images.astype(float)
    blurred = ndimage.uniform_filter(pixels, size=(1, 5, 5, 1))
    eroded = ndimage.binary_erosion(outside, structure=np.ones((1, 5, 5)))
    span = np.ptp(blurred, axis=3)[eroded]
    assert np.quantile(span, 0.999) < 45
    none = blurred[drawn.labels == 8].mean(axis=3)
    blob = (none < 90) | (none > 170)
    assert blob.any(axis=(1, 2)).all()
    assert blob.mean() < 0.12


def test_a_seed_decides_the_pictures():
    first, again = parts.pictures(12, 3), parts.pictures(12, 3)
    np.testing.assert_array_equal(first.images, again.images)
    np.testing.assert_array_equal(first.masks, again.masks)
    assert (first.images != parts.pictures(12, 4).images).mean() > 0.9
    generator = np.random.default_rng(3)
    np.testing.assert_array_equal(parts.pictures(12, generator).images, first.images)
    assert (parts.pictures(12, generator).images != first.images).mean() > 0.9


def test_photos_have_the_parts_of_their_class_as_object():
    found, drawn = parts.photos(20, 5, "some"), parts.pictures(20, 5)
    assert len(found) == 20
    assert found.names[:2] == ("disc + square 1", "square + triangle 1")
    assert found.names[8:10] == ("none 1", "disc + square 2")
    assert found.folders[7:10] == ("diamond-disc", "none", "disc-square")
    assert (found.title, found.example) == ("Pictures of parts", "some")
    for i, label in enumerate(drawn.labels):
        np.testing.assert_array_equal(found.image(i), drawn.images[i])
        mask = found.mask(i)
        if label == 8:
            assert mask is None
        else:
            assert mask.dtype == np.uint8
            np.testing.assert_array_equal(mask == 1, drawn.masks[i].any(axis=0))
    back = Photos.from_bytes(found.to_bytes())
    assert back.names == found.names
    assert set(back.arrays) == set(found.arrays)


def test_the_bundled_set():
    found = photos(("parts",), Settings())
    assert (found.example, found.title, len(found)) == ("parts", "Pictures of parts", 24)
    assert sorted({found.folders.count(name) for name in found.folders}) == [2, 3]
    np.testing.assert_array_equal(found.image(23), parts.pictures(24, 10_000).images[23])
    with pytest.raises(InputError, match=r"'parts' is a set of pictures already\. Name it alone"):
        photos(("parts", EXAMPLES[0].id), Settings())
    with pytest.raises(KeyError, match="astronaut, parts"):
        photos(("bits",), Settings())


def test_no_torch_is_needed_to_draw():
    script = (
        "import sys; from backend.images import FAMILY, parts; parts.photos(9, 0); "
        "print([m for m in ('torch', 'transformers') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert found.stdout.strip() == "[]"
