"""How closely each head's queries point at one key, beside all other keys.

Cosines between queries and keys after position encoding, over all pairs of a query i and an
earlier key j < i, whether or not a window hides them. With unit vectors q̂, k̂ the sum over pairs

    Σ_i Σ_{j<i} q̂_i · k̂_j = Σ_i q̂_i · (Σ_{j<i} k̂_j)

needs running sums of keys alone: nothing of size N × N is made.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from torch import Tensor

from backend.tokens.spectrum import double


@dataclasses.dataclass(frozen=True, eq=False)
class Locking:
    """One layer's cosines (H query heads)."""

    sink: np.ndarray
    """[H] mean cosine between the sink's key and each later query."""
    others: np.ndarray
    """[H] mean cosine between every other key and each later query; NaN where there is none."""
    positive: np.ndarray
    """[H] share of later queries whose dot product with the sink's key is positive."""


def locking(query: Tensor, key: Tensor, sink: int) -> Locking:
    """Cosines of one layer.

    Args:
        query: [H, N, e]; key: [K, N, e], head h reads key/value head h // (H / K).
        sink: a position before the last one.
    """
    heads, length, _ = query.shape
    q = double(torch.nn.functional.normalize(query.float(), dim=-1))
    k = double(torch.nn.functional.normalize(key.float(), dim=-1))
    k = k.repeat_interleave(heads // len(k), dim=0)
    towards = (q[:, sink + 1 :] @ k[:, sink, :, None])[..., 0]
    later = length - 1 - sink
    earlier = k.cumsum(dim=1)
    every = (q[:, 1:] * earlier[:, :-1]).sum(dim=(1, 2))
    pairs = length * (length - 1) // 2 - later
    alone = towards.sum(dim=1)
    others = (every - alone) / pairs if pairs else torch.full_like(alone, torch.nan)
    return Locking(
        (alone / later).cpu().numpy(),
        others.cpu().numpy(),
        (towards > 0).double().mean(dim=1).cpu().numpy(),
    )
