"""How many directions a cloud of vectors fills.

Two counts, from the singular values s of the centred rows X [n, d] (s_k² / n are the eigenvalues
of their covariance):

    variance count = min{k : sum_{r <= k} s_r² >= 0.99 sum_r s_r²}
    entropy rank   = exp(-sum_k p_k log p_k),  p = s / sum s        (Roy & Vetterli, 2007)

A cloud that is even in k directions and flat in all others has the entropy rank k, and the
variance count ceil(0.99 k). Eigenvalues are taken of a sum of products in float64, so that n may
be large while only d × d numbers are held.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

SHARE = 0.99
"""Of the variance, which the counted directions must hold."""


def double(x: Tensor) -> Tensor:
    """x in float64, on the CPU where its device has no such numbers (Apple's)."""
    return (x.cpu() if x.device.type == "mps" else x).double()


class Covariance:
    """The covariance of rows that come in portions, in float64.

    Args:
        width: d.
    """

    def __init__(self, width: int, device: str) -> None:
        self.count = 0
        device = "cpu" if device.startswith("mps") else device
        self._sum = torch.zeros(width, dtype=torch.float64, device=device)
        self._products = torch.zeros(width, width, dtype=torch.float64, device=device)

    def add(self, rows: Tensor) -> None:
        """Take in rows [n, d]."""
        exact = double(rows)
        self.count += len(exact)
        self._sum += exact.sum(dim=0)
        self._products.addmm_(exact.mT, exact)

    def eigenvalues(self) -> np.ndarray:
        """Of the covariance about the mean, [d] float64, the largest first, none negative.

        Raises:
            ValueError: no rows came.
        """
        if self.count == 0:
            raise ValueError("a covariance of no rows")
        mean = self._sum / self.count
        matrix = self._products / self.count - torch.outer(mean, mean)
        found = torch.linalg.eigvalsh(matrix).flip(0).clamp_min(0.0)
        values: np.ndarray = found.cpu().numpy()
        return values


def variance_count(eigenvalues: np.ndarray, share: float = SHARE) -> int:
    """Fewest directions that hold `share` of the variance; 0 where there is no variance.

    Args:
        eigenvalues: [d], the largest first, none negative.
    """
    total = float(eigenvalues.sum())
    if total <= 0.0:
        return 0
    # A share short of the bound by rounding alone reaches it.
    reached = np.cumsum(eigenvalues) / total >= share - 1e-12
    return int(reached.argmax()) + 1


def entropy_rank(singular: np.ndarray) -> float:
    """exp of the entropy of singular values divided by their sum; 0 where all are 0."""
    total = float(singular.sum())
    if total <= 0.0:
        return 0.0
    p = singular[singular > 0.0] / total
    return float(np.exp(-(p * np.log(p)).sum()))


def singular_values(rows: Tensor) -> np.ndarray:
    """Singular values of rows [n, d] as they are (not centred), [min(n, d)] float64.

    From the smaller of the two Gram matrices: exact to about 1e-8 of the largest.
    """
    exact = double(rows)
    gram = exact @ exact.mT if len(exact) <= exact.shape[1] else exact.mT @ exact
    found: np.ndarray = torch.linalg.eigvalsh(gram).flip(0).clamp_min(0.0).sqrt().cpu().numpy()
    return found
