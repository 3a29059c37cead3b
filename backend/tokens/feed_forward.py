"""The parts of a block's MLP: what feeds each neuron, and where each neuron writes.

A neuron n of an MLP has a row of weights for what it reads (two where the MLP is gated) and one
column for what it writes: out = W_down act(x), act_n = σ(g_n·x) (u_n·x) or σ(u_n·x). Architectures
name the matrices differently, lay them out transposed (GPT-2) or fuse gate and up (Phi-3).
"""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from backend.tokens.blocks import Block

MODULES = ("mlp", "feed_forward", "ffn", "block_sparse_moe")
DOWN = ("down_proj", "c_proj", "dense_4h_to_h", "fc2", "fc_out", "w2")
UP = ("up_proj", "c_fc", "dense_h_to_4h", "fc1", "fc_in", "w3")
GATE = ("gate_proj", "w1")
FUSED = ("gate_up_proj",)


@dataclasses.dataclass(frozen=True)
class FeedForward:
    """One block's MLP (m neurons, d width)."""

    module: nn.Module
    down: nn.Module
    up: nn.Module
    gate: nn.Module | None
    """None where the MLP is not gated or the gate is fused with `up`."""
    fused: bool
    """Whether `up` holds the gate's rows first and its own behind them."""

    @property
    def gated(self) -> bool:
        """Whether each neuron has a gate."""
        return self.fused or self.gate is not None

    def up_rows(self) -> Tensor:
        """What each neuron reads, [m, d] float32."""
        rows = _rows(self.up)
        return rows[len(rows) // 2 :] if self.fused else rows

    def gate_rows(self) -> Tensor | None:
        """What each neuron's gate reads, [m, d] float32, or None."""
        if self.gate is not None:
            return _rows(self.gate)
        return _rows(self.up)[: len(self.up_rows())] if self.fused else None

    def columns(self) -> Tensor:
        """What each neuron writes, [m, d] float32: the columns of the down projection."""
        return _rows(self.down).mT

    def up_bias(self) -> Tensor | None:
        """Bias of what each neuron reads, [m] float32, or None."""
        bias = getattr(self.up, "bias", None)
        if not isinstance(bias, Tensor):
            return None
        return bias.detach().float()[-len(self.up_rows()) :]


def find(block: Block) -> FeedForward | None:
    """The MLP of a block, or None where it has no single one (a mixture of experts)."""
    module = _child(block.layer, MODULES)
    if module is None:
        return None
    down, fused = _child(module, DOWN), _child(module, FUSED)
    up, gate = fused or _child(module, UP), _child(module, GATE)
    if down is None or up is None or not all(_matrix(m) for m in (down, up, gate or up)):
        return None
    found = FeedForward(module, down, up, None if fused else gate, fused is not None)
    if found.columns().shape != found.up_rows().shape:
        return None
    return found


def _child(module: nn.Module, names: tuple[str, ...]) -> nn.Module | None:
    children = dict(module.named_children())
    return next((children[name] for name in names if name in children), None)


def _matrix(module: nn.Module) -> bool:
    weight = getattr(module, "weight", None)
    return isinstance(weight, Tensor) and weight.dim() == 2


def _rows(module: nn.Module) -> Tensor:
    """The weights of each output, [out, in] float32."""
    weight: Tensor = torch.as_tensor(module.weight).detach().float()
    return weight.mT if isinstance(module, Conv1D) else weight
