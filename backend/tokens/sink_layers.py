"""What one attention layer does with a sink: a key many queries look at.

Key s gets the weight a = A[h,i,s] of head h at query i and writes a v0, v0 = V[h,s] W_O[h] (times
the gain of a norm that follows); all other keys write (1 - a) u, so the head's output is
o = a v0 + (1 - a) u. Only queries after s count: s itself has nobody else to look at where s is 0.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from backend.tokens.contributions import direction

if TYPE_CHECKING:
    from backend.tokens.capture import LayerParts

FULL = 1e-12
"""Where a head leaves no more than this to the other keys, they have no direction of their own."""


@dataclasses.dataclass(frozen=True, eq=False)
class SinkLayer:
    """One layer's measures (H heads, q query rows after the sink), float32."""

    attention: np.ndarray
    """[H, q]: A[h,i,s]."""
    contribution: np.ndarray
    """[H, q]: share of the layer's output at query i that key s gives through head h."""
    norm: np.ndarray
    """[H, q]: length of head h's output after the output projection."""
    opposition: np.ndarray
    """[q]: minus the cosine of what s writes and what all other keys write."""
    drift: np.ndarray
    """[q]: 1 - cos(x_l, x_l+1)."""
    drift_without: np.ndarray
    """[q]: the same with what s wrote taken off x_l+1."""
    drift_renormalised: np.ndarray
    """[q]: the same with the other keys' attention scaled up to sum to 1 in each head."""
    update: np.ndarray
    """[q]: length of what all other keys write."""


@dataclasses.dataclass(frozen=True, eq=False)
class Pair:
    """One head at one query: o = attention * sink + (1 - attention) * rest."""

    attention: float
    sink: np.ndarray
    """[d] float64: v0."""
    rest: np.ndarray
    """[d] float64: u; NaN where the head leaves the other keys nothing."""


def received(parts: LayerParts) -> Tensor:
    """What each key gets from later queries, its own left out: sums over those rows, [H, N]."""
    sums = parts.attention.sum(dim=1)
    rows = parts.queries
    own = parts.attention[:, torch.arange(len(rows), device=rows.device), rows]
    sums[:, rows] -= own
    return sums.clamp_(min=0)


def after(parts: LayerParts, sink: int) -> LayerParts:
    """The same layer with the query rows after `sink` alone; rows ascend."""
    start = int((parts.queries <= sink).sum())
    return dataclasses.replace(
        parts, attention=parts.attention[:, start:], queries=parts.queries[start:]
    )


def measure(parts: LayerParts, sink: int) -> SinkLayer:
    """Measure one layer; `parts` holds query rows after `sink` alone."""
    a = parts.attention[:, :, sink].clone()  # a view would keep the whole matrix
    pulled = direction(parts, "layer_output", "output_norm").pulled
    contribution = a * (pulled @ parts.values[:, sink, :, None])[..., 0]
    norms = []
    written = parts.after.new_zeros(len(parts.queries), parts.weight.shape[2], dtype=torch.float32)
    update, scaled = torch.zeros_like(written), torch.zeros_like(written)
    mixed, left = _others(parts, sink)
    for head in range(len(a)):
        own, rest = _written(parts, sink, head, mixed[head])
        norms.append((own + rest).norm(dim=-1))
        written += own
        update += rest
        share = left[head, :, None]
        scaled += torch.where(share > FULL, rest / share.clamp(min=FULL), 0.0)
    before = parts.before[parts.queries].float()
    then = parts.after[parts.queries].float()
    found = (
        a,
        contribution,
        torch.stack(norms),
        1 - 2 * _apart(written, -update),
        _drift(before, then),
        _drift(before, then - written),
        _drift(before, then - written - update + scaled),
        update.norm(dim=-1),
    )
    return SinkLayer(*(value.cpu().numpy() for value in found))


def pair(parts: LayerParts, sink: int, head: int, query: int) -> Pair:
    """The two vectors a head mixes at one query, which comes after `sink`."""
    row = parts.queries.tolist().index(query)
    one = dataclasses.replace(
        parts, attention=parts.attention[:, row : row + 1], queries=parts.queries[row : row + 1]
    )
    mixed, left = _others(one, sink)
    rest = _written(one, sink, head, mixed[head])[1][0]
    a, share = float(one.attention[head, 0, sink]), float(left[head, 0])
    vector = parts.values[head, sink] @ parts.weight[head]
    if parts.gain is not None:
        vector = vector * parts.gain[query]
    u = rest.cpu().double().numpy() / (share if share > FULL else np.nan)
    return Pair(a, vector.cpu().double().numpy(), u)


def _others(parts: LayerParts, sink: int) -> tuple[Tensor, Tensor]:
    """The other keys' values, weighted, [H, q, e], and 1 - A[h,i,s] as their sum, [H, q].

    The sink's value is set to 0 rather than its share subtracted, which may be nearly all there is.
    """
    values = torch.nn.functional.pad(parts.values, (0, 1), value=1.0)
    values[:, sink] = 0.0
    product = parts.attention @ values
    return product[..., :-1], product[..., -1]


def _written(parts: LayerParts, sink: int, head: int, mixed: Tensor) -> tuple[Tensor, Tensor]:
    """What the sink and what all other keys write through a head, [q, d] each."""
    W = parts.weight[head]
    own = parts.attention[head, :, sink, None] * (parts.values[head, sink] @ W)
    rest = mixed @ W
    if parts.gain is None:
        return own, rest
    gain = parts.gain[parts.queries]
    return own * gain, rest * gain


def _apart(one: Tensor, other: Tensor) -> Tensor:
    """(1 - cos) / 2, exact where the two nearly agree; NaN where one has no length."""
    lengths = [x.norm(dim=-1, keepdim=True) for x in (one, other)]
    quarter: Tensor = (one / lengths[0] - other / lengths[1]).pow(2).sum(dim=-1) / 4
    return quarter


def _drift(one: Tensor, other: Tensor) -> Tensor:
    return 2 * _apart(one, other)
