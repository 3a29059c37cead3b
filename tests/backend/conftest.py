"""The command line in a test: one store a module, what it prints, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from backend.cli import main
from backend.settings import settings
from tests.fake import Drawn


@pytest.fixture(scope="module")
def one_store(tmp_path_factory, made_ready) -> Path:
    """One store for all tests of a module, so that a model is trained once."""
    store = tmp_path_factory.mktemp("store")
    (store / "models").symlink_to(made_ready)
    return store


@pytest.fixture
def in_one_store(one_store, tmp_path, monkeypatch):
    """A folder of the test's own, and the module's store."""
    monkeypatch.setenv("VITRINE_STORE", str(one_store))
    monkeypatch.setenv("VITRINE_DEVICE", "cpu")
    monkeypatch.setenv("VITRINE_THREADS", "1")
    monkeypatch.chdir(tmp_path)
    settings.cache_clear()
    yield
    settings.cache_clear()


@pytest.fixture
def run(capfd):
    """Run a command that succeeds; returns what it prints with --json."""

    def done(*words: str):
        status = main([*words, "--json"], Drawn())
        out, err = capfd.readouterr()
        assert status == 0, err
        return json.loads(out)

    return done


@pytest.fixture
def refused(capfd):
    """Run a command that is refused; returns its sentence."""

    def done(*words: str) -> str:
        assert main(list(words), Drawn()) == 2
        out, err = capfd.readouterr()
        assert out == ""
        assert len(err.splitlines()) == 1
        return err

    return done
