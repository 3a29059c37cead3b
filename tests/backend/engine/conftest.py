"""Engines on a small family without torch, whose workers start in a third of a second."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from backend import catalogue
from backend.engine.engine import Engine
from backend.explanation import ModelRef, Request
from backend.settings import Settings
from tests.backend.engine.fakes import FakeInput

MODEL = ModelRef(source="folder", name="small")


def make_model(folder, config='{"architecture": "fake", "layers": 2}', weights="weights"):
    """A model folder of the fake family."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(config)
    if weights is not None:
        (folder / "model.safetensors").write_text(weights)
    return folder


def install(site):
    """A folder of installed packages in which one adds the fake family."""
    info = site / "vitrine_fakes-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vitrine-fakes\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[vitrine.families]\nfakes = tests.backend.engine.fakes:FAMILY\n"
    )
    return site


@pytest.fixture
def site(tmp_path, monkeypatch):
    """The fake family, installed for this process and for its workers."""
    folder = install(tmp_path / "site")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(Path.cwd())]))
    catalogue.catalogue.cache_clear()
    catalogue.source_digest.cache_clear()
    yield folder
    catalogue.catalogue.cache_clear()
    catalogue.source_digest.cache_clear()


@pytest.fixture
def options(tmp_path, site):
    """Settings with one model folder, `small`."""
    make_model(tmp_path / "models" / "small")
    return Settings(
        store=tmp_path / "store",
        model_folders=(tmp_path / "models",),
        device="cpu",
        threads=1,
        hub="off",
        cancel_grace_s=0.5,
        job_deadline_s=30,
    )


@pytest.fixture
def engines(options):
    """Factory of engines, closed at the end: `engines(queue_limit=1)`."""
    made = []

    def make(**changes):
        made.append(Engine(options.model_copy(update=changes)))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


@pytest.fixture
def engine(engines):
    return engines()


@pytest.fixture
def ask(tmp_path):
    """Factory of requests: `ask(engine, "noise", seed=3, pause=0.1)`; all log to one file."""

    def make(
        engine, explainer="noise", *, seed=0, subject=None, text="a text", model=MODEL, **more
    ):
        return Request(
            family="fakes",
            explainer=explainer,
            model=model,
            input=engine.put_input(FakeInput(text=text), "fakes"),
            parameters={"log": str(tmp_path / "log"), **more},
            seed=seed,
            subject=subject,
        )

    return make


@pytest.fixture
def computed(tmp_path):
    """What the explainers logged so far, line by line."""

    def lines():
        log = tmp_path / "log"
        return log.read_text().splitlines() if log.exists() else []

    return lines


def until(condition, seconds=20.0):
    """Wait for something to become true."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > end:
            raise AssertionError("it did not happen in time")
        time.sleep(0.01)
    return found


def finished(job, state="done", seconds=30.0):
    """Wait for a job and check how it ended."""
    assert job.wait(seconds), f"{job.title} is still {job.state}"
    assert job.state == state, job.error
    return job
