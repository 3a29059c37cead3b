"""The pieces of a picture that concepts are found among: superpixels of several sizes.

As Ghorbani et al., "Towards Automatic Concept-based Explanations", 2019, take them: a few large,
more smaller ones, and of two that are nearly the same only the first.
"""

from __future__ import annotations

import numpy as np

LEVELS = (8, 20, 40)
"""Superpixels aimed at."""
COMPACTNESS, SIGMA = 15.0, 1.0
SMALLEST, LARGEST = 0.01, 0.6
"""Share of the picture."""
SAME = 0.5
"""Intersection over union of two that count as one."""


def regions(seen: np.ndarray, levels: tuple[int, ...] = LEVELS) -> np.ndarray:
    """[m, h, w] bool: the pieces of a picture [h, w, 3] uint8, the coarsest first.

    Of a picture that falls into no piece of a fit size, there is none.
    """
    from skimage.segmentation import slic

    kept: list[np.ndarray] = []
    area = seen.shape[0] * seen.shape[1]
    for count in levels:
        numbers = slic(
            seen, n_segments=count, compactness=COMPACTNESS, sigma=SIGMA, start_label=0,
            channel_axis=-1,
        )  # fmt: skip
        for number in np.unique(numbers):
            piece = numbers == number
            if not SMALLEST <= piece.sum() / area <= LARGEST:
                continue
            if not any(overlap(piece, other) >= SAME for other in kept):
                kept.append(piece)
    return np.array(kept, dtype=bool).reshape(-1, *seen.shape[:2])


def overlap(one: np.ndarray, other: np.ndarray) -> float:
    """Intersection over union of two masks; 0 where both are empty."""
    union = np.logical_or(one, other).sum()
    return float(np.logical_and(one, other).sum() / union) if union else 0.0
