"""The classifiers of parts: trained well, the same for a seed, stopped when asked, served."""

from __future__ import annotations

import io
import json
import time

import numpy as np
import pytest
import torch

from backend import models
from backend.engine.worker import Worker
from backend.errors import Cancelled
from backend.explanation import ModelRef
from backend.images import FAMILY, carrier, parts, parts_training
from backend.images.examples import photos
from backend.images.explanation import ImageTarget
from backend.images.parts_training import DRAWING, PREPROCESSING, TRAINING, Recipe, trained
from backend.images.preprocessing import Preprocessing
from backend.settings import Settings

SHORT = Recipe(pictures=90, epochs=2, batch=32, rate=1e-3, decay=0.01)
KINDS = ("cnn", "vit")


def silent(done, total, what):
    """A progress nobody looks at."""


def served(kind, store, recipe=None):
    """The preset's adapter, fetched into a fresh store."""
    ref, options = ModelRef(name=f"parts-{kind}"), Settings(store=store)
    with pytest.MonkeyPatch.context() as patch:
        if recipe is not None:
            patch.setitem(parts_training.RECIPES, kind, recipe)
        folder = models.fetch(ref, FAMILY, options, silent)
    return FAMILY.load(folder, ref, "cpu")


@pytest.fixture(scope="module")
def held_out():
    """900 pictures that no training saw."""
    return parts.pictures(900, 77)


@pytest.fixture(scope="module")
def cnn(tmp_path_factory):
    return served("cnn", tmp_path_factory.mktemp("cnn"))


@pytest.fixture(scope="module")
def vit(tmp_path_factory):
    """With half the pictures, three times."""
    recipe = Recipe(pictures=1800, epochs=3, batch=48, rate=2e-3, decay=0.05)
    return served("vit", tmp_path_factory.mktemp("vit"), recipe)


def seen(model, images):
    """[n, 3, 64, 64] as the model reads them."""
    return torch.cat([model.tensor(model.preprocessing.seen(image)) for image in images])


def right(model, drawn):
    """[n] bool: whether the class is found."""
    with torch.no_grad():
        x = seen(model, drawn.images)
        logits = torch.cat([model.logits(some) for some in x.split(100)])
    return logits.argmax(dim=1).numpy() == drawn.labels


@pytest.mark.slow
def test_the_cnn_knows_pictures_it_has_not_seen(cnn, held_out):
    found = right(cnn, held_out)
    assert found.mean() >= 0.97
    assert min(found[held_out.labels == label].mean() for label in range(9)) >= 0.9


@pytest.mark.slow
def test_the_vit_knows_pictures_it_has_not_seen(vit, held_out):
    assert right(vit, held_out).mean() >= 0.9


@pytest.mark.slow
def test_a_part_alone_decides_no_class(cnn, vit):
    """With one part gone, the class is not what it was: both are looked at."""
    generator = np.random.default_rng(3)
    whole, less = parts.pictures(160, 78), []
    for i, label in enumerate(whole.labels):
        masks = np.zeros((8, parts.SIDE, parts.SIDE), dtype=bool)
        ground = parts.picture((), masks, generator)
        gone = parts.DEFINING[label][:1]
        hidden = whole.masks[i, list(gone)].any(axis=0)
        less.append(np.where(hidden[..., None], ground, whole.images[i]))
    has = whole.labels != 8
    for model in (cnn, vit):
        with torch.no_grad():
            before = model.logits(seen(model, whole.images)).softmax(dim=1).numpy()
            after = model.logits(seen(model, np.array(less))).softmax(dim=1).numpy()
        of_class = np.arange(160), whole.labels
        fall = (before[of_class] - after[of_class])[has]
        assert np.median(fall) > 0.3


@pytest.mark.slow
def test_logits_of_the_cnn_are_linear_in_its_maps(cnn, held_out):
    assert cnn.maps.grid == (16, 16)
    assert cnn.maps.prefix is None
    with torch.no_grad(), cnn.features() as kept:
        logits = cnn.logits(seen(cnn, held_out.images[:9]))
    maps = cnn.maps.spatial(kept[0]).double()
    assert maps.shape == (9, 96, 16, 16)
    assert maps.min() >= 0
    weight, bias = cnn.module.head.weight.double(), cnn.module.head.bias.double()
    places = torch.einsum("bkyx,ck->bcyx", maps, weight) / 256
    torch.testing.assert_close(places.sum(dim=(2, 3)) + bias, logits.double(), atol=1e-4, rtol=1e-5)


@pytest.mark.slow
def test_maps_of_the_cnn_see_less_than_a_part(cnn):
    """A place of the maps reads few pixels: evidence lies where it is found."""
    x = torch.zeros(1, 3, 64, 64, requires_grad=True)
    with cnn.features() as kept:
        cnn.logits(x)
    one = cnn.maps.spatial(kept[0])[0, :, 8, 8].sum()
    [gradient] = torch.autograd.grad(one, x)
    rows = np.flatnonzero(gradient[0].abs().sum(dim=(0, 2)).numpy())
    assert len(rows) == 9
    assert abs(rows.mean() - 32) <= 1


@pytest.mark.slow
def test_the_vit_is_served_as_any_of_transformers(vit):
    assert vit.architecture == "ViTForImageClassification"
    assert vit.attends == 4
    assert (vit.maps.grid, vit.maps.prefix) == ((8, 8), 1)
    assert vit.names == parts.CLASSES
    assert vit.preprocessing == PREPROCESSING


