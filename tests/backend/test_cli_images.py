"""`explain images` and `score images`: files, the command that repeats them, rows, refusals."""

from __future__ import annotations

import argparse
import csv
import html
import io
import json
import re
import shlex
import zipfile
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from PIL import Image

from backend.commands import work
from backend.control import won_by_control
from backend.images import arguments, carrier, parts
from backend.images.attention_rollout import NO_ATTENTION
from backend.images.cells import pooled
from backend.images.examples import EXAMPLES
from backend.images.image_metrics import METRICS, OF_OBJECT
from backend.settings import Settings

pytestmark = pytest.mark.usefixtures("in_one_store")

COFFEE = ("images", "--example", "coffee")
RNG = np.random.default_rng(0)


def command(folder: Path) -> list[str]:
    """The command on a card, without the program, comments and --out."""
    text = html.unescape((folder / "card.html").read_text(encoding="utf-8"))
    line = re.search(r"python -m backend (explain images .*?) --out out", text, re.DOTALL).group(1)
    return shlex.split(line)


def arrays(folder: Path) -> dict[str, np.ndarray]:
    return safetensors.numpy.load_file(folder / "arrays.safetensors")


def values(folder: Path) -> dict:
    return json.loads((folder / "explanation.json").read_text(encoding="utf-8"))["values"]


def png(size=(60, 48)) -> bytes:
    out = io.BytesIO()
    pixels = RNG.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


@pytest.fixture(scope="module")
def vit(tmp_path_factory) -> Path:
    """A tiny ViT in Hugging Face layout, with random weights."""
    import torch
    from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessorPil

    folder = tmp_path_factory.mktemp("models") / "tiny-vit"
    config = ViTConfig(
        hidden_size=16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=24,
        image_size=32, patch_size=8, id2label={0: "owl", 1: "crow", 2: "kite"},
        label2id={"owl": 0, "crow": 1, "kite": 2}, initializer_range=0.4,
    )  # fmt: skip
    torch.manual_seed(0)
    ViTForImageClassification(config).save_pretrained(folder)
    ViTImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)
    return folder


def test_explain_writes_files_and_the_card_repeats_it(run, tmp_path):
    found = run("explain", *COFFEE, "--explainer", "grad_cam,random_map", "--out", "o",
                "--figure", "png")  # fmt: skip
    assert [row["explainer"] for row in found["results"]] == ["grad_cam", "random_map"]
    for row in found["results"]:
        folder = tmp_path / "o" / row["explainer"]
        assert {file.name for file in folder.iterdir()} == {
            "explanation.json", "arrays.safetensors", "scores.csv", "card.html", "figure.png",
        }  # fmt: skip
        told = arrays(folder)
        assert told["scores"].shape == (224, 224)
        assert (told["seen"].shape, told["seen"].dtype) == ((224, 224, 3), np.uint8)
        card = html.unescape((folder / "card.html").read_text(encoding="utf-8"))
        assert carrier.PREPROCESSING.words() in card
        assert "A cup of coffee" in card
        assert "espresso" in card
        again = run(*command(folder), "--out", "again")
        assert again["results"][0]["key"] == row["key"]
        assert again["results"][0]["cached"]
    told = values(tmp_path / "o" / "grad_cam")
    assert (told["label"], told["predicted"], told["class_names"]["967"]) == (967, 967, "espresso")
    assert told["top"][0] == [967, told["probability"]]
    assert (told["height"], told["width"]) == (400, 600)


def test_numbers_are_means_over_cells_in_the_order_of_their_ranks(run, tmp_path):
    run("explain", *COFFEE, "--explainer", "grad_cam", "--out", "o")
    folder = tmp_path / "o" / "grad_cam"
    rows = list(csv.DictReader((folder / "scores.csv").open(encoding="utf-8")))
    scores = [float(row["score"]) for row in rows]
    assert scores == pytest.approx(pooled(arrays(folder)["scores"]).tolist())
    assert [(int(r["row"]), int(r["column"])) for r in rows] == list(np.ndindex(14, 14))
    by_rank = sorted(rows, key=lambda row: int(row["rank"]))
    assert [float(row["score"]) for row in by_rank] == sorted(scores, reverse=True)


