"""The adapter: one image classifier behind the few questions explainers ask.

Imports torch: only workers import this module.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from torch import Tensor, nn

from backend.errors import InputError, ModelError
from backend.explanation import ModelRef
from backend.images import efficientnet
from backend.images.carrier import LITE0, PARTS_CNN, convert
from backend.images.explanation import ImageTarget, Photos
from backend.images.layers import Maps, find
from backend.images.parts_cnn import PartsCnn
from backend.images.preprocessing import Preprocessing
from backend.images.reinitialised import reinitialise, stages

__all__ = ["Classifier", "convert", "load"]

OWN: dict[str, tuple[str, Callable[[], nn.Module]]] = {
    LITE0: ("EfficientNet-Lite0", efficientnet.EfficientNetLite0),
    PARTS_CNN: ("Parts CNN", PartsCnn),
}
"""Networks whose layers are written here: name and how one is built, by model type."""
PIXELS_AT_ONCE = 16 * 224 * 224
"""Pixels of the pictures that go through the model together."""


class Classifier:
    """An image classifier ready to be explained: in evaluation mode, weights frozen.

    Args:
        module: takes pixel_values [B, 3, h, w], gives logits [B, C], bare or as `.logits`.
        names: of the C classes.
        blocks: of transformers that attend, how many there are; 0 of others.

    Raises:
        ModelError: its answer is no logits of the classes, or it has no spatial features.
    """

    def __init__(
        self,
        module: nn.Module,
        preprocessing: Preprocessing,
        names: Sequence[str],
        architecture: str,
        blocks: int = 0,
    ) -> None:
        self.module = module.eval().requires_grad_(False)
        self.preprocessing, self.names = preprocessing, tuple(names)
        self.architecture, self.attends = architecture, blocks
        self.device = str(next(module.parameters()).device)
        self.dtype = next(module.parameters()).dtype
        self.shape = preprocessing.shape
        self.stages = tuple(name for name, _ in stages(module))
        probe = torch.zeros(1, 3, *self.shape, device=self.device, dtype=self.dtype)
        self.maps: Maps = find(module, probe)
        found = self.logits(probe.float())
        if found.shape != (1, len(self.names)):
            raise ModelError(
                f"The adapter cannot serve {architecture}: it has {len(self.names)} classes and "
                f"answers {tuple(found.shape[1:])}."
            )

    @property
    def at_once(self) -> int:
        """Pictures that go through the model together."""
        return max(1, PIXELS_AT_ONCE // (self.shape[0] * self.shape[1]))

    def interruptible(self, check: Callable[[], None]) -> contextlib.AbstractContextManager[None]:
        """While the context lasts, `check` is called before every pass; it may raise."""

        @contextlib.contextmanager
        def hooked() -> Iterator[None]:
            handle = self.module.register_forward_pre_hook(lambda *_: check())
            try:
                yield
            finally:
                handle.remove()

        return hooked()

    def seen(self, photos: Photos, target: ImageTarget) -> np.ndarray:
        """[h, w, 3] uint8: the explained picture as the model sees it.

        Raises:
            InputError: there is no such picture.
        """
        if target.image >= len(photos):
            raise InputError(
                f"There is no picture {target.image}.",
                "image",
                f"There are {len(photos)}, counted from 0.",
            )
        return self.preprocessing.seen(photos.image(target.image))

    def tensor(self, seen: np.ndarray) -> Tensor:
        """[1, 3, h, w] float32 of a seen picture, on the model's device."""
        return torch.from_numpy(self.preprocessing.normalised(seen))[None].to(self.device)

    def logits(self, x: Tensor) -> Tensor:
        """[B, C] float32 of normalised pictures [B, 3, h, w]; gradients flow."""
        found = self.module(x.to(self.dtype))
        logits: Tensor = found if isinstance(found, Tensor) else found.logits
        return logits.float()

    def fill(self, seen: np.ndarray, kind: str) -> Tensor:
        """[1, 3, h, w] float32: what stands where nothing shall be seen.

        Args:
            kind: "black"; "grey" (the middle of the model's own scale: 0 after normalisation);
                "mean" (the picture's own mean colour); "blur" (the picture out of focus).
        """
        tall, wide = self.shape
        if kind == "grey":
            return torch.zeros(1, 3, tall, wide, device=self.device)
        if kind == "black":
            level = torch.from_numpy(self.preprocessing.value(0)).to(self.device)
            return level[None, :, None, None].expand(1, 3, tall, wide).clone()
        x = self.tensor(seen)
        if kind == "mean":
            return x.mean(dim=(2, 3), keepdim=True).expand_as(x).clone()
        return blurred(x)

    @contextlib.contextmanager
    def features(self) -> Iterator[list[Tensor]]:
        """While the context lasts, each pass leaves the output of the map layer in the list.

        `self.maps.spatial` makes maps [B, K, gh, gw] of it. Gradients flow.
        """
        found: list[Tensor] = []

        def keep(_module: nn.Module, _args: Any, output: Any) -> Any:
            tensor = output[0] if isinstance(output, tuple) else output
            if torch.is_grad_enabled() and not tensor.requires_grad:
                tensor = tensor.detach().requires_grad_()
                output = (tensor, *output[1:]) if isinstance(output, tuple) else tensor
            found.append(tensor)
            return output

        handle = self.maps.module.register_forward_hook(keep)
        try:
            yield found
        finally:
            handle.remove()


