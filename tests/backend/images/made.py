"""Small image classifiers of random or chosen weights, pictures for them, and runs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import torch
from torch import nn

from backend.engine.run import WorkerRun
from backend.images.explained import Decision
from backend.images.explanation import ImageTarget, Photos
from backend.images.models import Classifier
from backend.images.preprocessing import Preprocessing

SIDE, CLASSES = 32, 5
PREPROCESSING = Preprocessing(
    shortest=SIDE, crop=(SIDE, SIDE), mean=(0.5, 0.4, 0.6), std=(0.25, 0.3, 0.2)
)
SQUARE = (slice(8, 16), slice(16, 24))
"""What the model `looking` looks at."""


class Cnn(nn.Module):
    """Maps of 8 × 8, their means, a linear head."""

    def __init__(self, norm: bool = False) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 6, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(6) if norm else nn.Identity()
        self.first_act = nn.ReLU()
        self.second = nn.Conv2d(6, 8, 3, stride=2, padding=1)
        self.second_act = nn.ReLU()
        self.head = nn.Linear(8, CLASSES)

    def forward(self, x):
        x = self.first_act(self.norm(self.first(x)))
        return self.head(self.second_act(self.second(x)).mean(dim=(2, 3)))


class Flat(nn.Module):
    """Logits linear in the pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.same = nn.Identity()
        self.head = nn.Linear(3 * SIDE * SIDE, CLASSES)

    def forward(self, x):
        return self.head(self.same(x).flatten(1))


def classifier(module, architecture="Tiny", blocks=0, preprocessing=PREPROCESSING):
    names = [f"class {i}" for i in range(CLASSES)]
    return Classifier(module, preprocessing, names, architecture, blocks)


def seeded(build, seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return build()


def cnn(seed=0):
    """A random network whose logits are not all about equal."""
    module = seeded(Cnn, seed)
    with torch.no_grad():
        module.head.weight.mul_(20)
    return classifier(module)


def flat(seed=0):
    """A random linear model."""
    return classifier(seeded(Flat, seed))


def looking(gain=0.1):
    """The brighter a square is, the surer the model is of class 0; it looks at nothing else."""
    module = Flat()
    with torch.no_grad():
        module.head.weight.zero_()
        module.head.bias.zero_()
        module.head.weight[0].view(3, SIDE, SIDE)[(slice(None), *SQUARE)] = gain
    return classifier(module)


def vit(seed=0, layers=3, image_size=SIDE):
    """Patches of 8 × 8 pixels and a class token before them."""
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        image_size=image_size, patch_size=8, hidden_size=16, num_hidden_layers=layers,
        num_attention_heads=2, intermediate_size=24, num_labels=CLASSES, initializer_range=0.4,
    )  # fmt: skip
    config._attn_implementation = "eager"
    return classifier(seeded(lambda: ViTForImageClassification(config), seed), "ViT", layers)


def parts_cnn():
    """Trained on few pictures of parts, and right about nearly all."""
    from backend.images import parts, parts_training

    recipe = parts_training.Recipe(pictures=1350, epochs=2, batch=32, rate=1e-2, decay=1e-4)
    module = parts_training.trained("cnn", 0, lambda *_: None, recipe)
    return Classifier(module, parts_training.PREPROCESSING, parts.CLASSES, "Parts CNN")


def photos(count=3, seed=0):
    """Flat patches of random colours with a little noise, larger than models read; a mask each."""
    generator = np.random.default_rng(seed)
    arrays = {}
    for i in range(count):
        patches = generator.integers(20, 235, size=(3, 4, 3)).repeat(16, 0).repeat(16, 1)
        pixels = patches + generator.integers(-15, 16, size=patches.shape)
        arrays[f"image/{i}"] = pixels.astype(np.uint8)
    return of_arrays(arrays)


def of_arrays(arrays):
    count = sum(name.startswith("image/") for name in arrays)
    return Photos(
        arrays=arrays,
        names=tuple(f"{i}.png" for i in range(count)),
        folders=("",) * count,
        remarks=((),) * count,
        title="Patches",
    )


def bright():
    """One picture of the size models read: white where `looking` looks, grey elsewhere."""
    pixels = np.full((SIDE, SIDE, 3), 120, dtype=np.uint8)
    pixels[SQUARE] = 250
    mask = np.zeros((SIDE, SIDE), dtype=np.uint8)
    mask[SQUARE] = 1
    return of_arrays({"image/0": pixels, "mask/0": mask})


def worker_run(seed=0, subject=None):
    return WorkerRun(
        device="cpu",
        dtype="float32",
        seed=seed,
        subject=subject,
        report=lambda *_: None,
        cancelled=lambda: False,
    )


def explain(method, model, pictures, *, image=0, label=None, seed=0, subject=None, **parameters):
    """The explanation, what it cost and warned of beside it."""
    run = worker_run(seed, subject)
    target = ImageTarget(image=image, label=label)
    found = method().explain(model, pictures, target, method.Parameters(**parameters), run)
    return SimpleNamespace(
        scores=found.arrays.get("scores"),
        values=found.values,
        arrays=found.arrays,
        notes=found.notes,
        explanation=found,
        run=run,
    )


def decision(model, pictures, image=0, label=None):
    return Decision(model, pictures, ImageTarget(image=image, label=label), worker_run())


def logits(model, x):
    """[B, C] float64 without gradients."""
    with torch.no_grad():
        return model.module(x).logits.double() if model.attends else model.module(x).double()


def grown(small):
    """[SIDE, SIDE] of a small map, by torch."""
    return nn.functional.interpolate(
        torch.as_tensor(small)[None, None].double(), size=(SIDE, SIDE), mode="bilinear"
    )[0, 0].numpy()


class Steep(nn.Module):
    """Nearly a step: gradients are found only where it rises."""

    def forward(self, x):
        return torch.sigmoid(400 * (x - 0.3))
