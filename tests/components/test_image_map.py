"""Maps over pictures, checked by hand on two by two pixels; curves are the score's own."""

from __future__ import annotations

import base64
import dataclasses
import io

import numpy as np
import pytest
from PIL import Image

from backend.images.explanation import ImageExplanation
from components.figures import image_curves, image_map
from components.figures.image_map import VIEWS, composed, figure, shown, table
from components.figures.palette import DARK, LIGHT, diverging, positive
from components.figures.render import render

NASTY = "<script>alert('&')</script>"
SEEN = np.array([[[0, 0, 0], [255, 255, 255]], [[30, 60, 90], [200, 100, 0]]], dtype=np.uint8)
SCORES = np.array([[0.0, 1.0], [2.0, 4.0]], dtype=np.float32)


def explanation(scores=SCORES, seen=None, *, signed=False, **values) -> ImageExplanation:
    scores = np.asarray(scores, dtype=np.float32)
    if seen is None:
        seen = SEEN if scores.shape == (2, 2) else np.full((*scores.shape, 3), 128, np.uint8)
    return ImageExplanation(
        arrays={"scores": scores, "seen": seen},
        values={
            "kind": "map", "picture": "cat.png", "label": 1, "predicted": 1, "probability": 0.253,
            "class_names": {"1": "cat", "2": "dog"}, **values,
        },
        unit="logit",
        signed=signed,
    )  # fmt: skip


def drawn(plot) -> np.ndarray:
    """The pixels of a figure's picture."""
    data = base64.b64decode(plot.data[0].source.partition(",")[2])
    return np.asarray(Image.open(io.BytesIO(data)))


def pixels(view, scores=SCORES, *, signed=False, look=LIGHT) -> np.ndarray:
    found = explanation(scores, signed=signed)
    values, ends, _ = shown(found, False)
    scale = diverging(look) if signed else positive(look)
    return composed(found, view, values, ends, scale, look)


def test_the_map_alone_runs_along_the_scale() -> None:
    found = explanation()
    got = composed(found, "map", SCORES.astype(float), (0.0, 4.0), positive(LIGHT), LIGHT)
    # Quarters of the scale are its own colours.
    stops = [(246, 246, 244), (252, 227, 200), (247, 182, 114), (180, 86, 10)]
    assert got.shape == (2, 2, 3)
    assert np.abs(got.reshape(4, 3).astype(int) - stops).max() <= 1
    assert tuple(got[0, 0]) == stops[0]
    assert tuple(got[1, 1]) == stops[3]


def test_the_overlay_mixes_colour_and_a_fainter_picture_by_hand() -> None:
    found = explanation()
    got = composed(found, "overlay", SCORES.astype(float), (0.0, 4.0), positive(LIGHT), LIGHT)
    assert tuple(got[0, 0]) == (0, 0, 0)  # No score, so nothing lies over the picture.
    # The last pixel: ground 0.35 picture + 0.65 grey (100), 85 % of the strongest colour over it.
    ground = 0.35 * np.array([200, 100, 0]) + 65
    expected = 0.15 * ground + 0.85 * np.array([180, 86, 10])
    assert np.abs(got[1, 1] - expected).max() <= 0.5
    # The second: a quarter of the scale, so 85 % of its root lies over white.
    expected = 0.575 * 255 + 0.425 * np.array([252, 227, 200])
    assert np.abs(got[0, 1] - expected).max() <= 1


def test_of_signed_maps_both_ends_are_strong_and_zero_is_clear() -> None:
    scores = np.array([[-4.0, 0.0], [0.0, 4.0]])
    got = composed(
        explanation(scores, signed=True), "overlay", scores, (-4.0, 4.0), diverging(LIGHT), LIGHT
    )
    assert np.abs(got[0, 1].astype(int) - 255).max() <= 2
    assert np.abs(got[0, 0] - 0.85 * np.array([28, 95, 158])).max() <= 1
    only = composed(explanation(scores), "map", scores, (-4.0, 4.0), diverging(LIGHT), LIGHT)
    assert tuple(only[0, 0]) == (28, 95, 158)
    assert tuple(only[1, 1]) == (180, 86, 10)


