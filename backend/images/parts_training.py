"""Training the two classifiers of the pictures of parts, and writing them as model folders.

Adam with weight decay on the cross-entropy, at a learning rate that rises and falls once. Pictures
are mirrored at random: no part has a left and a right. It runs in one thread, so that a seed fixes
the weights.

Imports torch: only workers import this module.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import safetensors.torch
import torch
from torch import Tensor, nn
from torch.nn import functional

from backend.explainer import Progress
from backend.images.carrier import PARTS_CNN
from backend.images.parts import CLASSES, SIDE, pictures
from backend.images.parts_cnn import PartsCnn
from backend.images.parts_vit import parts_vit
from backend.images.preprocessing import Preprocessing
from backend.threads import one_thread

Kind = Literal["cnn", "vit"]

PREPROCESSING = Preprocessing(size=(SIDE, SIDE), mean=(0.5,) * 3, std=(0.25,) * 3)
AT_ONCE = 45 * len(CLASSES)
"""Pictures that are drawn between two reports."""
DRAWING = "drawing the pictures it learns from (only the first time)"
TRAINING = "training the classifier (only the first time)"


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How one is trained.

    Attributes:
        pictures: how many are drawn. epochs: how often each is seen. batch: pictures in a step.
        rate: the highest learning rate. decay: of the weights.
    """

    pictures: int
    epochs: int
    batch: int
    rate: float
    decay: float


RECIPES: dict[Kind, Recipe] = {
    "cnn": Recipe(pictures=2700, epochs=2, batch=32, rate=1e-2, decay=1e-4),
    "vit": Recipe(pictures=3600, epochs=4, batch=48, rate=2e-3, decay=0.05),
}
BUILD: dict[Kind, Callable[[], Any]] = {"cnn": PartsCnn, "vit": parts_vit}


def trained(kind: Kind, seed: int, progress: Progress, recipe: Recipe | None = None) -> Any:
    """A trained classifier, in evaluation mode.

    Args:
        seed: decides the pictures, the first weights and the order; equal seeds give equal weights.
        progress: (done, total, what), called before every step; what it raises ends the training.
        recipe: another than that of RECIPES.
    """
    recipe = recipe or RECIPES[kind]
    images, labels = _drawn(recipe.pictures, seed, progress)
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = BUILD[kind]()
        _fit(module, images, labels, recipe, np.random.default_rng([seed, 2]), progress)
    return module.eval()


def save(kind: Kind, module: nn.Module, folder: Path) -> None:
    """Write config.json and model.safetensors, and what else the loader of its kind reads."""
    if kind == "cnn":
        config = {
            "model_type": PARTS_CNN,
            "labels": CLASSES,
            "preprocessing": PREPROCESSING.model_dump(mode="json"),
        }
        safetensors.torch.save_file(module.state_dict(), folder / "model.safetensors")
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        return
    module.save_pretrained(folder)  # type: ignore[operator]
    given = {
        "image_processor_type": "ViTImageProcessor",
        "do_resize": True,
        "size": {"height": SIDE, "width": SIDE},
        "resample": 2,
        "do_rescale": True,
        "rescale_factor": PREPROCESSING.scale,
        "do_normalize": True,
        "image_mean": PREPROCESSING.mean,
        "image_std": PREPROCESSING.std,
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(given), encoding="utf-8")


def _drawn(count: int, seed: int, progress: Progress) -> tuple[Tensor, Tensor]:
    """[n, 3, 64, 64] uint8 and [n] int64."""
    generator = np.random.default_rng([seed, 1])
    parts = []
    for done in range(0, count, AT_ONCE):
        progress(done, count, DRAWING)
        parts.append(pictures(min(AT_ONCE, count - done), generator))
    images = np.concatenate([part.images for part in parts])
    labels = np.concatenate([part.labels for part in parts])
    return torch.from_numpy(images).permute(0, 3, 1, 2), torch.from_numpy(labels)


def _fit(
    module: Any,
    images: Tensor,
    labels: Tensor,
    recipe: Recipe,
    generator: np.random.Generator,
    progress: Progress,
) -> None:
    steps = -(-len(images) // recipe.batch)
    optimiser = torch.optim.AdamW(module.parameters(), lr=recipe.rate, weight_decay=recipe.decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, recipe.rate, total_steps=recipe.epochs * steps
    )
    module.train()
    for epoch in range(recipe.epochs):
        order = torch.from_numpy(generator.permutation(len(images)))
        for step in range(steps):
            chosen = order[step * recipe.batch : (step + 1) * recipe.batch]
            progress(epoch * steps + step, recipe.epochs * steps, TRAINING)
            mirrored = torch.from_numpy(generator.random(len(chosen)) < 0.5)
            logits = _logits(module, _batch(images[chosen], mirrored))
            loss = functional.cross_entropy(logits, labels[chosen])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            schedule.step()


def _batch(images: Tensor, mirrored: Tensor) -> Tensor:
    """[B, 3, 64, 64] float32, as PREPROCESSING makes them."""
    x = torch.where(mirrored[:, None, None, None], images.flip(3), images).float()
    mean, std = (torch.tensor(v)[:, None, None] for v in (PREPROCESSING.mean, PREPROCESSING.std))
    return (x * PREPROCESSING.scale - mean) / std


def _logits(module: Any, x: Tensor) -> Tensor:
    found = module(x)
    logits: Tensor = found if isinstance(found, Tensor) else found.logits
    return logits