def blurred(x: Tensor, sigma: float = 0.045) -> Tensor:
    """[B, 3, h, w] out of focus: a Gaussian of `sigma` times the smaller side, edges reflected."""
    width = max(1.0, sigma * min(x.shape[-2:]))
    radius = min(int(3 * width), min(x.shape[-2:]) - 1)
    places = torch.arange(-radius, radius + 1, device=x.device, dtype=x.dtype)
    kernel = torch.exp(-(places**2) / (2 * width**2))
    kernel = (kernel / kernel.sum()).expand(3, 1, -1)
    padded = nn.functional.pad(x, (radius, radius, radius, radius), mode="reflect")
    rows = nn.functional.conv2d(padded, kernel[:, :, None, :], groups=3)
    return nn.functional.conv2d(rows, kernel[:, :, :, None], groups=3)


def load(folder: Path, ref: ModelRef, device: str) -> Classifier:
    """Load a folder: a network of Vitrine as `convert` writes it, or a classifier of transformers.

    Raises:
        ModelError: it cannot be loaded, or the adapter cannot serve it.
    """
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        if config.get("model_type") in OWN:
            architecture, build = OWN[config["model_type"]]
            module, names, blocks = _own(build(), folder), config["labels"], 0
            given = Preprocessing.model_validate(config["preprocessing"])
        else:
            module = _of_transformers(folder, ref)
            given = Preprocessing.of_transformers(
                json.loads((folder / "preprocessor_config.json").read_text(encoding="utf-8"))
            )
            labels = module.config.id2label
            names = [str(labels[i]) for i in range(len(labels))]
            architecture = type(module).__name__
            blocks = int(getattr(module.config, "num_hidden_layers", 0) or 0)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise ModelError(f"{ref.label()} cannot be loaded: {error}") from error
    if ref.reinitialised is not None:
        reinitialise(module, ref.reinitialised.depth, ref.reinitialised.seed)
    module = module.to(device=device, dtype=getattr(torch, ref.precision))
    return Classifier(module, given, names, architecture, blocks)


def _own(module: nn.Module, folder: Path) -> nn.Module:
    module.load_state_dict(safetensors.torch.load_file(folder / "model.safetensors"))
    return module


def _of_transformers(folder: Path, ref: ModelRef) -> Any:
    from transformers import AutoModelForImageClassification

    return AutoModelForImageClassification.from_pretrained(
        folder,
        dtype=getattr(torch, ref.precision),
        attn_implementation="eager",
        use_safetensors=True,
        local_files_only=True,
        trust_remote_code=False,
    )
