"""A classifier that has forgotten: its weights drawn anew, from the output down.

Adebayo et al., "Sanity Checks for Saliency Maps", NeurIPS 2018. The head is one stage; the layers
below it are four more, of about as many layers each. Each layer is drawn as torch draws it before
training; batch norms lose what they counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from torch import nn

GROUPS = 4
NAMES = ("head", "upper layers", "middle layers", "lower layers", "first layers")


def stages(module: nn.Module) -> tuple[tuple[str, list[nn.Module]], ...]:
    """Name and layers of each stage, from the output down."""
    layers = [
        part for part in module.modules() if next(part.parameters(recurse=False), None) is not None
    ]
    head, body = layers[-1:], layers[:-1]
    count = min(GROUPS, len(body))
    ends = [round(len(body) * i / count) for i in range(count + 1)] if count else [0]
    parts = [body[ends[i] : ends[i + 1]] for i in reversed(range(count))]
    return tuple(zip(NAMES, [head, *parts], strict=False))


def reinitialise(module: nn.Module, depth: int, seed: int) -> None:
    """Draw the weights of the first `depth` of `stages` anew, in place.

    A stage has the same new weights at every depth that reaches it.

    Raises:
        ValueError: there are fewer stages.
    """
    import torch

    known = stages(module)
    if not 1 <= depth <= len(known):
        raise ValueError(f"a classifier of {len(known)} stages has no {depth}")
    for number, (_, layers) in enumerate(known[:depth]):
        state = int(np.random.default_rng([seed, number]).integers(2**62))
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(state)
            for layer in layers:
                _draw(layer)


def _draw(layer: nn.Module) -> None:
    from torch import nn

    if hasattr(layer, "reset_parameters"):
        layer.reset_parameters()  # type: ignore[operator]
        return
    for name, weight in layer.named_parameters(recurse=False):  # tokens, positions, scales
        if weight.dim() > 1:
            nn.init.normal_(weight, std=0.02)
        else:
            nn.init.constant_(weight, 0.0 if "bias" in name else 1.0)
