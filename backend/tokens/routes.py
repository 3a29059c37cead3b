"""Information flow routes: what a span of positions takes from each earlier token, layer by layer.

Ferrando & Voita, "Information Flow Routes: Automatically Interpreting Language Models at Scale",
EMNLP 2024, arXiv 2403.00824; over a span: Pan et al., "Towards Long-Horizon Interpretability:
Efficient and Faithful Multi-Token Attribution for Reasoning LLMs", ICML 2026, arXiv 2602.01914.

A part z of a whole y is as important as the L1 distance to y that it closes:
prox(z, y) = max(0, ||y||_1 - ||y - z||_1). For positions S with weights w, in each layer:

1. Y = Σ_i w_i m_i the residual stream after attention, R = Σ_i w_i x_i the one before it.
2. a[h,j] = Σ_i w_i A[h,i,j]; what key j gives through head h is a[h,j] f_{j,h}, since
   f_{j,h} = V[j,h] W_O[h] does not depend on the query: N H vectors, however long the span.
3. A token's share is Σ_h prox(a[h,j] f_{j,h}, Y), the residual's prox(R, Y), over their sum.

Scaling w changes no share. Summing before the prox is not the mean of the positions' own routes:
`of_each` gives those, at |S| times the cost.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from backend.explainer import Run
from backend.tokens.products import affine
from backend.tokens.states import LayerState, each_layer
from backend.tokens.weighted_rows import ROWS

if TYPE_CHECKING:
    from backend.tokens.models import DecoderModel

TINY = 1e-12
BLOCK_ELEMENTS = 2**20
"""Numbers a block of written vectors may hold: it stays in the processor's cache."""


@dataclasses.dataclass(frozen=True, eq=False)
class Routes:
    """Where a span's residual stream came from (L layers, H heads, N tokens), float32.

    In each layer the tokens' shares and the residual's sum to 1, and so do the heads' and the
    residual's. `feed_forward` [L] compares the MLP's output with the stream it is added to.
    `attention` [N]: the span's mean attention over layers and heads.
    """

    tokens: np.ndarray
    heads: np.ndarray
    residual: np.ndarray
    feed_forward: np.ndarray
    attention: np.ndarray


def of_span(
    model: DecoderModel,
    ids: Sequence[int],
    positions: Sequence[int],
    run: Run,
    *,
    weights: np.ndarray | None = None,
    threshold: float = 0.0,
) -> Routes:
    """The routes into a span.

    Args:
        positions: S, ascending.
        weights: [S], non-negative, not all zero; None weighs all alike.
        threshold: a prox below it counts as nothing.
    """
    w = np.ones(len(positions)) if weights is None else np.asarray(weights, dtype=np.float64)
    used = np.flatnonzero(w)
    at = torch.tensor([positions[int(i)] for i in used], device=model.device)
    share = torch.tensor(w[used] / w.sum(), dtype=torch.float32, device=model.device)
    found = _empty(model, len(ids))

    def take(layer: LayerState) -> None:
        _span_layer(layer, at, share, threshold, found)

    each_layer(model, ids, take, run)
    return dataclasses.replace(found, attention=found.attention / model.layers)


def _empty(model: DecoderModel, length: int) -> Routes:
    def zeros(*shape: int) -> np.ndarray:
        return np.zeros(shape, dtype=np.float32)

    L = model.layers
    return Routes(zeros(L, length), zeros(L, model.heads), zeros(L), zeros(L), zeros(length))


def _span_layer(
    layer: LayerState, at: Tensor, weights: Tensor, threshold: float, found: Routes
) -> None:
    seen = int(at[-1]) + 1
    every = torch.zeros(seen, device=at.device).index_put_((at,), weights)
    whole, before, after = (
        every @ x[:seen].float() for x in (layer.middle, layer.before, layer.after)
    )
    attention = layer.attended(at, weights)
    gained = attention
    if layer.query_gain is not None:
        gained = layer.attended(at, weights * layer.query_gain[at])
    prox = _Written(layer, seen, threshold).prox(gained, whole)
    resid = _clipped(_size(whole) - _size(whole - before), 0.0)
    total = prox.sum() + resid + TINY
    i = layer.index
    found.tokens[i, :seen] = (prox.sum(dim=0) / total).cpu().numpy()
    found.heads[i] = (prox.sum(dim=1) / total).cpu().numpy()
    found.residual[i] = float(resid / total)
    found.feed_forward[i] = _feed_forward(whole, after)
    found.attention[:seen] += attention.mean(dim=0).cpu().numpy()


def _size(x: Tensor) -> Tensor:
    return x.abs().sum(dim=-1)


