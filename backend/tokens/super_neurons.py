"""Super neurons: MLP neurons that answer to one position and to hardly any other.

A neuron's selectivity is its activation at the sink beside what is usual for it elsewhere:

    r_n = |a[s, n]| / max(median_{i != s} |a[i, n]|, floor)

where a is the input of the down projection and the floor is the median of all |a[i, n]|, i != s
(their mean where more than half are 0, as with ReLU): a neuron that is silent everywhere is not
made extreme by a division by nothing. Medians are taken over at most 1,024 evenly spaced positions.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from torch import Tensor

from backend.tokens.feed_forward import FeedForward

MOST_POSITIONS = 1024


@dataclasses.dataclass(frozen=True, eq=False)
class Neurons:
    """The most selective neurons of one layer (T of m, N tokens, d width)."""

    layer: int
    index: np.ndarray
    """[T], the most selective first."""
    ratio: np.ndarray
    """[T] selectivity."""
    activation: np.ndarray
    """[T, N] input of the down projection by position."""
    columns: np.ndarray
    """[T, d] what each neuron writes for an activation of 1."""
    kurtosis: np.ndarray
    """[m] of each neuron's column over output dimensions."""
    up_norm: np.ndarray
    """[m] length of what each neuron reads."""
    gate_norm: np.ndarray | None
    """[m] length of what each neuron's gate reads."""
    read_cosine: np.ndarray | None
    """[T, N] cosine between the MLP's input and the gate's row (the neuron's own row where there
    is no gate)."""
    up_value: np.ndarray | None
    """[T, N] what the up projection gives at each position."""


def selectivity(activation: Tensor, sink: int) -> np.ndarray:
    """r_n of every neuron, [m] float64.

    Args:
        activation: [N, m] float32, N of at least 2.
    """
    sizes = activation.abs()
    others = torch.cat([sizes[:sink], sizes[sink + 1 :]])
    others = others[:: -(-len(others) // MOST_POSITIONS)]
    floor = float(middle(others.reshape(-1, 1))[0]) or float(others.mean())
    bottom = middle(others).clamp_min(floor)
    ratios = torch.where(bottom > 0, sizes[sink] / bottom, 0.0)
    found: np.ndarray = ratios.cpu().double().numpy()
    return found


def middle(values: Tensor) -> Tensor:
    """Median of each column of [n, m], the mean of the two in the middle where n is even, [m]."""
    n = len(values)
    low = values.kthvalue((n - 1) // 2 + 1, dim=0).values
    return low if n % 2 else (low + values.kthvalue(n // 2 + 1, dim=0).values) / 2


def kurtosis(rows: np.ndarray) -> np.ndarray:
    """Fourth moment over the squared variance of each row of [m, d], [m]; 3 for a normal row."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    variance = (centred**2).mean(axis=1)
    fourth = (centred**4).mean(axis=1)
    flat = variance == 0.0
    return np.where(flat, np.nan, fourth / np.where(flat, 1.0, variance) ** 2)


def neurons(
    layer: int,
    parts: FeedForward,
    activation: Tensor,
    x: Tensor | None,
    ratios: np.ndarray,
    top: int,
) -> Neurons:
    """Everything about the `top` most selective neurons of a layer.

    Args:
        activation: [N, m] float32.
        x: [N, d] what the MLP was given, or None where it was not heard.
        ratios: [m] from `selectivity`.
    """
    index = np.argsort(-ratios, kind="stable")[:top]
    picked = torch.from_numpy(index.copy()).to(activation.device)
    columns, up, gate = parts.columns(), parts.up_rows(), parts.gate_rows()
    cosine = value = None
    if x is not None:
        read = (up if gate is None else gate)[picked]
        cosine = (
            torch.nn.functional.normalize(x.float(), dim=-1)
            @ torch.nn.functional.normalize(read, dim=-1).mT
        )
        value = x.float() @ up[picked].mT
        if (bias := parts.up_bias()) is not None:
            value = value + bias[picked]
    return Neurons(
        layer=layer,
        index=index,
        ratio=ratios[index],
        activation=activation[:, picked].mT.cpu().numpy(),
        columns=columns[picked].cpu().numpy(),
        kurtosis=kurtosis(columns.cpu().double().numpy()),
        up_norm=up.norm(dim=-1).cpu().numpy(),
        gate_norm=None if gate is None else gate.norm(dim=-1).cpu().numpy(),
        read_cosine=None if cosine is None else cosine.mT.cpu().numpy(),
        up_value=None if value is None else value.mT.cpu().numpy(),
    )