def test_the_picture_alone_is_what_the_model_saw() -> None:
    assert np.array_equal(pixels("picture"), SEEN)
    assert np.array_equal(drawn(figure(explanation(), view="picture")), SEEN)


def test_contours_go_round_the_highest_pixels() -> None:
    rows, columns = np.mgrid[:100, :100]
    scores = np.exp(-((rows - 30.0) ** 2 + (columns - 60.0) ** 2) / 400)
    got = pixels("contour", scores)
    ink = table(positive(LIGHT))[-1]
    edge = (got == ink).all(axis=2)
    away = np.hypot(rows - 30, columns - 60)
    # Five and twenty per cent of the pixels are discs of these radii.
    radii = np.sqrt(np.array([0.05, 0.2]) * 10_000 / np.pi)
    near = np.abs(away[edge][:, None] - radii).min(axis=1)
    assert near.max() < 4
    for radius in radii:
        assert (np.abs(away[edge] - radius) < 4).sum() > radius
    assert (got[~edge & (np.abs(away - radii[0]) > 6) & (np.abs(away - radii[1]) > 6)] == 128).all()


def test_a_flat_map_has_no_contours() -> None:
    got = pixels("contour", np.zeros((2, 2)))
    assert np.array_equal(got, np.round(0.75 * SEEN + 0.25 * SEEN.mean(axis=2, keepdims=True)))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("by_rank", [False, True])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_map_of_zeros_is_drawn_without_a_nan(view, signed, by_rank) -> None:
    found = explanation(np.zeros((4, 6)), signed=signed)
    values, ends, _ = shown(found, by_rank)
    assert np.isfinite(values).all()
    assert np.isfinite(ends).all()
    assert ends[0] < ends[1]
    assert drawn(figure(found, view=view, by_rank=by_rank)).shape == (4, 6, 3)
    if view == "overlay" and not by_rank:
        assert (drawn(figure(found, view=view)) == 128).all()


def test_colours_end_at_the_percentile_of_the_scores() -> None:
    scores = np.arange(1001, dtype=float).reshape(7, 143)
    values, ends, unit = shown(explanation(scores), False)
    assert np.array_equal(values, scores)
    assert ends == (0.0, 995.0)
    assert unit == "logit"
    assert shown(explanation(scores, signed=True), False)[1] == (-995.0, 995.0)
    assert shown(explanation(scores - 2000, signed=True), False)[1] == (-1995.0, 1995.0)
    assert shown(explanation(scores + 500), False)[1] == (500.0, 1495.0)
    # One pixel alone is above all percentiles.
    one = np.zeros((30, 30))
    one[3, 3] = 7.0
    assert shown(explanation(one), False)[1] == (0.0, 7.0)
    assert shown(explanation(one, signed=True), False)[1] == (-7.0, 7.0)


def test_ranks_end_at_0_and_1_whatever_the_scores() -> None:
    for scores in (SCORES, -SCORES, SCORES**5 - 100):
        for signed in (False, True):
            values, ends, unit = shown(explanation(scores, signed=signed), True)
            assert (ends, unit) == ((0.0, 1.0), "rank of the pixel")
            assert (values.min(), values.max()) == (0.0, 1.0)
    values, _, _ = shown(explanation(), True)
    assert values.ravel() == pytest.approx([0, 1 / 3, 2 / 3, 1])
    bar = figure(explanation(), by_rank=True).layout.coloraxis
    assert (bar.cmin, bar.cmax, bar.colorbar.title.text) == (0.0, 1.0, "rank of the pixel")


