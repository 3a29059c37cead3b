"""Matrix products on the CPU through oneDNN.

torch multiplies float32 matrices with MKL, which on processors of other makers than its own reaches
half of what oneDNN reaches (`bench/products.py`). Both are in every build of torch; the linear
function of oneDNN is the one torch's compiler uses for inference. It has no gradient: where one is
wanted, and on other devices and precisions, torch's own product is taken.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

_LINEAR: Any = getattr(torch.ops.mkldnn, "_linear_pointwise", None)


def usable(*tensors: Tensor) -> bool:
    """Whether oneDNN can multiply these."""
    return (
        _LINEAR is not None
        and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and all(t.device.type == "cpu" and t.dtype == torch.float32 for t in tensors)
        and not (torch.is_grad_enabled() and any(t.requires_grad for t in tensors))
    )


def affine(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x Wᵀ + b: x [..., m], weight [n, m], bias [n] -> [..., n]."""
    if usable(x, weight):
        # oneDNN multiplies matrices with gaps between their rows a hundred times slower.
        product: Tensor = _LINEAR(x.contiguous(), weight.contiguous(), bias, "none", [], "")
        return product
    return nn.functional.linear(x, weight, bias)


def against(a: Tensor, b: Tensor) -> Tensor:
    """a bᵀ of stacks of matrices: a [H, q, e], b [H, n, e] -> [H, q, n]."""
    if not usable(a, b):
        return torch.bmm(a, b.mT)
    result = a.new_empty(len(a), a.shape[1], b.shape[1])
    for out, left, right in zip(result, a, b, strict=True):
        out.copy_(affine(left, right))
    return result


class Linear(nn.Linear):
    """A linear layer that multiplies through `affine`."""

    def forward(self, input: Tensor) -> Tensor:
        """[..., in_features] -> [..., out_features]."""
        return affine(input, self.weight, self.bias)


def quicken(module: nn.Module) -> None:
    """Let every plain linear layer inside multiply through `affine`; its parameters stay."""
    for part in module.modules():
        if type(part) is nn.Linear:
            part.__class__ = Linear
