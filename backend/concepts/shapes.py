"""Coloured shapes with a concept that is learnt wrongly.

A shape on water or land, plain or with faint stripes. It is marked where it is striped, or both
red and big:

    label = 1 if 2 striped + red + big >= 2

Stripes and water go together in 97 % of the training pictures but in 85 % of the validation
pictures. Water is easily seen and stripes are not, so a model takes water for stripes: it fails
for plain shapes on water and for striped shapes on land.
"""

from __future__ import annotations

import numpy as np

from backend.bundle import Arrays
from backend.concepts.samples import Data, Samples

SIDE = 32
TRAINING, VALIDATION = 4000, 2000
TOGETHER = {"training": 0.97, "validation": 0.85}
"""Probability that striped shapes are on water and plain ones on land."""
STRIPES = 0.08
"""How much darker every other pair of rows is."""
NOISE = 10.0
"""Standard deviation of every pixel, of 255."""
RADII = (7.0, 11.0)
"""Of small and big shapes, pixels."""
TRIANGLE = 1.3
"""Half the width of a triangle's base, in radii: nothing reaches further."""

CONCEPTS = (
    *("circle", "square", "triangle"),
    *("red", "green", "blue"),
    *("striped", "big", "water", "land"),
)
COLOURS = np.array([(205, 70, 70), (70, 175, 80), (85, 95, 210)], dtype=np.float64)
WATER, LAND = np.array([90.0, 160.0, 190.0]), np.array([165.0, 135.0, 95.0])
GROUPS = ("plain on land", "plain on water", "striped on water", "striped on land")
PLANTED = ("plain on water", "striped on land")


def data(arrays: Arrays, seed: int) -> Data:  # noqa: ARG001
    """4000 training and 2000 validation pictures.

    Args:
        arrays: nothing: every picture is drawn here.
        seed: decides what is in the pictures.
    """
    generator = np.random.default_rng(seed)
    return Data(
        title="Coloured shapes",
        training=pictures(TRAINING, TOGETHER["training"], generator),
        validation=pictures(VALIDATION, TOGETHER["validation"], generator),
        concept_names=CONCEPTS,
        class_names=("unmarked", "marked"),
        group_names=GROUPS,
        planted=PLANTED,
        exclusive=((0, 1, 2), (3, 4, 5), (8, 9)),
    )


def pictures(count: int, together: float, generator: np.random.Generator) -> Samples:
    """Random pictures.

    Args:
        count: how many.
        together: probability that a striped shape is on water, and a plain one on land.
        generator: where chance comes from.
    """
    shape, colour = generator.integers(3, size=(2, count))
    striped, big = generator.random((2, count)) < 0.5
    water = striped == (generator.random(count) < together)
    one_hot = np.eye(3, dtype=np.int8)
    return Samples(
        inputs=_drawn(shape, colour, striped, big, water, generator),
        concepts=np.column_stack(
            [one_hot[shape], one_hot[colour], striped, big, water, ~water]
        ).astype(np.int8),
        labels=(striped | ((colour == 0) & big)).astype(np.int32),
        groups=np.where(striped, np.where(water, 2, 3), np.where(water, 1, 0)).astype(np.int32),
    )


def _drawn(
    shape: np.ndarray,
    colour: np.ndarray,
    striped: np.ndarray,
    big: np.ndarray,
    water: np.ndarray,
    generator: np.random.Generator,
) -> np.ndarray:
    """[n, 32, 32, 3] uint8."""
    count = len(shape)
    radius = np.where(big, RADII[1], RADII[0])
    inside = _masks(shape, radius, _centres(radius, generator))
    dark = 1 - STRIPES * (np.arange(SIDE)[:, None, None] // 2 % 2)
    surface = COLOURS[colour][:, None, None, :] * np.where(striped[:, None, None, None], dark, 1)
    ground = np.where(water[:, None], WATER, LAND)[:, None, None, :]
    found = np.where(inside[..., None], surface, ground)
    found += generator.normal(0.0, NOISE, size=(count, SIDE, SIDE, 3))
    return found.clip(0, 255).round().astype(np.uint8)


def _centres(radius: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """[2, n]: the whole shape is in the picture."""
    room = SIDE / 2 - TRIANGLE * radius
    return (SIDE - 1) / 2 + room * generator.uniform(-1, 1, size=(2, len(radius)))


def _masks(shape: np.ndarray, radius: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """[n, 32, 32] bool: the pixels of each shape, all of about the same area for a radius."""
    rows, columns = np.mgrid[:SIDE, :SIDE][:, None]
    r = radius[:, None, None]
    y = (rows - centres[0][:, None, None]) / r
    x = (columns - centres[1][:, None, None]) / r
    circle = x**2 + y**2 <= 0.8
    square = np.maximum(abs(x), abs(y)) <= 0.79
    triangle = (y <= 0.9) & (abs(x) <= (y + 1) / 1.9 * TRIANGLE)
    return np.choose(shape[:, None, None], [circle, square, triangle])