@pytest.mark.parametrize("look", [LIGHT, DARK])
def test_the_bar_is_the_scale_of_the_picture(look) -> None:
    for signed, low, scale in ((False, 0.0, positive(look)), (True, -1.0, diverging(look))):
        scores = np.linspace(0, 1, 4).reshape(2, 2)
        plot = figure(explanation(scores, signed=signed), look.name, view="map")
        bar = plot.layout.coloraxis
        assert bar.cmin == pytest.approx(low, abs=0.02)
        assert [tuple(stop) for stop in bar.colorscale] == [tuple(stop) for stop in scale]
        top = tuple(int(scale[-1][1][k : k + 2], 16) for k in (1, 3, 5))
        assert tuple(drawn(plot)[1, 1]) == top


def test_the_figure_keeps_the_picture_s_shape_and_says_what_is_explained() -> None:
    wide, tall = (figure(explanation(np.ones(shape))) for shape in ((20, 40), (40, 20)))
    assert tall.layout.height - wide.layout.height == 460 * 2 - 460 / 2
    assert wide.layout.yaxis.scaleanchor == "x"
    assert tuple(wide.layout.yaxis.range) == (19.5, -0.5)
    assert image_map.notes(explanation()) == ["cat.png: why cat? p = 0.25"]
    said = image_map.notes(explanation(label=2))
    assert said == ["cat.png: why dog? p = 0.25; predicted cat"]


def test_names_are_text() -> None:
    found = explanation(picture=NASTY, class_names={"1": NASTY})
    plot = figure(found, title=NASTY)
    assert "<script" not in plot.layout.title.text
    page = render(plot, "html").decode()
    assert page.count("<script>alert") == 0


@pytest.mark.parametrize("view", VIEWS)
def test_pictures_are_drawn_without_a_browser(view) -> None:
    scores = np.zeros((40, 60))
    scores[5:15, 5:15] = 1
    seen = np.zeros((40, 60, 3), dtype=np.uint8)
    seen[20:] = (0, 0, 255)
    plot = figure(explanation(scores, seen), view=view)
    data = render(plot, "png", via="matplotlib", width=500, scale=1)
    got = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)
    for color in np.unique(drawn(plot).reshape(-1, 3), axis=0)[:2]:
        assert (np.abs(got - color).max(axis=2) <= 2).mean() > 0.003, f"{color} is not drawn"
    if view == "picture":
        blue = (np.abs(got - (0, 0, 255)).max(axis=2) <= 2).any(axis=1)
        black = (got.max(axis=2) <= 2).mean(axis=1) > 0.3
        assert np.flatnonzero(black).mean() < np.flatnonzero(blue).mean(), "the first row is on top"
    for kind, start in (("svg", b"<?xml"), ("pdf", b"%PDF")):
        assert render(plot, kind, via="matplotlib").startswith(start)


def scored(level: float) -> ImageExplanation:
    return ImageExplanation(
        arrays={
            "fractions": np.linspace(0, 1, 5),
            "curve/pixels/deletion": np.linspace(level, 0, 5),
            "curve/pixels/insertion": np.linspace(0, level, 5) ** 2,
        },
        values={"kind": "score"},
    )


def test_curves_are_the_score_s_own_and_random_is_muted() -> None:
    found = {"Grad-CAM": scored(0.9), "random": scored(0.5)}
    plot = image_curves.curves(found)
    for name, one in found.items():
        lines = [trace for trace in plot.data if trace.name == name]
        assert len(lines) == 2
        for line, kind in zip(lines, ("deletion", "insertion"), strict=True):
            np.testing.assert_allclose(line.x, one.arrays["fractions"])
            np.testing.assert_allclose(line.y, one.arrays[f"curve/pixels/{kind}"])
    first, last = ({t.line.color for t in plot.data if t.name == name} for name in found)
    assert len(first) == len(last) == 1
    assert first != last
    assert "only the order of the methods counts" in plot.layout.meta["notes"][0]


def test_how_far_methods_are_apart_is_drawn_as_a_map() -> None:
    plot = figure(dataclasses.replace(explanation(), unit="rank spread"))
    assert plot.layout.coloraxis.colorbar.title.text == "rank spread"
