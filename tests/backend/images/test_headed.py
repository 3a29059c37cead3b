"""A model folder with another head gives features times the head, and keeps the rest as it was."""

from __future__ import annotations

import json

import numpy as np
import pytest
import safetensors.torch
import torch
import transformers

from backend.explanation import ModelRef
from backend.images import head, headed
from backend.images.models import load

RNG = np.random.default_rng(0)
SEEN = [RNG.integers(0, 256, (32, 32, 3), dtype=np.uint8) for _ in range(3)]
REF = ModelRef(source="folder", name="x")
SMALL = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "patch_size": 8,
         "image_size": 32}  # fmt: skip
RESNET = transformers.ResNetConfig(
    embedding_size=8, hidden_sizes=[8, 12], depths=[1, 1], layer_type="basic", num_labels=7
)
MADE = {
    "vit": lambda: transformers.ViTForImageClassification(
        transformers.ViTConfig(**SMALL, intermediate_size=24, num_labels=7)
    ),
    "dinov2": lambda: transformers.Dinov2ForImageClassification(
        transformers.Dinov2Config(**SMALL, num_labels=7)
    ),
    "dinov2 without a head": lambda: transformers.Dinov2Model(transformers.Dinov2Config(**SMALL)),
    "convnext": lambda: transformers.ConvNextForImageClassification(
        transformers.ConvNextConfig(hidden_sizes=[8, 12], depths=[1, 1], num_stages=2, num_labels=7)
    ),
    "swin": lambda: transformers.SwinForImageClassification(
        transformers.SwinConfig(
            image_size=32,
            patch_size=4,
            embed_dim=8,
            depths=[1, 1],
            num_heads=[2, 2],
            window_size=4,
            num_labels=7,
        )
    ),
    "resnet": lambda: transformers.ResNetForImageClassification(RESNET),
}


@pytest.fixture
def source(tmp_path):
    """Factory: a folder of a random model."""

    def saved(name, **how):
        torch.manual_seed(0)
        model = MADE[name]()
        for weight in model.parameters():  # far from zero, so that parts matter
            torch.nn.init.normal_(weight, std=0.1)
        folder = tmp_path / "source"
        model.to(how.pop("dtype", torch.float32)).save_pretrained(folder, **how)
        processor = transformers.ViTImageProcessorPil(size={"height": 32, "width": 32})
        processor.save_pretrained(folder)
        return folder

    return saved


@pytest.mark.parametrize("name", MADE)
def test_logits_are_features_times_the_head(source, tmp_path, name):
    folder = source(name)
    before = load(folder, REF, "cpu")
    features = head.embed(before, SEEN)
    layer, _ = head.last_layer(before.module)
    weight = RNG.normal(size=(3, features.shape[1])).astype(np.float32)
    bias = RNG.normal(size=3).astype(np.float32)
    out = tmp_path / "out"
    out.mkdir()
    classes = ("owl", "crow", "kite")
    headed.write(folder, out, classes, layer, weight, bias, before.architecture)
    after = load(out, REF, "cpu")
    assert after.names == classes
    assert after.architecture == before.architecture
    logits = after.logits(torch.cat([after.tensor(one) for one in SEEN])).numpy()
    np.testing.assert_allclose(logits, features @ weight.T + bias, atol=1e-4)
    config = json.loads((out / "config.json").read_text())
    assert config["label2id"] == {"owl": 0, "crow": 1, "kite": 2}


def test_the_rest_keeps_its_precision_and_shards_become_one(source, tmp_path):
    folder = source("vit", dtype=torch.bfloat16, max_shard_size="6KB")
    assert len(list(folder.glob("*.safetensors"))) > 1
    out = tmp_path / "out"
    out.mkdir()
    headed.write(folder, out, ("a", "b"), "classifier", np.ones((2, 16)), np.zeros(2),
                 "ViTForImageClassification")  # fmt: skip
    before = {}
    for file in folder.glob("*.safetensors"):
        before |= safetensors.torch.load_file(file)
    after = safetensors.torch.load_file(out / "model.safetensors")
    assert set(after) == set(before)
    for name, tensor in before.items():
        if not name.startswith("classifier"):
            assert after[name].dtype == torch.bfloat16
            assert torch.equal(after[name], tensor)
    assert torch.equal(after["classifier.weight"], torch.ones(2, 16))
    assert {file.name for file in out.iterdir()} == {
        "config.json", "preprocessor_config.json", "model.safetensors",
    }  # fmt: skip


def test_broken_weights_are_no_model(source, tmp_path):
    folder = source("vit")
    (folder / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(ValueError, match="broken"):
        headed.write(folder, tmp_path, ("a",), "classifier", np.ones((1, 16)), np.zeros(1), "X")
