"""Models made on a page: written once, found by their key, the oldest ones dropped."""

from __future__ import annotations

import os

import pytest

from backend import made, models
from backend.commands import work
from backend.errors import ModelError
from backend.explanation import ModelRef
from backend.settings import Settings
from tests.backend.engine.fakes import FAMILY

KEY = "a" * 64


@pytest.fixture
def options(tmp_path):
    return Settings(store=tmp_path / "store")


def fill(text="{}"):
    return lambda folder: (folder / "config.json").write_text(text)


def test_a_made_model_is_found_by_its_key_and_fingerprinted(options):
    made.make(KEY, options, fill())
    ref = ModelRef(source="made", name=KEY)
    assert models.find_folder(ref, FAMILY, options) == options.store / "made" / KEY
    assert models.config(ref, FAMILY, options) == {}
    first = models.fingerprint(ref, FAMILY, options)
    made.make("b" * 64, options, fill('{"other": 1}'))
    other = ModelRef(source="made", name="b" * 64)
    assert models.fingerprint(other, FAMILY, options) != first
    assert work.model(ref.label(), "float32", FAMILY) == ref


def test_one_that_is_there_is_not_written_again(options):
    made.make(KEY, options, fill("first"))
    made.make(KEY, options, fill("second"))
    assert (made.find(KEY, options) / "config.json").read_text() == "first"


@pytest.mark.parametrize("name", ["", "..", "../models/x", "A" * 64, "a" * 63, KEY])
def test_what_was_not_made_here_is_refused(options, name):
    (options.store / "models" / "x").mkdir(parents=True)
    with pytest.raises(ModelError, match="no longer kept"):
        made.find(name, options)


@pytest.mark.parametrize("name", ["../x", "x", ""])
def test_only_a_key_names_a_model(options, name):
    with pytest.raises(ValueError, match="is not the key"):
        made.make(name, options, fill())
    assert not (options.store / "made").exists()


def test_the_oldest_ones_go(options):
    keys = [f"{i:064x}" for i in range(made.KEPT + 2)]
    for age, key in enumerate(keys):
        made.make(key, options, fill())
        if age < made.KEPT:
            os.utime(made.find(key, options), (age + 1, age + 1))
    left = sorted(path.name for path in (options.store / "made").iterdir())
    assert left == keys[2:]


def test_a_fault_while_writing_leaves_nothing(options):
    def broken(folder):
        fill()(folder)
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        made.make(KEY, options, broken)
    assert list((options.store / "made").iterdir()) == []
