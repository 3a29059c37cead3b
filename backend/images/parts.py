"""Pictures of coloured parts, where what decides the class is known pixel by pixel.

There are eight kinds of part, and a class is two of them, neighbours on a ring: part 0 and part 1,
part 1 and part 2, ..., part 7 and part 0. Every part is in two classes, so that no single one
decides. The ninth class has no part. Grey blobs lie about in all classes and mean nothing.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

import numpy as np

from backend.images.explanation import Photos

SIDE = 64
"""Pixels, of height and width."""
ACROSS = (20, 26)
"""Pixels from edge to edge of the smallest and the largest part."""
GAP = 2
"""Pixels between two parts, at least."""
NOISE = 8.0
"""Standard deviation of every pixel, of 255."""
JITTER = 12.0
"""How far a colour may be off, of 255."""
TITLE = "Pictures of parts"

PARTS = ("disc", "square", "triangle", "cross", "ring", "stripes", "checker", "diamond")
DEFINING: tuple[tuple[int, ...], ...] = (
    *((i, (i + 1) % len(PARTS)) for i in range(len(PARTS))),
    (),
)
"""Which parts a class has, by class."""
CLASSES = tuple(" + ".join(PARTS[part] for part in parts) or "none" for parts in DEFINING)
COLOURS = np.array(
    [
        [(215, 40, 40), (215, 40, 40)],
        [(45, 75, 215), (45, 75, 215)],
        [(35, 165, 60), (35, 165, 60)],
        [(235, 215, 40), (235, 215, 40)],
        [(150, 45, 190), (150, 45, 190)],
        [(240, 130, 25), (238, 238, 238)],
        [(20, 20, 20), (238, 238, 238)],
        [(35, 210, 225), (35, 210, 225)],
    ],
    dtype=np.float32,
)
"""[8, 2, 3]: two colours of each part, which alternate in stripes and checker."""
BAND = 4
"""Pixels of a stripe and of a side of a checker's cell."""


@dataclasses.dataclass(frozen=True, eq=False)
class Drawn:
    """Pictures, their classes, and where each kind of part is.

    Attributes:
        images: [n, 64, 64, 3] uint8.
        labels: [n] int64, of CLASSES.
        masks: [n, 8, 64, 64] bool, of PARTS; all False where a picture has no such part.
    """

    images: np.ndarray
    labels: np.ndarray
    masks: np.ndarray


def pictures(count: int, seed: int | Sequence[int] | np.random.Generator) -> Drawn:
    """Random pictures whose classes take turns: picture i is of class i modulo 9.

    Args:
        seed: decides everything else; a generator goes on from where it is.
    """
    generator = np.random.default_rng(seed)
    labels = np.arange(count) % len(CLASSES)
    images = np.empty((count, SIDE, SIDE, 3), dtype=np.uint8)
    masks = np.zeros((count, len(PARTS), SIDE, SIDE), dtype=bool)
    for i, label in enumerate(labels):
        images[i] = picture(DEFINING[label], masks[i], generator)
    return Drawn(images, labels, masks)


def picture(parts: Sequence[int], masks: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """[64, 64, 3] uint8: one picture of these parts, two at most.

    What chance decides of the ground comes first: with the same generator it is the same whatever
    parts are drawn on it.

    Args:
        masks: [8, 64, 64] bool; set where a part is drawn.
    """
    found = _ground(generator)
    noise = NOISE * generator.standard_normal(found.shape, dtype=np.float32)
    sizes, corners = _places(len(parts), generator)
    for part, size, (top, left) in zip(parts, sizes, corners, strict=True):
        here = (slice(top, top + size), slice(left, left + size))
        inside = _inside(part, size)
        first, second = COLOURS[part] + generator.uniform(-JITTER, JITTER, size=(2, 3))
        found[here][inside] = np.where(_alternates(part, size)[..., None], second, first)[inside]
        masks[part][here] = inside
    pixels: np.ndarray = (found + noise).clip(0, 255).round().astype(np.uint8)
    return pixels


def photos(count: int, seed: int, name: str = "") -> Photos:
    """Pictures as a set to explain; the object of each is the parts its class has.

    Args:
        name: id of the example it is, or "".
    """
    drawn = pictures(count, seed)
    arrays, names, seen = {}, [], Counter[int]()
    for i, label in enumerate(drawn.labels.tolist()):
        arrays[f"image/{i}"] = drawn.images[i]
        if DEFINING[label]:
            arrays[f"mask/{i}"] = drawn.masks[i].any(axis=0).astype(np.uint8)
        seen[label] += 1
        names.append(f"{CLASSES[label]} {seen[label]}")
    return Photos(
        arrays=arrays,
        names=tuple(names),
        folders=tuple(folder(label) for label in drawn.labels.tolist()),
        remarks=((),) * count,
        title=TITLE,
        example=name,
    )


def folder(label: int) -> str:
    """Name of the folder a class would lie in."""
    return CLASSES[label].replace(" + ", "-")


def _ground(generator: np.random.Generator) -> np.ndarray:
    """[64, 64, 3] float32: four corners of dull colours run into one another, blobs on them."""
    corners = generator.uniform(95, 165, size=(2, 2, 1)) + generator.uniform(-12, 12, (2, 2, 3))
    along = np.linspace(0, 1, SIDE)
    weights = np.stack([1 - along, along], axis=1)
    found = weights @ (weights @ corners.reshape(2, -1)).reshape(SIDE, 2, 3)
    rows, columns = np.mgrid[:SIDE, :SIDE]
    for _ in range(generator.integers(1, 3)):
        y, x = generator.uniform(6, SIDE - 6, size=2)
        tall, wide = generator.uniform(4, 8, size=2)
        level = generator.choice([generator.uniform(60, 85), generator.uniform(175, 200)])
        found[((rows - y) / tall) ** 2 + ((columns - x) / wide) ** 2 <= 1] = level
    return found.astype(np.float32)


def _places(count: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """[count] sizes and [count, 2] upper left corners: inside, and at most two, apart."""
    sizes = generator.integers(ACROSS[0], ACROSS[1] + 1, size=count)
    while True:
        corners = generator.integers(0, (SIDE - sizes + 1)[:, None], size=(count, 2))
        if count < 2:
            return sizes, corners
        first = int(corners[0, 0] > corners[1, 0]), int(corners[0, 1] > corners[1, 1])
        free = [
            abs(corners[1, axis] - corners[0, axis]) - sizes[one] for axis, one in enumerate(first)
        ]
        if max(free) >= GAP:
            return sizes, corners


def _inside(part: int, size: int) -> np.ndarray:
    """[size, size] bool: the pixels of a part, which touches all four edges."""
    along = (np.arange(size) + 0.5) / size * 2 - 1
    y, x = along[:, None], along[None, :]
    match PARTS[part]:
        case "disc":
            return y**2 + x**2 <= 1
        case "triangle":
            return np.abs(x) <= (y + 1) / 2 + 1 / size
        case "cross":
            return np.minimum(np.abs(y), np.abs(x)) <= 0.35
        case "ring":
            return (y**2 + x**2 <= 1) & (y**2 + x**2 >= 0.3)
        case "diamond":
            return np.abs(y) + np.abs(x) <= 1 + 0.5 / size
        case _:
            return np.ones((size, size), dtype=bool)


def _alternates(part: int, size: int) -> np.ndarray:
    """[size, size] bool: where the second colour is."""
    rows, columns = np.mgrid[:size, :size] // BAND
    bands = {"stripes": rows, "checker": rows + columns}
    second: np.ndarray = bands.get(PARTS[part], np.zeros_like(rows)) % 2 == 1
    return second
