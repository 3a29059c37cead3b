"""A coarse map brought to a picture's edges: within a superpixel all pixels get one score.

Of superpixels of two sizes, the mean. Kapishnikov et al., "XRAI: Better Attributions Through
Regions", 2019, rank such regions; here they only give a map of few places its outlines.
"""

from __future__ import annotations

import numpy as np

LEVELS = (30, 100)
"""Superpixels aimed at."""
COMPACTNESS, SIGMA = 10.0, 1.0
ROUNDS = 5
"""Of k-means: few outlines move after that, and it is half of the time."""


def along_edges(seen: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """[h, w] float64.

    Args:
        seen: [h, w, 3] uint8. scores: [h, w].
    """
    from skimage.segmentation import slic

    found = np.zeros(scores.shape)
    for count in LEVELS:
        numbers = slic(
            seen, n_segments=count, compactness=COMPACTNESS, sigma=SIGMA, start_label=0,
            channel_axis=-1, max_num_iter=ROUNDS,
        )  # fmt: skip
        sizes = np.maximum(np.bincount(numbers.ravel()), 1)
        means = np.bincount(numbers.ravel(), weights=scores.ravel()) / sizes
        found += means[numbers]
    return np.asarray(found / len(LEVELS))
