"""The rules of AttnLRP as changed gradients of one model, while a context lasts.

Achtibat et al., "AttnLRP: Attention-Aware Layer-Wise Relevance Propagation for Transformers",
ICML 2024. The forward pass is bit for bit what it was; on the way back:

1. A norm's scale is a constant: y = x · c, RMSNorm and LayerNorm alike (a LayerNorm's mean is
   still differentiated).
2. An activation passes relevance on in proportion, as y = x · (y/x) with y/x constant.
3. A gate times a value shares relevance equally: the product's gradient is halved.
4. Attention shares it between weights and values (1/2 each), and the weights' half between query
   and key (1/4 each); the softmax is differentiated. `backend.tokens.attention.LRP_SCALES`.

The rules are hooks on this model's modules that hear this thread alone, removed on any exit.
Imports torch: only imported when a model is explained.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from backend.errors import ModelError
from backend.tokens.attention import lrp_scales, scale_gradient

if TYPE_CHECKING:
    from torch.utils.hooks import RemovableHandle

    from backend.tokens.models import DecoderModel

_ACTIVATIONS = ("transformers.activations", "torch.nn.modules.activation")
_GATES = ("gate_proj", "gate_up_proj")


@contextlib.contextmanager
def rules(model: DecoderModel) -> Iterator[None]:
    """Gradients of this thread's passes are AttnLRP's while the context lasts.

    Raises:
        ModelError: a norm or an MLP has a form the rules do not know.
    """
    handles: list[RemovableHandle] = []
    try:
        for module in model.hf.modules():
            rule = _norm_rule(module)
            if rule is not None:
                handles.append(module.register_forward_hook(_output(rule)))
        for block in model.blocks:
            handles += _mlp_rules(block.layer)
        with lrp_scales(model):
            yield
    finally:
        for handle in handles:
            handle.remove()


def centred_norm(module: Any, x: Tensor, y: Tensor) -> Tensor:
    """A LayerNorm's output y of x [..., d], its deviation taken as a constant."""
    eps = module.eps if hasattr(module, "eps") else module.variance_epsilon
    wide = x.detach().float()
    slope = torch.rsqrt(wide.var(dim=-1, keepdim=True, unbiased=False) + eps)
    if module.weight is not None:
        slope = slope * module.weight.float()
    return _through(x - x.mean(dim=-1, keepdim=True), y, slope)


def proportional(_module: Any, x: Tensor, y: Tensor) -> Tensor:
    """y = x · (y/x) with y/x a constant: the rule of an activation and of an RMSNorm.

    Where x is 0 nothing flows back.
    """
    wide = x.detach().float()
    zero = wide == 0
    slope = y.detach().float() / wide.masked_fill(zero, 1.0)
    return _through(x, y, slope.masked_fill(zero, 0.0))


Rule = Callable[[Any, Tensor, Tensor], Tensor]


def _norm_rule(module: nn.Module) -> Rule | None:
    name = type(module).__name__
    if "RMSNorm" in name:
        return proportional
    if "LayerNorm" not in name:
        return None
    if not (hasattr(module, "eps") or hasattr(module, "variance_epsilon")):
        raise ModelError(f"AttnLRP's rules do not know the norm {name}.")
    return centred_norm


def _mlp_rules(layer: nn.Module) -> list[RemovableHandle]:
    """Rules of a block's activations, and of the products they gate.

    Raises:
        ModelError: there is no activation, or the activation's product is not found.
    """
    handles: list[RemovableHandle] = []
    for parent in layer.modules():
        active = [m for m in parent.children() if type(m).__module__ in _ACTIVATIONS]
        if not active:
            continue
        handles += [module.register_forward_hook(_output(proportional)) for module in active]
        if any(hasattr(parent, gate) for gate in _GATES):
            down = getattr(parent, "down_proj", None)
            if not isinstance(down, nn.Module):
                raise ModelError(f"AttnLRP's rules do not know the MLP {type(parent).__name__}.")
            handles.append(down.register_forward_pre_hook(_halved()))
    if not handles:
        raise ModelError(f"AttnLRP's rules find no MLP in a {type(layer).__name__}.")
    return handles


def _output(rule: Rule) -> Callable:
    thread = threading.get_ident()

    def hook(module: nn.Module, args: tuple, output: Tensor) -> Tensor | None:
        return rule(module, args[0], output) if threading.get_ident() == thread else None

    return hook


def _halved() -> Callable:
    thread = threading.get_ident()

    def hook(_module: nn.Module, args: tuple) -> tuple | None:
        if threading.get_ident() != thread:
            return None
        return (scale_gradient(args[0], 0.5), *args[1:])

    return hook


class _Through(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, slope: Tensor) -> Tensor:
        ctx.save_for_backward(slope)
        ctx.dtype = x.dtype
        return y.view_as(y)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (slope,) = ctx.saved_tensors
        return (gradients[0].float() * slope).to(ctx.dtype), None, None


def _through(x: Tensor, y: Tensor, slope: Tensor) -> Tensor:
    """y as it is, whose gradient reaches x multiplied by `slope` [x's shape]."""
    return _Through.apply(x, y.detach(), slope)  # type: ignore[no-any-return, no-untyped-call]
