"""The vectors that key tokens write to query tokens in one layer, and how long or close they are.

T[i,j] = Σ_h A[h,i,j] f_{j,h} with f_{j,h} = V[j,h] W_O[h]. A norm between the attention output and
the residual multiplies query i's vectors by a factor per query and dimension; such a factor is a
product of one number per query and one per dimension (an RMS norm's 1/rms and its weight).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from backend.tokens.contributions import causal_blocks

if TYPE_CHECKING:
    from backend.tokens.capture import LayerParts

BLOCK_ELEMENTS = 2**23
"""Numbers a block of written vectors may hold."""


def vectors(parts: LayerParts) -> Tensor:
    """f [N, H, d] float32, with the dimension part of the gain."""
    weight = parts.weight
    if parts.gain is not None:
        weight = weight * dimension_gain(parts.gain)
    return torch.matmul(parts.values, weight).transpose(0, 1).contiguous()


def query_gain(parts: LayerParts) -> Tensor:
    """[Q]: the query part of the gain, which `vectors` leaves out."""
    rows = parts.queries
    if parts.gain is None:
        return torch.ones(len(rows), device=rows.device)
    shape = dimension_gain(parts.gain)
    along: Tensor = parts.gain[rows].float() @ shape
    return along


def dimension_gain(gain: Tensor) -> Tensor:
    """[d] unit vector along which every row of a gain [N, d] lies.

    Raises:
        ValueError: the rows differ in more than length.
    """
    first = gain[0].float()
    shape: Tensor = first / first.norm()
    scales = gain.float() @ shape
    if not torch.allclose(scales[:, None] * shape, gain.float(), rtol=1e-4, atol=1e-6):
        raise ValueError("the norm after attention is not a factor per query times one per width")
    return shape


def head_lengths(parts: LayerParts) -> Tensor:
    """A[h,i,j] ||f_{j,h}||, [H, Q, N]."""
    lengths: Tensor = vectors(parts).norm(dim=-1).T
    gain = query_gain(parts).abs()
    return parts.attention * lengths[:, None, :] * gain[None, :, None]


def token_lengths(parts: LayerParts, *, residual: bool = False) -> Tensor:
    """||T[i,j]||, [Q, N], with the residual x_i added at j = i where asked.

    The vectors T are never built: with G_j[h,g] = <f_{j,h}, f_{j,g}> the squared length is
    a G_j a for a = A[:,i,j]; in float64, since heads may cancel.
    """
    f = vectors(parts)
    products = torch.bmm(f, f.mT).double()
    _, count, length = parts.attention.shape
    result = f.new_zeros(count, length)
    for start, stop, keys in causal_blocks(parts.queries):
        a = parts.attention[:, start:stop, :keys].permute(2, 1, 0).double()
        squares = (torch.bmm(a, products[:keys]) * a).sum(dim=-1)
        result[start:stop, :keys] = squares.clamp_(min=0).sqrt_().T.float()
    result *= query_gain(parts).abs()[:, None]
    if residual:
        rows = torch.arange(count, device=f.device)
        result[rows, parts.queries] = _own(parts, f).norm(dim=-1)
    return result


def _own(parts: LayerParts, f: Tensor) -> Tensor:
    """T[i,i] + x_i of the query rows, [Q, d]."""
    rows = torch.arange(len(parts.queries), device=f.device)
    diagonal = parts.attention[:, rows, parts.queries]
    own = torch.einsum("hq,qhd->qd", diagonal, f[parts.queries])
    return own * query_gain(parts)[:, None] + parts.before[parts.queries].float()


def proximity(parts: LayerParts, between: Callable[[], None]) -> Tensor:
    """max(0, ||m_i||_1 - ||m_i - T_ij||_1), [Q, N], x_i included in T_ii.

    Args:
        between: called between blocks of rows; may raise to stop.
    """
    f = vectors(parts)
    gain = query_gain(parts)
    _, count, length = parts.attention.shape
    middle = parts.middle[parts.queries].float()
    total = middle.abs().sum(dim=-1)
    rows = torch.arange(count, device=f.device)
    result = f.new_zeros(count, length)
    size = max(1, BLOCK_ELEMENTS // (length * f.shape[-1]))
    for start, stop, keys in causal_blocks(parts.queries, size):
        between()
        a = parts.attention[:, start:stop, :keys].permute(2, 1, 0)
        T = torch.bmm(a * gain[start:stop, None], f[:keys])
        away = T.sub_(middle[start:stop]).abs_().sum(dim=-1).T
        result[start:stop, :keys] = total[start:stop, None] - away
    own = middle - _own(parts, f)
    result[rows, parts.queries] = total - own.abs().sum(dim=-1)
    # Keys a query cannot see write nothing: rounding must not give them a share.
    later = torch.arange(length, device=f.device) > parts.queries[:, None]
    return result.masked_fill_(later, 0.0).clamp_(min=0)
