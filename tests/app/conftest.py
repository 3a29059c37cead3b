"""The app in Streamlit's own test harness, on a fresh store and a tiny model in a folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from backend.settings import settings
from components.session import engine

ROOT = Path(__file__).parents[2]
FINISH_SECONDS = 180


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in Hugging Face layout with a tiny Llama of random weights."""
    from tests.tiny import write

    return write(tmp_path_factory.mktemp("models") / "tiny-llama")


@pytest.fixture
def fresh(
    tmp_path: Path, tiny_folder: Path, made_ready: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A store of its own, and the tiny model as the only folder a page may offer."""
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "models").symlink_to(made_ready)
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("VITRINE_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("VITRINE_MODEL_FOLDERS", str(tiny_folder))
    monkeypatch.setenv("VITRINE_DEVICE", "cpu")
    monkeypatch.setenv("VITRINE_THREADS", "1")
    monkeypatch.setenv("VITRINE_WARM", "false")
    settings.cache_clear()
    st.cache_resource.clear()
    yield tmp_path / "store"
    engine().close()
    settings.cache_clear()
    st.cache_resource.clear()


@pytest.fixture
def page(fresh: Path) -> Callable[[str], AppTest]:
    """Open a page of the app and run it once."""

    def open_page(name: str = "") -> AppTest:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
        return app.switch_page(f"pages/{name}.py").run() if name else app

    return open_page


def settle(app: AppTest, done: Callable[[AppTest], bool]) -> AppTest:
    """Run the page again, as its polling fragment would, until `done` holds."""
    end = time.monotonic() + FINISH_SECONDS
    while not done(app):
        assert time.monotonic() < end, "the page did not settle"
        assert not app.exception, app.exception
        time.sleep(0.5)
        app.run()
    return app