class _Written:
    """The vectors f_{j,h} of one layer's keys, ready to be compared with a whole."""

    def __init__(self, layer: LayerState, keys: int, threshold: float) -> None:
        self.weight = layer.weight().mT.contiguous()
        """[H, d, e]"""
        self.values = layer.values(keys)
        self.threshold = threshold

    def prox(self, attention: Tensor, whole: Tensor) -> Tensor:
        """prox(a f, y), [H, keys].

        Args:
            attention: [H, keys], at most the keys this was made for.
            whole: [d].
        """
        heads, keys = attention.shape
        shared = heads // len(self.values)
        away, against = torch.empty_like(attention), -whole
        size = max(1, BLOCK_ELEMENTS // len(whole))
        for head in range(heads):
            for start in range(0, keys, size):
                at = slice(start, min(start + size, keys))
                part = self.values[head // shared, at] * attention[head, at, None]
                off = affine(part, self.weight[head], against)
                away[head, at] = off.abs_().sum(dim=-1)
        # A key that is not attended to gives nothing: rounding must not give it a share.
        prox = (_size(whole) - away).masked_fill_(attention == 0, 0.0)
        return _clipped(prox, self.threshold)


def _clipped(prox: Tensor, threshold: float) -> Tensor:
    prox = prox.clamp_(min=0)
    return prox.masked_fill_(prox < threshold, 0.0) if threshold > 0 else prox


def _feed_forward(middle: Tensor, after: Tensor) -> float:
    """The MLP's share of the stream it is added to: after = middle + mlp."""
    mlp = (_size(after) - _size(middle)).clamp(min=0)
    stream = (_size(after) - _size(after - middle)).clamp(min=0)
    return float(mlp / (mlp + stream + TINY))


def of_each(
    model: DecoderModel,
    ids: Sequence[int],
    positions: Sequence[int],
    run: Run,
    *,
    threshold: float = 0.0,
) -> Routes:
    """The mean of the routes into each position alone: exact, at |S| times the cost of a span.

    Args:
        positions: S, ascending.
        threshold: a prox below it counts as nothing.
    """
    at = torch.tensor(list(positions), device=model.device)
    found = _empty(model, len(ids))

    def take(layer: LayerState) -> None:
        for rows in torch.split(at, ROWS):
            run.progress(layer.index * len(at) + int((at < rows[0]).sum()), total, "positions")
            _position_rows(layer, rows, threshold, found)

    total = model.layers * len(at)
    each_layer(model, ids, take, run)
    means = {f.name: getattr(found, f.name) / len(at) for f in dataclasses.fields(found)}
    means["attention"] /= model.layers
    return Routes(**means)


def _position_rows(layer: LayerState, rows: Tensor, threshold: float, found: Routes) -> None:
    """Add the routes of some positions, one by one, in one layer."""
    i, attention = layer.index, layer.rows(rows)
    gain = None if layer.query_gain is None else layer.query_gain[rows]
    whole, before, after = (x[rows].float() for x in (layer.middle, layer.before, layer.after))
    resid = _clipped(_size(whole) - _size(whole - before), 0.0)
    written = _Written(layer, attention.shape[2], threshold)
    for row in range(len(rows)):
        keys = int(rows[row]) + 1
        a = attention[:, row, :keys]
        prox = written.prox(a if gain is None else a * gain[row], whole[row])
        total = prox.sum() + resid[row] + TINY
        found.tokens[i, :keys] += (prox.sum(dim=0) / total).cpu().numpy()
        found.heads[i] += (prox.sum(dim=1) / total).cpu().numpy()
        found.residual[i] += float(resid[row] / total)
        found.feed_forward[i] += _feed_forward(whole[row], after[row])
        found.attention[:keys] += a.mean(dim=0).cpu().numpy()


def of_source(
    model: DecoderModel, ids: Sequence[int], source: Sequence[int], run: Run
) -> np.ndarray:
    """What later positions took from a source, [N] float64: the way back.

    The share of ||m_i||_1 that all the source's vectors together close, prox(Σ_j Σ_h a f, m_i) /
    ||m_i||_1, mean over layers; 0 at and before the source's first token.

    Args:
        source: positions, ascending.
    """
    total = np.zeros(len(ids))
    start = source[0] + 1

    def take(layer: LayerState) -> None:
        at = torch.tensor(list(source), device=layer.middle.device)
        weight = layer.weight()
        values = layer.values(source[-1] + 1)[:, at]
        values = values.repeat_interleave(len(weight) // len(values), dim=0)
        for rows in torch.split(torch.arange(start, len(ids), device=at.device), ROWS):
            attention = _seen(layer.rows(rows), at)
            written = torch.einsum("hqs,hse,hed->qd", attention, values, weight)
            if layer.query_gain is not None:
                written = written * layer.query_gain[rows, None]
            whole = layer.middle[rows].float()
            prox = _clipped(_size(whole) - _size(whole - written), 0.0)
            share = prox / (_size(whole) + TINY)
            total[int(rows[0]) : int(rows[-1]) + 1] += share.double().cpu().numpy()

    each_layer(model, ids, take, run)
    return total / model.layers


def _seen(attention: Tensor, at: Tensor) -> Tensor:
    """Attention [H, Q, keys] to some keys, [H, Q, S]; those past its last key are not seen."""
    inside = int((at < attention.shape[2]).sum())
    picked = attention[:, :, at[:inside]]
    return torch.nn.functional.pad(picked, (0, len(at) - inside))
