"""Settings from the environment, and back."""

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from backend.settings import Settings


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in os.environ:
        if name.startswith("VITRINE_"):
            monkeypatch.delenv(name)


def test_defaults():
    found = Settings()
    assert found.store.is_absolute()
    assert found.store.name == "vitrine"
    assert (found.hub, found.device, found.model_folders) == ("on", "auto", ())
    assert (found.worker_memory_gb, found.queue_limit) == (None, 64)


@pytest.mark.parametrize(
    ("text", "folders"),
    [
        ("", ()),
        ("/a", (Path("/a"),)),
        ("/a:/b c:", (Path("/a"), Path("/b c"))),
        ("~/m", (Path.home() / "m",)),
        ("m", (Path.cwd() / "m",)),
    ],
)
def test_model_folders(monkeypatch, text, folders):
    monkeypatch.setenv("VITRINE_MODEL_FOLDERS", text)
    assert Settings().model_folders == folders


@pytest.mark.parametrize(
    ("text", "hub"),
    [
        ("on", "on"),
        ("off", "off"),
        ("org/a", ("org/a",)),
        (" org/a , org/b,", ("org/a", "org/b")),
        ("", ()),
    ],
)
def test_hub(monkeypatch, text, hub):
    monkeypatch.setenv("VITRINE_HUB", text)
    assert Settings().hub == hub


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("STORE_MAX_GB", "0"),
        ("STORE_MAX_GB", "lots"),
        ("STORE_MAX_GB", "nan"),
        ("STORE_MAX_GB", "inf"),
        ("DEVICE", "banana"),
        ("DEVICE", "cuda:"),
        ("DEVICE", ""),
        ("THREADS", "-1"),
        ("THREADS", "1.5"),
        ("QUEUE_LIMIT", "0"),
        ("JOB_DEADLINE_S", "0"),
        ("CANCEL_GRACE_S", "-1"),
        ("CANCEL_GRACE_S", "nan"),
        ("MODEL_MEMORY_GB", "0"),
        ("WORKER_MEMORY_GB", "-2"),
        ("MAX_TOKENS", "1"),
        ("MAX_UPLOAD_MB", ""),
    ],
)
def test_values_that_cannot_be_are_named(monkeypatch, name, text):
    monkeypatch.setenv(f"VITRINE_{name}", text)
    with pytest.raises(ValidationError, match=name.lower()):
        Settings()


def test_relative_store_is_the_apps_not_the_workers(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VITRINE_STORE", "here")
    found = Settings()
    assert found.store == tmp_path / "here"
    assert found.environment()["VITRINE_STORE"] == str(tmp_path / "here")
    monkeypatch.setenv("VITRINE_STORE", "~/there")
    assert Settings().store == Path.home() / "there"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"hub": "off", "device": "cuda:1", "threads": 3},
        {"hub": ("org/a", "org/b"), "model_folders": (Path("/a b"), Path("/c"))},
        {"hub": ()},
        {"worker_memory_gb": 3.5, "store_max_gb": 1e-7, "job_deadline_s": 0.25},
    ],
)
def test_environment_gives_the_same_settings(monkeypatch, changes):
    options = Settings(**changes)
    for name, text in options.environment().items():
        monkeypatch.setenv(name, text)
    assert Settings() == options


def test_settings_do_not_change():
    with pytest.raises(ValidationError, match="frozen"):
        Settings().threads = 2


def test_every_setting_is_described():
    assert all(field.description for field in Settings.model_fields.values())
