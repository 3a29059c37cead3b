"""What one forward pass leaves behind, so that any span of it can be explained without another.

Attention matrices grow with N²; the queries, keys and values they are made of grow with N. Those
are kept, with the residual stream, and the rows of a span are made from them when they are asked
for: layers × N × (2 d + (H + 2 K) e + H) numbers (H heads, K key/value heads of width e, width d).
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from backend.explainer import Run
from backend.tokens.attention import Heads, Intervention, intervening, probabilities
from backend.tokens.capture import LayerParts, capture, projection
from backend.tokens.weighted_rows import ROWS, weighted
from backend.tokens.written import dimension_gain

if TYPE_CHECKING:
    from backend.tokens.models import DecoderModel


@dataclasses.dataclass(frozen=True, eq=False)
class LayerState:
    """One layer of a pass (N tokens, width d, H heads of width e).

    `before`, `middle`, `after`: [N, d], the residual entering the block, with the attention output
    added, and leaving it. A norm on the attention output is a factor per query times one per
    dimension: `query_gain` [N] and `dimension_gain` [d], None for 1.
    """

    index: int
    heads: Heads
    projection: nn.Module
    before: Tensor
    middle: Tensor
    after: Tensor
    query_gain: Tensor | None
    dimension_gain: Tensor | None

    def weight(self) -> Tensor:
        """[H, e, d] float32: head h writes `values @ weight[h]`, up to the query's gain."""
        weight, _ = projection(self.projection, self.heads.query.shape[1])
        return weight if self.dimension_gain is None else weight * self.dimension_gain

    def rows(self, positions: Tensor) -> Tensor:
        """Attention of these queries, [H, Q, keys] float32; the keys end with the last query.

        Args:
            positions: [Q] query positions, ascending.
        """
        h, first, keys = self.heads, int(positions[0]), int(positions[-1]) + 1
        together = keys - first == len(positions)
        query = h.query[:, :, first:keys] if together else h.query[:, :, positions]
        key = h.key[:, :, :keys]
        # Remembering the rows gains nothing: reading them takes as long as making them.
        return probabilities(query, key, h.mask, h.scaling, h.softcap, positions)[0]

    def attended(self, positions: Tensor, weights: Tensor) -> Tensor:
        """Σ_i w_i A[h,i,j], [H, keys] float32; the keys end with the last query.

        Args:
            positions: [Q] query positions, ascending.
            weights: [Q].
        """
        normaliser = self.heads.normaliser
        if normaliser is not None:
            return weighted(self.heads, normaliser, positions, weights)
        keys = int(positions[-1]) + 1
        total = torch.zeros(self.heads.query.shape[1], keys, device=positions.device)
        for rows, w in zip(torch.split(positions, ROWS), torch.split(weights, ROWS), strict=True):
            total[:, : int(rows[-1]) + 1] += torch.matmul(w, self.rows(rows))
        return total

    def values(self, keys: int) -> Tensor:
        """[K, keys, e] float32, one per key/value head."""
        return self.heads.value[0, :, :keys].float()

    @property
    def nbytes(self) -> int:
        """What keeping it takes; `after` is the next layer's `before`."""
        held = (self.heads.query, self.heads.key, self.heads.value, self.before, self.middle)
        normaliser = self.heads.normaliser
        extra = 0 if normaliser is None else normaliser.nbytes
        return extra + sum(tensor.nbytes for tensor in held)


class Kept:
    """The passes a loaded model remembers, the latest used last.

    Args:
        budget: bytes they may take together.
    """

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.passes: OrderedDict[tuple[int, ...], list[LayerState]] = OrderedDict()

    def get(self, ids: tuple[int, ...]) -> list[LayerState] | None:
        """The layers of the pass over these ids, where it is remembered."""
        if ids in self.passes:
            self.passes.move_to_end(ids)
        return self.passes.get(ids)

    def make_room(self, wanted: int) -> bool:
        """Forget passes until one of `wanted` bytes fits; False where it never will."""
        if wanted > self.budget:
            return False
        while self.passes and self.size() + wanted > self.budget:
            self.passes.popitem(last=False)
        return True

    def size(self) -> int:
        """Bytes."""
        return sum(layer.nbytes for layers in self.passes.values() for layer in layers)


def each_layer(
    model: DecoderModel, ids: Sequence[int], work: Callable[[LayerState], None], run: Run
) -> None:
    """Hand the layers of the pass over `ids` to `work`, in order.

    From memory where the model remembers this pass; else it runs, and is remembered if it fits
    `VITRINE_PASS_MEMORY_GB`. Too long a pass is streamed: nothing of it is kept.
    """
    key, kept = tuple(ids), model.kept
    known = kept.get(key)
    if known is not None:
        for layer in known:
            work(layer)
            run.progress(layer.index + 1, len(known), "layers, remembered")
        return
    layers, fits = list[LayerState](), False

    def receive(layer: LayerState) -> None:
        nonlocal fits
        if layer.index == 0:
            fits = kept.make_room(layer.nbytes * model.layers)
        if fits:
            layers.append(layer)
        work(layer)

    _run(model, key, receive, run)
    if fits:
        kept.passes[key] = layers


def _run(
    model: DecoderModel, ids: tuple[int, ...], each: Callable[[LayerState], None], run: Run
) -> None:
    given: list[Heads] = []

    def receive(_module: nn.Module, heads: Heads) -> None:
        given.append(heads)

    def finish(parts: LayerParts) -> None:
        gain = shape = None
        if parts.gain is not None:
            shape = dimension_gain(parts.gain)
            gain = parts.gain.float() @ shape
        each(
            LayerState(
                index=parts.index,
                heads=given.pop(),
                projection=model.blocks[parts.index].projection,
                before=parts.before,
                middle=parts.middle,
                after=parts.after,
                query_gain=gain,
                dimension_gain=shape,
            )
        )

    with intervening(model, Intervention(heads=receive)):
        capture(model, ids, finish, (), run)
