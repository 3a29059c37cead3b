"""Photos with a little noise on their pixels."""

from __future__ import annotations

import dataclasses

import numpy as np

from backend.images.explanation import Photos

NOISE = 4.0
"""Standard deviation of the noise, in steps of 256: hardly seen."""


def noisy(photos: Photos, number: int, seed: int) -> Photos:
    """A set of one picture alone, with Gaussian noise."""
    one = photos.only(number)
    pixels = one.image(0).astype(np.float64)
    drawn = np.random.default_rng(seed).normal(0.0, NOISE, size=pixels.shape)
    shaken = np.clip(np.round(pixels + drawn), 0, 255).astype(np.uint8)
    return dataclasses.replace(one, arrays={**one.arrays, "image/0": shaken})