@pytest.mark.slow
def test_grad_cam_of_the_cnn_points_at_the_parts(cnn):
    from tests.backend.images.made import worker_run

    given = photos(("parts",), Settings())
    explainer, hits = FAMILY.find("grad_cam"), []
    for number in range(len(given)):
        mask = given.mask(number)
        if mask is not None:
            found = explainer.explain(
                cnn, given, ImageTarget(image=number), explainer.Parameters(), worker_run()
            )
            assert parts.CLASSES[found.values["label"]] == given.names[number].rsplit(" ", 1)[0]
            np.testing.assert_array_equal(found.arrays["mask"], mask)
            hits.append(mask.flat[found.arrays["scores"].argmax()])
    assert len(hits) == 22
    assert np.mean(hits) >= 0.8


@pytest.mark.parametrize("kind", KINDS)
def test_equal_seeds_give_equal_weights(kind):
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    first, again, other = (trained(kind, seed, silent, SHORT) for seed in (1, 1, 2))
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)
    assert not first.training
    weights = again.state_dict()
    for name, weight in first.state_dict().items():
        assert torch.equal(weight, weights[name]), name
    weights = other.state_dict()
    assert not all(torch.equal(w, weights[n]) for n, w in first.state_dict().items())


def test_pictures_are_normalised_as_they_will_be_when_explained():
    drawn = parts.pictures(2, 0)
    images = torch.from_numpy(drawn.images).permute(0, 3, 1, 2)
    found = parts_training._batch(images, torch.tensor([False, True])).numpy()
    as_seen = [PREPROCESSING.normalised(PREPROCESSING.seen(image)) for image in drawn.images]
    np.testing.assert_allclose(found[0], as_seen[0], atol=1e-6)
    np.testing.assert_allclose(found[1], as_seen[1][:, :, ::-1], atol=1e-6)
    np.testing.assert_array_equal(PREPROCESSING.seen(drawn.images[0]), drawn.images[0])


def test_progress_is_reported_before_every_step():
    said = []
    trained("cnn", 0, lambda *report: said.append(report), SHORT)
    assert said == [(0, 90, DRAWING), *((step, 6, TRAINING) for step in range(6))]


def test_what_a_folder_holds(tmp_path):
    for kind, more in (("cnn", set()), ("vit", {"preprocessor_config.json"})):
        folder = tmp_path / kind
        folder.mkdir()
        parts_training.save(kind, trained(kind, 0, silent, SHORT), folder)
        assert {f.name for f in folder.iterdir()} == {"config.json", "model.safetensors", *more}
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        assert FAMILY.unsupported(config) is None
        kind_name = {"cnn": carrier.PARTS_CNN, "vit": "vit"}[kind]
        assert config["model_type"] == kind_name
    given = json.loads((tmp_path / "vit" / "preprocessor_config.json").read_text())
    assert Preprocessing.of_transformers(given) == PREPROCESSING


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("when", [DRAWING, TRAINING])
def test_a_training_that_is_stopped_leaves_no_folder(tmp_path, monkeypatch, kind, when):
    monkeypatch.setitem(parts_training.RECIPES, kind, SHORT)
    ref, options = ModelRef(name=f"parts-{kind}"), Settings(store=tmp_path)

    def stopping(done, total, what):
        if what == when:
            raise Cancelled("stopped")

    threads = torch.get_num_threads()
    with pytest.raises(Cancelled):
        models.fetch(ref, FAMILY, options, stopping)
    assert torch.get_num_threads() == threads
    assert [p for p in (tmp_path / "models").iterdir() if p.is_dir()] == []
    assert models.find_folder(ref, FAMILY, options) is None
    assert models.fetch(ref, FAMILY, options, silent).is_dir()


def test_a_job_that_trains_can_be_cancelled(tmp_path, monkeypatch):
    monkeypatch.setitem(
        parts_training.RECIPES,
        "cnn",
        Recipe(pictures=90, epochs=1000, batch=32, rate=1e-3, decay=0),
    )

    class Out(io.StringIO):
        def write(self, text):
            if TRAINING in text:
                worker.cancelled.add("j")
            return super().write(text)

    worker = Worker(Settings(store=tmp_path), "cpu", Out())
    started = time.monotonic()
    task = {"id": "j", "do": "prepare", "family": "images", "model": {"name": "parts-cnn"}}
    worker.perform(task)
    assert time.monotonic() - started < 20
    said = [json.loads(line) for line in worker.out.getvalue().splitlines()]
    assert said[-1] == {"id": "j", "end": "cancelled"}
    assert DRAWING in [line["progress"][2] for line in said[:-1]]
    assert [p for p in (tmp_path / "models").iterdir() if p.is_dir()] == []


def test_presets_name_the_files_of_their_recipe():
    made = {p.id: p for p in FAMILY.presets if p.beside}
    assert set(made) == {"parts-cnn", "parts-vit"}
    for preset in made.values():
        assert preset.package == "backend"
        assert preset.beside == ("images/parts.py", "images/parts_training.py")
        assert preset.licence == "Apache-2.0"
        assert carrier.TRAINED[preset.file.split("/")[-1]] == preset.id.split("-")[1]
    digests = {models.fingerprint(ModelRef(name=id), FAMILY, Settings()) for id in made}
    assert len(digests) == 2
