"""Attention rows summed with weights, without holding the rows.

A softmax's normaliser is one number a row, so a pass keeps it: A[h,i,j] = exp(s[h,i,j] - n[h,i]).
Rows made from it need neither their largest score nor a division, and the query's normaliser is the
bias of the product that makes its scores.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from backend.tokens.products import affine, usable

if TYPE_CHECKING:
    from backend.tokens.attention import Heads

ROWS = 128
"""Attention rows made at once."""

_FLASH: Any = getattr(torch.ops.aten, "_scaled_dot_product_flash_attention_for_cpu", None)


def normalised(
    query: Tensor, key: Tensor, value: Tensor, scaling: float
) -> tuple[Tensor, Tensor] | None:
    """Plain causal attention by the kernel that sdpa takes on the CPU, and its normalisers.

    Args:
        query: [B, H, N, e].
        key, value: [B, K, N, e].

    Returns:
        [B, N, H, e] and [B, H, N], or None where the kernel does not serve.
    """
    same = query.shape[2:] == key.shape[2:] and key.shape == value.shape
    if _FLASH is None or not same or query.shape[2] == 1 or not usable(query, key, value):
        return None
    output, normaliser = _FLASH(query, key, value, 0.0, True, scale=scaling)
    return output.transpose(1, 2).contiguous(), normaliser


def weighted(heads: Heads, normaliser: Tensor, positions: Tensor, weights: Tensor) -> Tensor:
    """Σ_i w_i A[h,i,j] of plain causal attention, [H, keys]; the keys end with the last position.

    Args:
        normaliser: [B, H, N], as `normalised` gives it.
        positions: [Q] query positions, ascending.
        weights: [Q].
    """
    H, K, keys = heads.query.shape[1], heads.key.shape[1], int(positions[-1]) + 1
    total = torch.zeros(K, keys, H // K)
    base = math.log2(math.e)  # exp2 is several times faster than exp
    for rows, w in zip(torch.split(positions, ROWS), torch.split(weights, ROWS), strict=True):
        first, seen, Q = int(rows[0]) + 1, int(rows[-1]) + 1, len(rows)
        query = heads.query[0, :, rows] * (heads.scaling * base)
        query = query.reshape(K, (H // K) * Q, -1)
        bias = (normaliser[0, :, rows] * -base).reshape(K, -1)
        later = torch.arange(first, seen)[:, None, None] > rows
        hidden = torch.zeros(later.shape).masked_fill_(later, -torch.inf)
        for group in range(K):
            scores = affine(heads.key[0, group, :seen], query[group], bias[group])
            scores = scores.view(seen, -1, Q)
            scores[first:] += hidden
            total[group, :seen] += torch.mv(scores.exp2_().view(-1, Q), w).view(seen, -1)
    return total.mT.reshape(H, keys)
