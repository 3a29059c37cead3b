"""A head fitted on the page on a person's own folders of pictures, and explained."""

from __future__ import annotations

import io
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from backend.settings import settings
from tests.app.conftest import settle
from tests.app.test_images import chosen, opened, panels, results, tiny_folder
from tests.app.test_pages import press, words

pytestmark = pytest.mark.slow
__all__ = ["tiny_folder"]

Open = Callable[[str], AppTest]
COLOURS = {"crows": (30, 30, 220), "red owls": (220, 30, 30)}


def packed(colours: dict[str, tuple[int, int, int]]) -> bytes:
    """Four noisy pictures of one colour in each folder."""
    generator = np.random.default_rng(0)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for folder, colour in colours.items():
            for i in range(4):
                pixels = np.clip(generator.normal(colour, 20, (40, 40, 3)), 0, 255)
                file = io.BytesIO()
                Image.fromarray(pixels.astype(np.uint8)).save(file, "PNG")
                archive.writestr(f"{folder}/{i}.png", file.getvalue())
    return out.getvalue()


def brought(page: Open, colours: dict[str, tuple[int, int, int]] = COLOURS) -> AppTest:
    app = chosen(page, ["grad_cam"])
    app.segmented_control(key="i.source").set_value("My own").run()
    data = packed(colours)
    return app.file_uploader(key="i.files").upload("birds.zip", data, "application/zip").run()


def fitted(app: AppTest) -> AppTest:
    app.toggle(key="i.head").set_value(True).run()
    return settle(app, lambda a: "2 classes." in words(a))


def test_the_model_tells_the_folders_apart_and_a_link_brings_it_back(page: Open) -> None:
    app = fitted(brought(page))
    assert not app.exception
    assert "100%" in words(app)
    app = settle(press(app, "Explain$"), lambda a: panels(a) == 1)
    assert not app.exception
    assert opened(app).model.source == "made"
    assert len(results(app)) == 1
    assert "crows" in words(app) + str([m.label for m in app.metric])

    again = page("images")
    again.query_params["c"] = opened(app).key()
    again = settle(again.run(), lambda a: panels(a) == 1)
    assert not again.exception
    assert again.selectbox(key="i.model").value == "Head for crows, red owls"


def test_a_head_that_is_gone_is_said_and_can_be_made_again(page: Open) -> None:
    app = settle(press(fitted(brought(page)), "Explain$"), lambda a: panels(a) == 1)
    made = settings().store / "made"
    [folder] = made.iterdir()
    shutil.rmtree(folder)
    app.run()
    assert [path.name for path in made.iterdir()] == [folder.name]

    key = opened(app).key()
    shutil.rmtree(folder)
    again = page("images")
    again.query_params["c"] = key
    again.run()
    assert not again.exception
    assert "no longer kept" in words(again) + str([w.value for w in again.warning])


def test_pictures_of_one_folder_offer_no_head(page: Open) -> None:
    app = brought(page, {"crows": (30, 30, 220)})
    assert not app.exception
    assert not [t for t in app.toggle if t.key == "i.head"]


def test_without_folders_the_model_stays(page: Open, tmp_path: Path) -> None:
    app = chosen(page, ["grad_cam"])
    assert not [t for t in app.toggle if t.key == "i.head"]
