"""Max-sensitivity: how far a map moves, at most, when the picture hardly does.

Yeh et al., "On the (In)fidelity and Sensitivity of Explanations", 2019: the maximum of
|a(x') - a(x)| / |a(x)| over pictures x' near x, here over some noisy copies, each pixel within a
small radius (`backend.images.noise`). More copies can only raise it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def max_sensitivity(first: np.ndarray, others: Sequence[np.ndarray]) -> float | None:
    """The largest relative change; None without another map, or where the first is all zero.

    Args:
        first: [h, w] the map of the picture.
        others: maps [h, w] of its noisy copies.
    """
    start = first.astype(np.float64)
    size = float(np.linalg.norm(start))
    if not len(others) or size == 0:
        return None
    return max(float(np.linalg.norm(other.astype(np.float64) - start)) / size for other in others)