def test_another_class_and_seed_are_other_maps(run, tmp_path):
    plain = run("explain", *COFFEE, "--explainer", "grad_cam,random_map", "--out", "a")
    other = run("explain", *COFFEE, "--explainer", "grad_cam,random_map", "--label", "504",
                "--seed", "3", "--out", "b")  # fmt: skip
    assert not {r["key"] for r in plain["results"]} & {r["key"] for r in other["results"]}
    for name in ("grad_cam", "random_map"):
        before, after = (arrays(tmp_path / out / name)["scores"] for out in ("a", "b"))
        assert np.abs(before - after).max() > 1e-3
    told = values(tmp_path / "b" / "grad_cam")
    assert (told["label"], told["predicted"]) == (504, 967)
    words = command(tmp_path / "b" / "random_map")
    assert words[words.index("--label") + 1] == "504"
    assert words[words.index("--seed") + 1] == "3"


def test_score_has_a_row_a_method_and_a_random_one(run, vit):
    asked = (*COFFEE, "--explainer", "occlusion,random_map", "--model", str(vit),
             "--set", "window=8", "--set", "stride=4")  # fmt: skip
    found = run("score", *asked)
    rows = {row["explainer"]: row for row in found["scores"]}
    assert list(rows) == ["occlusion", "random_map", "random"]
    assert all({m.id for m in METRICS} <= set(row) for row in rows.values())
    for row in rows.values():
        assert row["gap"] == pytest.approx(row["insertion"] - row["deletion"])
        assert 0 < row["deletion"] < 1
        assert [row[name] for name in OF_OBJECT] == [None] * 3
        assert set(row["undefined"]) == set(OF_OBJECT)
    # Covering what was measured to matter tells of parts more than the lot does.
    assert rows["occlusion"]["correlation"] > rows["random"]["correlation"]
    low, high = rows["random"]["spread"]["insertion"]
    assert low <= rows["random"]["insertion"] <= high
    assert "spread" not in rows["occlusion"]
    assert run("score", *asked) == found
    values = {name: {m.id: row[m.id] for m in METRICS} for name, row in rows.items()}
    won = won_by_control(values, {"random_map", "random"}, METRICS)
    assert found["won_by_control"] == won
    assert won.keys() != {m.id for m in METRICS if m.id not in OF_OBJECT}, "occlusion wins some"


def test_the_table_marks_what_a_control_wins():
    rows = [
        {"explainer": "grad_cam", "gap": 0.5, "deletion": 0.2, "undefined": {}},
        {"explainer": "random_map", "gap": 0.1, "deletion": 0.4, "undefined": {}},
        {"explainer": "centre_gaussian", "gap": 0.6, "deletion": 0.3, "undefined": {}},
        {"explainer": "random", "gap": 0.0, "deletion": 0.2, "undefined": {}},
    ]
    won = work.won(rows, METRICS, "images")
    assert won == {"deletion": "random", "gap": "centre_gaussian"}
    head, _, first, *_, one, two = work.score_table(rows, METRICS, won).splitlines()
    assert head.split() == ["deletion*", "gap*"]
    assert first.split() == ["grad_cam", "0.2000", "0.5000"]
    assert {one, two} == {
        "* deletion: a control (random) does as well as the best method, so it says nothing here.",
        "* gap: a control (centre_gaussian) does as well as the best method, so it says nothing "
        "here.",
    }
    assert "*" not in work.score_table(rows, METRICS, {})


def test_a_picture_of_ones_own_is_kept_beside_its_card(run, tmp_path):
    data = png()
    Path("my owl.png").write_bytes(data)
    found = run("explain", "images", "--input", "my owl.png", "--explainer", "random_map",
                "--out", "o")  # fmt: skip
    folder = tmp_path / "o" / "random_map"
    assert values(folder)["picture"] == "my owl.png"
    with zipfile.ZipFile(folder / "photos.zip") as archive:
        [name] = archive.namelist()
        kept = Image.open(io.BytesIO(archive.read(name)))
    assert np.array_equal(np.asarray(kept), np.asarray(Image.open(io.BytesIO(data))))
    Path("photos.zip").write_bytes((folder / "photos.zip").read_bytes())
    again = run(*command(folder), "--out", "again")
    assert again["results"][0]["explainer"] == found["results"][0]["explainer"]
    before, after = arrays(folder), arrays(tmp_path / "again" / "random_map")
    assert np.array_equal(before["seen"], after["seen"])
    assert np.array_equal(before["scores"], after["scores"])


