"""Square parts of a photo at random, some mirrored: many views of one picture to learn from."""

from __future__ import annotations

import numpy as np

SMALLEST = 0.4
"""Of the shorter side."""


def crops(pixels: np.ndarray, count: int, generator: np.random.Generator) -> list[np.ndarray]:
    """The whole picture, then `count` - 1 parts of it, every other one mirrored.

    Args:
        pixels: [h, w, 3] uint8.
    """
    tall, wide = pixels.shape[:2]
    found = [pixels]
    for number in range(1, count):
        share = generator.uniform(SMALLEST, 1.0)
        side = max(1, round(share * min(tall, wide)))
        top = int(generator.integers(tall - side + 1))
        left = int(generator.integers(wide - side + 1))
        part = pixels[top : top + side, left : left + side]
        found.append(np.ascontiguousarray(part[:, ::-1] if number % 2 else part))
    return found
