"""Where in a classifier its last maps are, found by one pass over an empty picture.

Of convolutional networks: the last module that gives maps [B, K, gh, gw] larger than one by one.
Of transformers: the last but one block, whose patch tokens the class token still reads; tokens that
are no patches (class, distillation, registers) are left out, and the others laid out as a grid.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor, nn

from backend.errors import ModelError

MOST_PREFIX = 8
"""Tokens before the patches: a class token, one of distillation, registers."""


@dataclasses.dataclass(frozen=True)
class Maps:
    """The layer whose output is read as maps.

    Attributes:
        module: the layer. name: in the model.
        grid: (gh, gw).
        prefix: tokens before the patches; None where the output is maps already.
    """

    module: nn.Module
    name: str
    grid: tuple[int, int]
    prefix: int | None

    def spatial(self, output: Tensor) -> Tensor:
        """[B, K, gh, gw] float32 of the layer's output or its gradient."""
        if self.prefix is None:
            return output.float()
        patches = output[:, self.prefix :].float()
        return patches.transpose(1, 2).reshape(len(output), -1, *self.grid)


def find(module: nn.Module, probe: Tensor) -> Maps:
    """The map layer of a classifier.

    Args:
        probe: [1, 3, h, w], an empty picture.

    Raises:
        ModelError: there is none.
    """
    seen: list[tuple[str, nn.Module, torch.Size]] = []

    def watch(name: str) -> Any:
        def hook(layer: nn.Module, _args: Any, output: Any) -> None:
            tensor = output[0] if isinstance(output, tuple) and output else output
            if isinstance(tensor, Tensor):
                seen.append((name, layer, tensor.shape))

        return hook

    handles = [
        layer.register_forward_hook(watch(name)) for name, layer in module.named_modules() if name
    ]
    try:
        with torch.no_grad():
            module(probe)
    finally:
        for handle in handles:
            handle.remove()
    found = _blocks(module, seen, (probe.shape[2], probe.shape[3])) or _maps(seen)
    if found is None:
        raise ModelError("The adapter finds no spatial features in this classifier.")
    return found


def _maps(seen: list[tuple[str, nn.Module, torch.Size]]) -> Maps | None:
    for name, layer, shape in reversed(seen):
        if len(shape) == 4 and shape[2] * shape[3] > 1:
            return Maps(layer, name, (shape[2], shape[3]), None)
    return None


def _blocks(
    module: nn.Module, seen: list[tuple[str, nn.Module, torch.Size]], picture: tuple[int, int]
) -> Maps | None:
    """Of a stack of equal blocks that give tokens [1, N, K], the last but one."""
    shapes = {id(layer): (name, shape) for name, layer, shape in seen}
    stacks = [
        [layer for layer in part if id(layer) in shapes]
        for part in module.modules()
        if isinstance(part, nn.ModuleList) and len(part) > 1
    ]
    tokens = [
        stack
        for stack in stacks
        if len(stack) > 1 and all(len(shapes[id(layer)][1]) == 3 for layer in stack)
    ]
    for stack in sorted(tokens, key=len, reverse=True):
        layer = stack[-2]
        name, shape = shapes[id(layer)]
        if (found := _grid(shape[1], picture)) and shape == shapes[id(stack[-1])][1]:
            grid, prefix = found
            return Maps(layer, name, grid, prefix)
    return None


def _grid(count: int, picture: tuple[int, int]) -> tuple[tuple[int, int], int] | None:
    """The patch grid of a picture of so many tokens, and how many come before the patches.

    Patches are square, so the grid has the picture's shape; the one is taken that leaves the fewest
    other tokens.
    """
    tall, wide = picture
    grids = {(tall // side, wide // side) for side in range(1, min(tall, wide) // 2 + 1)}
    fitting = [(count - h * w, (h, w)) for h, w in grids if 0 <= count - h * w <= MOST_PREFIX]
    if not fitting:
        return None
    prefix, grid = min(fitting)
    return grid, prefix