def test_the_second_picture_of_a_zip_is_explained(run, refused, tmp_path):
    with zipfile.ZipFile("set.zip", "w") as archive:
        archive.writestr("cats/a.png", png())
        archive.writestr("dogs/b.png", png((80, 90)))
    own = ("images", "--input", "set.zip", "--explainer", "random_map")
    run("explain", *own, "--image", "1", "--out", "o")
    folder = tmp_path / "o" / "random_map"
    told = values(folder)
    assert (told["picture"], told["image"], told["width"]) == ("b.png", 1, 80)
    with zipfile.ZipFile(folder / "photos.zip") as archive:
        assert archive.namelist() == ["cats/0000-a-png.png", "dogs/0001-b-png.png"]
    words = command(folder)
    assert words[words.index("--image") + 1] == "1"
    said = refused("explain", *own, "--image", "2", "--out", "o")
    assert said == "--image: There is no picture 2. Choose from 0 to 1.\n"


def test_a_drawn_picture_is_explained_with_the_mask_of_its_parts(run, vit, tmp_path):
    run("explain", "images", "--example", "parts", "--image", "3", "--explainer", "grad_cam",
        "--model", str(vit), "--out", "o")  # fmt: skip
    folder = tmp_path / "o" / "grad_cam"
    drawn = parts.pictures(24, 10_000)
    expected = drawn.masks[3].any(axis=0)[::2, ::2]
    assert expected.any()
    found = arrays(folder)["mask"]
    assert found.shape == (32, 32)
    assert (found != expected).mean() < 0.1
    assert "--example parts --image 3" in shlex.join(command(folder))


def test_all_examples_are_the_photos():
    parser = argparse.ArgumentParser()
    arguments.add(parser)
    found = arguments.read(parser.parse_args(["--example", "all"]), Settings())
    assert found.example.split(",") == [photo.id for photo in EXAMPLES]
    assert "parts" not in found.example


def test_a_transformer_of_ones_own_rolls_out_its_attention(run, vit, tmp_path):
    chosen = ("--explainer", "attention_rollout,gradient_rollout,grad_cam")
    run("explain", *COFFEE, *chosen, "--model", str(vit), "--out", "o")
    folder = tmp_path / "o" / "attention_rollout"
    told = values(folder)
    assert told["architecture"] == "ViTForImageClassification"
    assert told["class_names"][str(told["predicted"])] in ("owl", "crow", "kite")
    assert told["preprocessing"].startswith("Resized to 32 × 32 (bilinear); times 0.003922")
    assert told["grid"] == [4, 4]
    scores = arrays(folder)["scores"]
    assert scores.shape == (32, 32)
    assert scores.min() > 0
    other = arrays(tmp_path / "o" / "gradient_rollout")["scores"]
    assert np.abs(scores - other).max() > 1e-4


def test_a_map_of_attention_is_that_of_the_transformer_s_own_weights(run, vit, tmp_path):
    import torch
    from transformers import AutoModelForImageClassification

    run("explain", *COFFEE, "--explainer", "attention_rollout", "--model", str(vit), "--out", "o")
    found = arrays(tmp_path / "o" / "attention_rollout")
    model = AutoModelForImageClassification.from_pretrained(vit, attn_implementation="eager")
    x = torch.from_numpy(found["seen"].astype(np.float32) / 127.5 - 1).permute(2, 0, 1)[None]
    with torch.no_grad():
        layers = model.eval()(x, output_attentions=True).attentions
    product = np.eye(17)
    for layer in layers:
        product = (layer[0].mean(dim=0).double().numpy() + np.eye(17)) / 2 @ product
    expected = torch.from_numpy(product[0, 1:].reshape(1, 1, 4, 4))
    expected = torch.nn.functional.interpolate(expected, size=(32, 32), mode="bilinear")
    np.testing.assert_allclose(found["scores"], expected[0, 0].numpy(), atol=1e-5)


