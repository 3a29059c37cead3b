"""The encoder of the bundled concept bottleneck models: from a picture or a row to features.

Pictures: two convolutions of 5x5 with stride 2 and ReLU, the maximum of 2x2, a linear layer with
ReLU. This is the small network that CB-SLICE (arXiv 2605.29836) trains on MNIST-Sum with fewer
channels and no dropout, so that training takes seconds on a CPU. Rows: one hidden layer.

Imports torch: only workers import this module.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

Weights = dict[str, Tensor]

FEATURES = 64
"""Width of the last layer, and of a row's hidden layer."""
CHANNELS = (16, 32)
KERNEL, STRIDE, POOL = 5, 2, 2
AT_ONCE = 256


def initial(shape: tuple[int, ...], generator: torch.Generator) -> Weights:
    """First weights for inputs of this shape: (height, width, 3), or (d,)."""
    if len(shape) == 1:
        return {
            **linear("encoder/hidden", shape[0], FEATURES, generator),
            **linear("encoder/features", FEATURES, FEATURES, generator),
        }
    height, width, colours = shape
    first, second = CHANNELS
    cells = _cells(height) * _cells(width)
    return {
        **_convolution("encoder/convolution/0", colours, first, generator),
        **_convolution("encoder/convolution/1", first, second, generator),
        **linear("encoder/features", cells * second, FEATURES, generator),
    }


def linear(name: str, inputs: int, outputs: int, generator: torch.Generator) -> Weights:
    """Weight and bias of a linear layer, uniform within one over the root of its inputs."""
    return _uniform(name, (outputs, inputs), inputs, generator)


def tensor(inputs: np.ndarray) -> Tensor:
    """What the encoder reads: pictures [n, 3, height, width] in -2..2, or rows [n, d]."""
    if inputs.ndim == 2:
        return torch.from_numpy(inputs.astype(np.float32))
    # The layout of uint8 pictures is channels last already: it is kept, and is the faster one.
    return torch.from_numpy(inputs).permute(0, 3, 1, 2).float() / 63.75 - 2


def features(weights: Weights, x: Tensor) -> Tensor:
    """[n, 64] float32, none negative, of what `tensor` gives."""
    if x.ndim == 2:
        x = _apply(weights, "encoder/hidden", x).relu()
    else:
        for name in ("encoder/convolution/0", "encoder/convolution/1"):
            weight, bias = weights[f"{name}/weight"], weights[f"{name}/bias"]
            x = functional.conv2d(x, weight, bias, stride=STRIDE).relu()
        x = functional.max_pool2d(x, POOL, ceil_mode=True).flatten(1)
    return _apply(weights, "encoder/features", x).relu()


def concept_logits(weights: Weights, embedding: Tensor) -> Tensor:
    """[n, k] concept logits of features [n, 64]."""
    return _apply(weights, "encoder/concepts", embedding)


def encode(weights: Weights, x: Tensor) -> tuple[Tensor, Tensor]:
    """[n, 64] features and [n, k] concept logits, a few inputs at once and without gradients."""
    with torch.no_grad():
        parts = [features(weights, x[i : i + AT_ONCE]) for i in range(0, len(x), AT_ONCE)]
        embedding = torch.cat(parts)
        return embedding, concept_logits(weights, embedding)


def _apply(weights: Weights, name: str, x: Tensor) -> Tensor:
    return functional.linear(x, weights[f"{name}/weight"], weights[f"{name}/bias"])


def _convolution(name: str, inputs: int, outputs: int, generator: torch.Generator) -> Weights:
    return _uniform(name, (outputs, inputs, KERNEL, KERNEL), inputs * KERNEL**2, generator)


def _uniform(name: str, shape: tuple[int, ...], inputs: int, generator: torch.Generator) -> Weights:
    bound = inputs**-0.5
    return {
        f"{name}/weight": (2 * torch.rand(shape, generator=generator) - 1) * bound,
        f"{name}/bias": (2 * torch.rand(shape[0], generator=generator) - 1) * bound,
    }


def _cells(side: int) -> int:
    """How many cells along a side are left after the convolutions and the pooling."""
    for _ in CHANNELS:
        side = (side - KERNEL) // STRIDE + 1
    return -(-side // POOL)
