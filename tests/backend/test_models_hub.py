"""Hub models: which ids are allowed, what a cached snapshot must hold. No network is used."""

import json

import huggingface_hub.constants
import pytest
from pydantic import ValidationError

from backend import models
from backend.errors import ModelError, ModelNotReady
from backend.explanation import ModelRef
from backend.settings import Settings
from tests.backend.engine.conftest import make_model
from tests.backend.engine.fakes import FAMILY

SHA = "1" * 40


def silent(done, total, what):
    """A progress nobody looks at."""


def hub(name="org/tiny", revision=None):
    return ModelRef(source="hub", name=name, revision=revision)


@pytest.fixture
def options(tmp_path):
    return Settings(store=tmp_path / "store", model_folders=(tmp_path / "models",), hub="on")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A hub cache with one model, `org/tiny`, and no network."""
    root = tmp_path / "hub"
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(root))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    base = root / "models--org--tiny"
    make_model(base / "snapshots" / SHA)
    (base / "refs").mkdir()
    (base / "refs" / "main").write_text(SHA)
    return base


@pytest.mark.parametrize("revision", ["", "a b", "a;b", "a\n", "x" * 101])
def test_revisions_that_are_none(revision):
    with pytest.raises(ValidationError, match="revision"):
        hub(revision=revision)


@pytest.mark.parametrize(
    "name",
    ["gpt2", "a/b/c", "../../etc", "a/..", "./x", "/etc/passwd", "a b/c", "a/b\n", "-a/b",
     "a/b.git", "a--b/c", "models--org--tiny/x", "https://x/y"],
)  # fmt: skip
def test_only_hub_ids_are_hub_ids(options, cache, name):
    with pytest.raises(ModelError, match="is not a hub id"):
        models.fingerprint(hub(name), FAMILY, options)
    with pytest.raises(ModelError, match="is not a hub id"):
        models.fetch(hub(name), FAMILY, options, silent)


@pytest.mark.parametrize("revision", ["../../../refs", "/etc/hostname", "a/../../b"])
def test_revisions_are_no_paths(options, cache, revision):
    with pytest.raises(ModelError, match="is not a revision"):
        models.fingerprint(hub(revision=revision), FAMILY, options)


def test_hub_off_and_allow_list(options, cache):
    off = options.model_copy(update={"hub": "off"})
    with pytest.raises(ModelError, match="VITRINE_HUB=off"):
        models.find_folder(hub(), FAMILY, off)
    listed = options.model_copy(update={"hub": ("org/other", "org/more")})
    with pytest.raises(ModelError, match=r"not among .*: org/other, org/more"):
        models.fetch(hub(), FAMILY, listed, silent)
    listed = options.model_copy(update={"hub": ("org/other", "org/tiny")})
    assert models.find_folder(hub(), FAMILY, listed) is not None


def test_snapshot_is_found_and_fingerprinted(options, cache, tmp_path):
    snapshot = cache / "snapshots" / SHA
    assert models.find_folder(hub(), FAMILY, options) == snapshot
    assert models.find_folder(hub(revision=SHA), FAMILY, options) == snapshot
    assert models.fetch(hub(), FAMILY, options, silent) == snapshot
    assert models.config(hub(), FAMILY, options) == {"architecture": "fake", "layers": 2}
    make_model(tmp_path / "models" / "same")
    same = models.fingerprint(ModelRef(source="folder", name="same"), FAMILY, options)
    assert models.fingerprint(hub(), FAMILY, options) == same


def test_snapshot_that_is_not_there(options, cache):
    for ref in (hub("org/absent"), hub(revision="v2")):
        assert models.find_folder(ref, FAMILY, options) is None
        assert models.config(ref, FAMILY, options) is None
        with pytest.raises(ModelNotReady, match="has to be downloaded first"):
            models.fingerprint(ref, FAMILY, options)
        with pytest.raises(ModelError, match=r"check the network|no complete safetensors"):
            models.fetch(ref, FAMILY, options, silent)


def test_snapshot_of_pickled_weights(options, cache):
    weights = cache / "snapshots" / SHA / "model.safetensors"
    weights.rename(weights.with_name("pytorch_model.bin"))
    with pytest.raises(ModelError, match=r"pickled weights .* never loaded"):
        models.fetch(hub(), FAMILY, options, silent)


def test_snapshot_without_all_its_shards(options, cache):
    snapshot = cache / "snapshots" / SHA
    shards = {"a": "model.safetensors", "b": "model-2.safetensors"}
    index = snapshot / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": shards}))
    assert models.find_folder(hub(), FAMILY, options) is None
    with pytest.raises(ModelError, match="no complete safetensors"):
        models.fetch(hub(), FAMILY, options, silent)
    (snapshot / "model-2.safetensors").write_text("more")
    assert models.fetch(hub(), FAMILY, options, silent) == snapshot
    index.write_text("[]")
    assert models.find_folder(hub(), FAMILY, options) is None