@pytest.mark.parametrize("name", ["attention_rollout", "gradient_rollout"])
def test_a_network_without_attention_rolls_out_nothing(refused, name):
    said = refused("explain", *COFFEE, "--explainer", name, "--out", "o")
    assert NO_ATTENTION in said


def test_a_language_model_is_no_classifier(refused, tmp_path):
    folder = tmp_path / "words"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "llama"}')
    (folder / "model.safetensors").write_bytes(b"")
    said = refused("explain", *COFFEE, "--explainer", "grad_cam", "--model", str(folder),
                   "--out", "o")  # fmt: skip
    assert "Classifiers of type 'llama' are not served" in said


def test_a_folder_without_its_preprocessing_is_refused(refused, vit, tmp_path):
    folder = tmp_path / "bare"
    folder.mkdir()
    for file in ("config.json", "model.safetensors"):
        (folder / file).write_bytes((vit / file).read_bytes())
    said = refused("explain", *COFFEE, "--explainer", "grad_cam", "--model", str(folder),
                   "--out", "o")  # fmt: skip
    assert "preprocessor_config.json" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "one of the arguments --example --input is required"),
        (("--example", "nothing"), "There is no example 'nothing'. Use chelsea, coffee,"),
        (("--example", ","), "No example is named."),
        (("--example", "coffee,parts"), "'parts' is a set of pictures already. Name it alone."),
        (("--example", "parts", "--image", "24"), "There is no picture 24. Choose from 0 to 23."),
        (("--example", "coffee", "--input", "a.png"), "not allowed with"),
        (("--example", "coffee", "--image", "1"), "There is no picture 1."),
        (("--example", "coffee", "--image", "-1"), "There is no picture -1."),
        (("--example", "coffee", "--image", "x"), "--image"),
        (("--example", "coffee", "--label", "-1"), "--label: It is a whole number from 0 on."),
        (("--example", "coffee", "--label", "1000"), "There is no class 1000."),
        (("--example", "coffee", "--explainer", "nothing"), "There is no explainer 'nothing'."),
        (("--example", "coffee", "--explainer", "rise", "--set", "masks=0"), "masks"),
        (("--example", "coffee", "--set", "colour=1"), "'colour=1' sets nothing."),
        (("--example", "coffee", "--model", "nothing"), "nothing"),
        (("--input", "missing.png"), "missing.png: The file cannot be read"),
        (("--input", "text.png"), "text.png: It cannot be read as a picture"),
        (("--input", "empty.zip"), "There is no picture in it."),
        (("--input", "dot.png"), "1 × 1 pixels"),
        (("--input", "endless.png"), "more than 20 MB"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(refused, words, said):
    Path("text.png").write_text("Dear cat")
    Path("dot.png").write_bytes(png((1, 1)))
    Path("endless.png").symlink_to("/dev/zero")
    zipfile.ZipFile("empty.zip", "w").close()
    chosen = () if "--explainer" in words else ("--explainer", "grad_cam")
    assert said in refused("explain", "images", *words, *chosen, "--out", "o")


@pytest.mark.slow
def test_conex_tells_which_concepts_add_what(run, tmp_path):
    asked = ("explain", "images", "--example", "parts", "--model", "parts-cnn",
             "--explainer", "conex,grad_cam", "--out", str(tmp_path))  # fmt: skip
    run(*asked)
    found = json.loads((tmp_path / "conex" / "explanation.json").read_text(encoding="utf-8"))
    values = found["values"]
    assert values["class_names"][str(values["label"])] == "disc + square"
    total = sum(values["adds"]) + values["base"]
    assert total == pytest.approx(values["logit"], abs=1e-3)
    card = (tmp_path / "conex" / "card.html").read_text(encoding="utf-8")
    assert "Concept 1" in card
    assert "no concept" in card
    again = run(*asked)["results"]
    assert all(one["cached"] for one in again)
