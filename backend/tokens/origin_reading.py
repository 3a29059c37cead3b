"""One pass that reads, layer by layer, what makes a position a sink; only `explain` imports this.

Per layer, while the pass runs: how widely the attention's output-projection input and output
spread at each position, how far one dimension stands out in the residual, how many directions the
block's output fills, how the heads' queries meet the sink's key, and which MLP neuron answers to
the sink alone. Of the MLP only the layer with the most extreme neuron so far is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from backend.explainer import Run
from backend.tokens import feed_forward
from backend.tokens.attention import Heads, Intervention, intervening
from backend.tokens.blocks import first, given, hooked
from backend.tokens.feed_forward import FeedForward
from backend.tokens.locking import Locking, locking
from backend.tokens.sink_position import query_rows
from backend.tokens.spectrum import entropy_rank, singular_values
from backend.tokens.super_neurons import Neurons, neurons, selectivity

MOST_ROWS = 1024
"""Rows of a block's output whose singular values are taken."""


class Reading:
    """What one pass says about the sink (L layers, N tokens).

    Args:
        sink: its position.
        top: neurons kept of the most extreme layer.
    """

    def __init__(self, model: Any, ids: Sequence[int], sink: int, top: int, run: Run) -> None:
        self.model, self.ids, self.sink, self.top, self.run = model, list(ids), sink, top, run
        count, length = model.layers, len(self.ids)
        self.spread_in = np.zeros((count, length), dtype=np.float32)
        """Standard deviation over features of the output projection's input, [L, N]."""
        self.spread_out = np.zeros((count, length), dtype=np.float32)
        self.norm = np.zeros((count + 1, length), dtype=np.float32)
        """Length of the residual entering block 0 and leaving each block, [L + 1, N]."""
        self.dominance = np.zeros((count + 1, length), dtype=np.float32)
        self.dimension = np.zeros((count + 1, length), dtype=np.int64)
        self.rank = np.zeros(count)
        self.locking: list[Locking] = []
        self.ratio = np.full(count, np.nan)
        """The most extreme neuron's ratio by layer, [L]; NaN where no MLP was found."""
        self.ratio_neuron = np.full(count, -1, dtype=np.int64)
        self.neurons: Neurons | None = None
        self.parts = [feed_forward.find(block) for block in model.blocks]
        self._mlp_input: Tensor | None = None
        self._rows = torch.tensor(query_rows(length, MOST_ROWS), device=model.device)

    def read(self) -> None:
        """Run the model once."""
        with (
            torch.no_grad(),
            intervening(self.model, Intervention(heads=self._hear)),
            hooked(self._hooks()),
        ):
            ids = torch.tensor([self.ids], device=self.model.device)
            self.model.hf.base_model(input_ids=ids, use_cache=False)
        self.run.count(forward=1)

    @property
    def missing(self) -> list[int]:
        """Layers whose MLP was not found, from 0."""
        return [index for index, parts in enumerate(self.parts) if parts is None]

    @property
    def rank_rows(self) -> int:
        """How many rows of each block's output the rank was taken of."""
        return len(self._rows)

    def _hear(self, _module: nn.Module, heads: Heads) -> None:
        self.locking.append(locking(heads.query[0], heads.key[0], self.sink))

    def _hooks(self) -> list[tuple[nn.Module, str, Callable]]:
        blocks = self.model.blocks
        hooks: list[tuple[nn.Module, str, Callable]] = [(blocks[0].layer, "before", self._enter)]
        for index, (block, parts) in enumerate(zip(blocks, self.parts, strict=True)):
            hooks.append((block.projection, "before", self._spread_before(index)))
            hooks.append((block.projection, "after", self._spread_after(index)))
            if parts is not None:
                hooks.append((parts.module, "before", self._keep_input))
                hooks.append((parts.down, "before", self._activations(index, parts)))
            hooks.append((block.layer, "after", self._leave(index)))
        return hooks

    def _enter(self, _module: nn.Module, args: tuple, kwargs: dict[str, Any]) -> None:
        x = given(args, kwargs)
        if x is None:
            raise ValueError("a block was called without hidden states")
        self._residual(0, x[0].float())

    def _spread_before(self, index: int) -> Callable:
        def hook(_module: nn.Module, args: tuple, _kwargs: dict[str, Any]) -> None:
            self.spread_in[index] = spread(args[0][0])

        return hook

    def _spread_after(self, index: int) -> Callable:
        def hook(_module: nn.Module, _args: tuple, output: Any) -> None:
            self.spread_out[index] = spread(first(output)[0])

        return hook

    def _keep_input(self, _module: nn.Module, args: tuple, kwargs: dict[str, Any]) -> None:
        x = given(args, kwargs)
        self._mlp_input = None if x is None else x[0]

    def _activations(self, index: int, parts: FeedForward) -> Callable:
        def hook(_module: nn.Module, args: tuple, _kwargs: dict[str, Any]) -> None:
            activation = args[0][0].float()
            ratios = selectivity(activation, self.sink)
            best = int(ratios.argmax())
            self.ratio[index], self.ratio_neuron[index] = float(ratios[best]), best
            if self.neurons is None or self.ratio[index] > self.neurons.ratio[0]:
                x = self._mlp_input
                self.neurons = neurons(index, parts, activation, x, ratios, self.top)

        return hook

    def _leave(self, index: int) -> Callable:
        def hook(_module: nn.Module, _args: tuple, output: Any) -> None:
            after = first(output)[0].float()
            self._residual(index + 1, after)
            self.rank[index] = entropy_rank(singular_values(after[self._rows]))
            layers = self.model.layers
            self.run.progress(layers + index + 1, 2 * layers, "reading layers")

        return hook

    def _residual(self, depth: int, x: Tensor) -> None:
        sizes = x.abs()
        largest, where = sizes.max(dim=-1)
        self.norm[depth] = x.norm(dim=-1).cpu().numpy()
        self.dominance[depth] = (largest / sizes.mean(dim=-1)).cpu().numpy()
        self.dimension[depth] = where.cpu().numpy()


def spread(x: Tensor) -> np.ndarray:
    """Standard deviation over the features of each row of x [N, d], [N] float32."""
    found: np.ndarray = x.float().std(dim=-1, correction=0).cpu().numpy()
    return found
