"""Train a mixture of linear experts on concepts, and the selector that chooses among them.

Mixture of Concept Bottleneck Experts, ICML 2026, arXiv 2602.02886, the linear form:

1. s = softmax(selector(z) / τ), outputs y = Σ_m s_m (W_m c + b_m); τ falls from 1 to 0.1 over the
   first three fifths of the steps and stays there.
2. Loss: cross-entropy + λ Σ |W|, by Adam with a rate that falls to nothing; several restarts are
   trained at once, and the one whose loss with hard choices is least is kept.
3. Weights below a threshold are set to zero; with these held at zero and without λ it trains on.

At inference the selector takes its largest output. Weights are free parameters here, while the
paper decodes them from an embedding of each expert; both reach the same experts. Concepts come
from a finished model and are never trained.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from backend.concepts.head import Head
from backend.explainer import Run

if TYPE_CHECKING:
    import torch
    from torch import Tensor

COLDEST = 0.1
"""Last temperature of the selector."""
HIDDEN = 32
"""Units of the selector's hidden layer, where it has one."""
BATCH = 4096
"""Samples of a step, over all restarts."""
RATE = 0.03
"""Adam's first learning rate."""


@dataclasses.dataclass(frozen=True)
class Data:
    """What a mixture is trained on, float32: concepts [n, k], selector inputs [n, e], labels [n].

    `outputs` is one for two classes (the logit of class 1), else one a class.
    """

    concepts: np.ndarray
    inputs: np.ndarray
    labels: np.ndarray
    outputs: int

    def rows(self, which: np.ndarray) -> Data:
        """These samples alone."""
        return Data(self.concepts[which], self.inputs[which], self.labels[which], self.outputs)

    def __len__(self) -> int:
        return len(self.labels)


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How a mixture is trained."""

    experts: int
    selector: Literal["linear", "mlp"] = "linear"
    penalty: float = 0.005
    """λ, of the sum of absolute weights."""
    threshold: float = 1e-3
    steps: int = 400
    restarts: int = 8


@dataclasses.dataclass(frozen=True)
class Mixture:
    """Trained experts (weights [M, q, k], biases [M, q], float64) and their selector."""

    weights: np.ndarray
    biases: np.ndarray
    selector: Head | None
    """None where there is one expert."""
    objective: float
    """Cross-entropy with hard choices plus the penalty, nats, on the training samples."""

    def choices(self, inputs: np.ndarray) -> np.ndarray:
        """[n] the expert that each sample is sent to."""
        if self.selector is None:
            return np.zeros(len(inputs), dtype=np.int64)
        return np.asarray(self.selector.outputs(inputs).argmax(axis=-1))

    def outputs(self, concepts: np.ndarray) -> np.ndarray:
        """[n, M, q] raw outputs of every expert."""
        c = np.asarray(concepts, dtype=np.float64)
        outputs: np.ndarray = np.einsum("nk,mqk->nmq", c, self.weights) + self.biases
        return outputs

    @property
    def complexity(self) -> int:
        """Weights that are not zero."""
        return int(np.count_nonzero(self.weights))


def classes(outputs: np.ndarray) -> np.ndarray:
    """[...] predicted classes of raw outputs [..., q]; a tie is the lower class."""
    if outputs.shape[-1] == 1:
        return np.asarray(outputs[..., 0] > 0).astype(np.int64)
    return np.asarray(outputs.argmax(axis=-1))


def cross_entropy(outputs: np.ndarray, labels: np.ndarray) -> float:
    """Mean negative log-probability of the labels [n] under raw outputs [n, q], nats."""
    z = np.concatenate([np.zeros_like(outputs), outputs], -1) if outputs.shape[-1] == 1 else outputs
    largest = z.max(axis=-1)
    total = largest + np.log(np.exp(z - largest[:, None]).sum(axis=-1))
    return float(np.mean(total - z[np.arange(len(z)), labels]))


def train(data: Data, recipe: Recipe, run: Run, *, before: float = 0, total: float = 1) -> Mixture:
    """The best of several restarts, pruned and trained on.

    Args:
        before, total: units of the run's progress that are done, and all; this work is one.
    """
    import torch

    generator = run.torch_generator()
    if recipe.experts == 1:  # a convex problem has one minimum
        recipe = dataclasses.replace(recipe, restarts=1)
    parts = _initial(data, recipe, generator)
    tensors = tuple(map(torch.from_numpy, (data.concepts, data.inputs, data.labels)))
    what = f"training {recipe.experts} expert{'s' if recipe.experts > 1 else ''}"

    def report(share: float) -> None:
        run.progress(before + share, total, what)

    _descend(parts, tensors, recipe, generator, lambda done: report(0.75 * done))
    found = [_mixture(parts, r, data, recipe) for r in range(recipe.restarts)]
    best = min(range(len(found)), key=lambda r: found[r].objective)
    kept = {name: value[best : best + 1].detach() for name, value in parts.items()}
    kept["mask"] = (kept["weights"].abs() >= recipe.threshold).float()
    for name in kept:
        kept[name].requires_grad_(name != "mask")
    after = dataclasses.replace(recipe, penalty=0.0, steps=recipe.steps // 3, restarts=1)
    _descend(
        kept, tensors, after, generator, lambda done: report(0.75 + 0.25 * done), first=COLDEST
    )
    return _mixture(kept, 0, data, recipe)


def _initial(data: Data, recipe: Recipe, generator: torch.Generator) -> dict[str, Tensor]:
    """Parameters of all restarts, the restart first in each shape."""
    import torch

    restarts, experts = recipe.restarts, recipe.experts
    k, e = data.concepts.shape[1], data.inputs.shape[1]
    shapes = {"weights": (experts, data.outputs, k), "biases": (experts, data.outputs)}
    sizes = [e, experts] if recipe.selector == "linear" else [e, HIDDEN, experts]
    for i, (fan_in, fan_out) in enumerate(itertools.pairwise(sizes)):
        if experts > 1:
            shapes |= {f"selector/{i}/weight": (fan_out, fan_in), f"selector/{i}/bias": (fan_out,)}
    found = {}
    for name, shape in shapes.items():
        scale = 0.0 if "bias" in name else 1 / math.sqrt(shape[-1])
        found[name] = scale * torch.randn(restarts, *shape, generator=generator)
        found[name].requires_grad_(True)
    return found


def _descend(
    parts: dict[str, Tensor],
    data: tuple[Tensor, ...],
    recipe: Recipe,
    generator: torch.Generator,
    report: Any,
    first: float = 1.0,
) -> None:
    """Adam on every restart at once; their losses share no parameter, so their sum will do."""
    import torch

    concepts, inputs, labels = data
    trained = [value for value in parts.values() if value.requires_grad]
    optimiser = torch.optim.Adam(trained, lr=RATE)
    size = min(len(labels), max(256, BATCH // recipe.restarts))
    for step in range(recipe.steps):
        if step % 20 == 0:
            report(step / recipe.steps)
        done = step / recipe.steps
        optimiser.param_groups[0]["lr"] = RATE * (0.5 + 0.5 * math.cos(math.pi * done)) + 1e-5
        temperature = max(COLDEST, first * (COLDEST / first) ** (done / 0.6))
        rows = torch.arange(len(labels))
        if size < len(labels):
            rows = torch.randint(len(labels), (size,), generator=generator)
        outputs = _outputs(parts, concepts[rows], inputs[rows], temperature)
        penalty = recipe.penalty * parts["weights"].abs().sum()
        loss = _losses(outputs, labels[rows]).sum() + penalty
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()


def _outputs(
    parts: dict[str, Tensor], concepts: Tensor, inputs: Tensor, temperature: float
) -> Tensor:
    """[restarts, n, q] mixed outputs."""
    import torch

    weights = parts["weights"] * parts["mask"] if "mask" in parts else parts["weights"]
    restarts, experts, q, k = weights.shape
    each = concepts @ weights.reshape(-1, k).T
    each = each.reshape(-1, restarts, experts, q).transpose(0, 1) + parts["biases"][:, None]
    if experts == 1:
        return each[:, :, 0]
    x, i = inputs.expand(restarts, *inputs.shape), 0
    while f"selector/{i}/weight" in parts:
        x = torch.relu(x) if i else x
        weight, bias = parts[f"selector/{i}/weight"], parts[f"selector/{i}/bias"]
        x = torch.baddbmm(bias[:, None], x, weight.transpose(1, 2))
        i += 1
    return (torch.softmax(x / temperature, dim=-1)[..., None] * each).sum(dim=2)


def _losses(outputs: Tensor, labels: Tensor) -> Tensor:
    """[restarts] mean cross-entropy."""
    import torch
    from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

    restarts, n, q = outputs.shape
    wanted = labels.expand(restarts, n)
    if q == 1:
        found = binary_cross_entropy_with_logits(
            outputs[..., 0], wanted.to(outputs.dtype), reduction="none"
        )
    else:
        found = cross_entropy(outputs.reshape(-1, q), wanted.reshape(-1), reduction="none")
    return torch.mean(found.reshape(restarts, n), dim=1)


def _mixture(parts: dict[str, Tensor], restart: int, data: Data, recipe: Recipe) -> Mixture:
    """One restart as numbers; its objective is with hard choices."""
    arrays = {name: value[restart].detach().double().numpy() for name, value in parts.items()}
    weights = arrays["weights"] * arrays.get("mask", 1.0)
    layers = [i for i in (0, 1) if f"selector/{i}/weight" in arrays]
    selector = Head(
        tuple(arrays[f"selector/{i}/weight"] for i in layers),
        tuple(arrays[f"selector/{i}/bias"] for i in layers),
    )
    found = Mixture(weights, arrays["biases"], selector if layers else None, 0.0)
    chosen = found.outputs(data.concepts)[np.arange(len(data)), found.choices(data.inputs)]
    objective = cross_entropy(chosen, data.labels) + recipe.penalty * np.abs(weights).sum()
    return dataclasses.replace(found, objective=float(objective))
