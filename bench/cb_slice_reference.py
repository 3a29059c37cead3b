"""CB-SLICE's mixture by its published recipe, in torch, to compare with Vitrine's.

Start at normal draws about the classes' means; 200 epochs of SGD, batches of 8, rate 0.01 that
halves every 30 epochs, momentum 0.9, variances clamped at 1e-4. Without a clip of the gradient it
diverges at lambda 10, so its norm is kept below 10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from backend.concepts.mixture import LEAST_WEIGHT, READ_OUTS, Concepts, Parameters
from backend.concepts.mixture_fit import LEAST_VARIANCE, LONGEST_GRADIENT, Settings, start

if TYPE_CHECKING:
    from torch import Tensor

EPOCHS, BATCH, RATE, MOMENTUM, HALVED_AFTER = 200, 8, 0.01, 0.9, 30


def loss(at: dict[str, Tensor], data: dict[str, Tensor], weight: float) -> Tensor:
    """The objective of `backend.concepts.mixture`, written down term by term.

    Args:
        data: logits, true and predicted, [n, d] each.
    """
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

    x, v = data["logits"], at["variances"].clamp(min=LEAST_VARIANCE)
    distance = ((x[:, None] - at["means"]) ** 2 / v).sum(dim=2)
    joint = torch.log(torch.softmax(at["weights"], 0) + LEAST_WEIGHT)
    joint = joint - 0.5 * (torch.log(2 * torch.pi * v).sum(dim=1) + distance)
    r = torch.softmax(joint, dim=1)
    found = -torch.logsumexp(joint, dim=1).mean()
    for name in READ_OUTS:
        told = r @ at[f"{name}_weight"] + at[f"{name}_bias"]
        found = found + weight * cross_entropy(told, data[name], reduction="sum") / len(x)
    return found


def tensors(data: Concepts) -> dict[str, Tensor]:
    """The samples as `loss` reads them."""
    import torch

    return {name: torch.tensor(getattr(data, name)) for name in ("logits", *READ_OUTS)}


def fit(
    data: Concepts, labels: np.ndarray, components: int, weight: float, seed: int
) -> Parameters:
    """The parameters after the last epoch."""
    import torch

    generator = np.random.default_rng(seed)
    first = start(data, labels, Settings(components, start="published"), generator)
    at = {name: torch.tensor(value, requires_grad=True) for name, value in first.items()}
    optimizer = torch.optim.SGD(list(at.values()), lr=RATE, momentum=MOMENTUM)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, HALVED_AFTER, 0.5)
    whole = tensors(data)
    for _ in range(EPOCHS):
        order = torch.from_numpy(generator.permutation(len(data)))
        for begin in range(0, len(data), BATCH):
            rows = order[begin : begin + BATCH]
            optimizer.zero_grad()
            found = loss(at, {name: each[rows] for name, each in whole.items()}, weight)
            found.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(list(at.values()), LONGEST_GRADIENT)
            optimizer.step()
        schedule.step()
    end = {name: value.detach().numpy() for name, value in at.items()}
    return end | {"variances": np.maximum(end["variances"], LEAST_VARIANCE)}
