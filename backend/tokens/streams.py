"""Spectra of what each block's attention and MLP add, and of the residual; only `explain` imports.

What the MLP adds is what the last module of the block returned, be it the MLP or a norm behind it,
times the block's factor. Every window checks that against the residuals; where it is not so (two
MLPs side by side) the difference of the residuals is taken, which in half precision is rounded.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from backend.explainer import Run
from backend.tokens.blocks import Block, first, hooked
from backend.tokens.capture import LayerParts, capture
from backend.tokens.spectrum import Covariance, entropy_rank, variance_count

MEMORY = 2 * 2**30
"""Bytes of covariances held at once; layers beyond are read in further passes."""
SITES = 3


@dataclasses.dataclass(frozen=True, eq=False)
class Spectra:
    """Eigenvalues of the covariances, [3, L, d] float64, the largest first."""

    eigenvalues: np.ndarray
    by_difference: int
    """Layers whose MLP output was taken as a difference of residuals."""

    def arrays(self) -> dict[str, np.ndarray]:
        """`variance_share`, `entropy_share` [3, L] and `spectrum` [3, L, d], float32."""
        sites, layers, width = self.eigenvalues.shape
        shares = np.zeros((2, sites, layers))
        for at in np.ndindex(sites, layers):
            values = self.eigenvalues[at]
            shares[(0, *at)] = variance_count(values) / width
            shares[(1, *at)] = entropy_rank(np.sqrt(values)) / width
        total = self.eigenvalues.sum(axis=-1, keepdims=True)
        spectrum = self.eigenvalues / np.where(total > 0, total, 1.0)
        return {
            "variance_share": shares[0].astype(np.float32),
            "entropy_share": shares[1].astype(np.float32),
            "spectrum": spectrum.astype(np.float32),
        }


def spectra(model: Any, windows: Sequence[Sequence[int]], skip: int, run: Run) -> Spectra:
    """Run every window and decompose the covariances of its tokens.

    Args:
        windows: token ids, each run by itself.
        skip: tokens at the front of each window that are not measured.
    """
    groups = _groups(model.layers, model.width)
    steps = (len(groups) * len(windows) + 1) * model.layers
    eigenvalues = np.zeros((SITES, model.layers, model.width))
    done, differences = 0, 0
    for group in groups:
        sums = _Sums(model, group, skip)
        for ids in windows:
            sums.add(ids)
            run.count(forward=1)
            done += model.layers
            run.progress(done, steps, "reading layers")
        for layer, covariances in sums.kept.items():
            eigenvalues[:, layer] = [one.eigenvalues() for one in covariances]
            done += 1
            run.progress(done, steps, "counting directions")
        differences += len(sums.by_difference)
    return Spectra(eigenvalues, differences)


def _groups(layers: int, width: int) -> list[range]:
    """Runs of layers whose covariances fit into memory together."""
    size = max(1, MEMORY // (SITES * width * width * 8))
    return [range(start, min(start + size, layers)) for start in range(0, layers, size)]


class _Sums:
    """The covariances of a group of layers, fed window by window."""

    def __init__(self, model: Any, group: range, skip: int) -> None:
        self.model, self.skip = model, skip
        self.kept = {
            layer: tuple(Covariance(model.width, model.device) for _ in range(SITES))
            for layer in group
        }
        self.by_difference: set[int] = set()
        self._last: Tensor | None = None

    def add(self, ids: Sequence[int]) -> None:
        """Run one window and take it in."""
        hooks = [hook for layer in self.kept for hook in self._hooks(self.model.blocks[layer])]
        with hooked(hooks):
            capture(self.model, ids, self._each, queries=[0])

    def _hooks(self, block: Block) -> list[tuple[nn.Module, str, Callable]]:
        return [
            (module, "after", self._keep)
            for module in block.layer.children()
            if module is not block.attention and not isinstance(module, nn.Dropout | nn.Identity)
        ]

    def _keep(self, _module: nn.Module, _args: tuple, output: Any) -> None:
        self._last = first(output)

    def _each(self, parts: LayerParts) -> None:
        if parts.index not in self.kept:
            return
        rows = slice(self.skip, None)
        residual = parts.after[rows].float()
        found = (parts.attention_output[rows].float(), self._mlp(parts, rows), residual)
        for covariance, vectors in zip(self.kept[parts.index], found, strict=True):
            covariance.add(vectors)
        self._last = None

    def _mlp(self, parts: LayerParts, rows: slice) -> Tensor:
        """What the MLP adds, [n, d] float32."""
        after = parts.after[rows].float()
        difference = after - parts.middle[rows].float()
        if self._last is not None and self._last.shape[-2:] == parts.after.shape:
            factor = self.model.blocks[parts.index].factor
            added: Tensor = self._last.reshape(parts.after.shape)[rows].float() * factor
            tolerance = 1e-4 if parts.after.dtype == torch.float32 else 2e-2
            largest = torch.maximum(after.abs(), added.abs()).amax(dim=-1, keepdim=True)
            if bool(((added - difference).abs() <= tolerance * largest).all()):
                return added
        self.by_difference.add(parts.index)
        return difference
