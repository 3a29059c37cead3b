"""Photos with a little noise on their pixels."""

from __future__ import annotations

import dataclasses

import numpy as np

from backend.images.explanation import Photos

RADIUS = 0.02
"""The largest change of a pixel, as a share of its range: hardly seen."""
STEPS = round(255 * RADIUS)


def noisy(photos: Photos, number: int, seed: int) -> Photos:
    """A set of one picture alone, each channel of a pixel up to STEPS higher or lower, evenly."""
    one = photos.only(number)
    pixels = one.image(0).astype(np.int64)
    drawn = np.random.default_rng(seed).integers(-STEPS, STEPS + 1, size=pixels.shape)
    shaken = np.clip(pixels + drawn, 0, 255).astype(np.uint8)
    return dataclasses.replace(one, arrays={**one.arrays, "image/0": shaken})
