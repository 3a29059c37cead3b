"""The parts of each block's attention sub-layer, streamed one layer at a time.

Per query i, head h and key j the sub-layer writes `A[h,i,j] values[h,j] @ weight[h]`; summed over
heads and keys, plus the projection's bias, times the gain of a norm that follows, this is exactly
what is added to the residual:

    attention_output[i] = gain[i] * (sum_hj A[h,i,j] values[h,j] @ weight[h] + bias)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from backend.explainer import Run
from backend.tokens.attention import Intervention, Rows, intervening
from backend.tokens.blocks import Block, first, given, hooked

if TYPE_CHECKING:
    from backend.tokens.models import DecoderModel


@dataclasses.dataclass(eq=False)
class LayerParts:
    """One layer's attention sub-layer (H heads, Q queries, N tokens, e head width, d width)."""

    index: int
    attention: Tensor
    """[H, Q, N] float32: the requested query rows after softmax."""
    values: Tensor
    """[H, N, e] float32, one per query head."""
    queries: Tensor
    """[Q] long: positions of the rows."""
    weight: Tensor
    """[H, e, d] float32: head h writes `values[h] @ weight[h]`."""
    bias: Tensor | None
    """[d] float32: the projection's bias, before a sandwich norm."""
    before: Tensor
    """[N, d]: the residual entering the block, in the model's precision like the next three."""
    attention_output: Tensor
    """[N, d]: what the sub-layer adds to the residual."""
    middle: Tensor
    """[N, d]: before + attention_output."""
    after: Tensor
    """[N, d]: the residual leaving the block."""
    gain: Tensor | None
    """[N, d] float32: attention_output = gain * (projection's output); None means 1."""
    parallel: bool
    """Whether the MLP read the block's input, so that `middle` is no input of it."""


def capture(
    model: DecoderModel,
    ids: Sequence[int],
    each: Callable[[LayerParts], None],
    queries: Sequence[int] | None = None,
    run: Run | None = None,
) -> Tensor:
    """Run the model once and hand each layer's parts to `each`, in order, freed afterwards.

    With `queries`, only their rows [H, Q, N] are computed; nothing of size [H, N, N] is.

    Args:
        ids: the token ids, N.
        queries: positions of the attention rows wanted; None means all.
        run: counts the pass, reports progress and stops between layers when cancelled.

    Returns:
        [N, d]: the residual leaving the last block, before the final norm.
    """
    picked = None
    if queries is not None:
        picked = torch.tensor(list(queries), dtype=torch.long, device=model.device)
    listener = _Listener(model, each, picked, run)
    with (
        torch.no_grad(),
        intervening(model, Intervention(rows=Rows(picked, listener.receive))),
        hooked(listener.hooks()),
    ):
        model.hf.base_model(
            input_ids=torch.tensor([list(ids)], device=model.device), use_cache=False
        )
    if run is not None:
        run.count(forward=1)
    return listener.residual


class _Listener:
    """Collects a block's tensors while it runs and builds its parts when it ends."""

    residual: Tensor

    def __init__(
        self,
        model: DecoderModel,
        each: Callable[[LayerParts], None],
        queries: Tensor | None,
        run: Run | None,
    ) -> None:
        self.blocks, self.each, self.queries, self.run = model.blocks, each, queries, run
        self.attention: Tensor | None = None
        self.values: Tensor | None = None
        self.raw: Tensor | None = None
        self.added: Tensor | None = None

    def receive(self, _module: nn.Module, attention: Tensor, values: Tensor) -> None:
        self.attention, self.values = attention, values

    def hooks(self) -> list[tuple[nn.Module, str, Callable]]:
        hooks: list[tuple[nn.Module, str, Callable]] = []
        for index, block in enumerate(self.blocks):
            hooks.append((block.attention, "after", self._keep_raw))
            if block.sandwich is not None:
                hooks.append((block.sandwich, "after", self._keep_added))
            hooks.append((block.layer, "before", self._enter))
            hooks.append((block.layer, "after", self._leaving(index)))
        return hooks

    def _enter(self, _module: nn.Module, args: tuple, kwargs: dict[str, Any]) -> None:
        x = given(args, kwargs)
        if x is None:
            raise ValueError("a block was called without hidden states")
        self.residual = x[0]

    def _keep_raw(self, _module: nn.Module, _args: tuple, output: Any) -> None:
        self.raw = first(output)[0]

    def _keep_added(self, _module: nn.Module, _args: tuple, output: Any) -> None:
        self.added = first(output)[0]

    def _leaving(self, index: int) -> Callable:
        def leave(_module: nn.Module, _args: tuple, output: Any) -> None:
            after = first(output)[0]
            self._finish(index, after)
            self.residual = after

        return leave

    def _finish(self, index: int, after: Tensor) -> None:
        if self.attention is None or self.values is None or self.raw is None:
            raise ValueError(f"block {index} ran no attention")
        block = self.blocks[index]
        added = self.raw if self.added is None else self.added
        if block.factor != 1.0:
            added = added * block.factor
        N = len(after)
        weight, bias = projection(block.projection, len(self.attention))
        parts = LayerParts(
            index=index,
            attention=self.attention,
            values=self.values,
            queries=torch.arange(N, device=after.device) if self.queries is None else self.queries,
            weight=weight,
            bias=bias,
            before=self.residual,
            attention_output=added,
            middle=self.residual + added,
            after=after,
            gain=gain(block, self.raw),
            parallel=block.parallel,
        )
        self.attention = self.values = self.raw = self.added = None
        self.each(parts)
        if self.run is not None:
            self.run.progress(index + 1, len(self.blocks), "layers")


def projection(module: nn.Module, heads: int) -> tuple[Tensor, Tensor | None]:
    """The output projection per head [H, e, d] and its bias [d], float32 (views where possible)."""
    matrix: Any = module.weight
    if not isinstance(module, Conv1D):  # Conv1D stores [in, out], Linear [out, in]
        matrix = matrix.t()
    bias: Any = module.bias if hasattr(module, "bias") else None
    weight = matrix.detach().float().unflatten(0, (heads, -1))
    return weight, None if bias is None else bias.detach().float()


def gain(block: Block, raw: Tensor) -> Tensor | None:
    """[N, d] float32 factor between the projection's output and what is added, or None for 1.

    An RMS norm is linear once its root mean square is fixed: y = w x / rms(x).
    """
    if block.sandwich is None:
        return None if block.factor == 1.0 else torch.full_like(raw, block.factor).float()
    norm: Any = block.sandwich
    eps = float(getattr(norm, "variance_epsilon", getattr(norm, "eps", 0.0)))
    # What the norm makes of ones is its weight, however it stores it (w, or 1 + w).
    ones = torch.ones_like(raw[:1])
    weight: Tensor = norm.forward(ones).float() * (1.0 + eps) ** 0.5
    return weight * (raw.float().pow(2).mean(-1, keepdim=True) + eps).rsqrt() * block.factor
