"""Bars and outlines in pictures that are drawn without a browser: where the figure has them."""

from __future__ import annotations

import io

import numpy as np
import plotly.graph_objects as go
import pytest
from PIL import Image

from components.figures import render

RED, BLUE = "#ff0000", "#0000ff"


def picture(figure):
    figure.update_layout(width=400, height=300, margin={s: 20 for s in "lrtb"}, showlegend=False)
    data = render.render(figure, "png", via="matplotlib", scale=1.0)
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)


def places(pixels, colour):
    """(rows, columns) of all pixels of a colour."""
    wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return np.nonzero((np.abs(pixels - wanted) <= 3).all(axis=-1))


def two(mode, **orient):
    at, long = ("y", "x") if orient else ("x", "y")
    bars = [
        go.Bar({at: [0, 1], long: values, "marker": {"color": colour}, **orient})
        for values, colour in (([1.0, 2.0], RED), ([1.0, 2.0], BLUE))
    ]
    return go.Figure(bars, {"barmode": mode, f"{long}axis": {"range": [0, 4.2]}})


def test_grouped_bars_stand_side_by_side():
    pixels = picture(two("group"))
    red, blue = places(pixels, RED), places(pixels, BLUE)
    assert len(red[0]) == pytest.approx(len(blue[0]), rel=0.05)
    assert red[0].max() == blue[0].max()
    assert red[1].min() < blue[1].min()


@pytest.mark.parametrize("orient", [{}, {"orientation": "h"}])
def test_stacked_bars_stand_on_each_other(orient):
    pixels = picture(two("stack", **orient))
    red, blue = places(pixels, RED), places(pixels, BLUE)
    assert len(red[0]) == pytest.approx(len(blue[0]), rel=0.05)
    if orient:
        assert red[1].max() < blue[1].max()
        assert red[1].min() < blue[1].min()
    else:
        assert red[0].max() > blue[0].max()
    across = 0 if orient else 1
    assert red[across].min() == pytest.approx(blue[across].min(), abs=1)


def test_a_bar_without_a_value_is_no_bar():
    figure = go.Figure(go.Bar(x=["a", "b"], y=[None, 1.0], marker={"color": RED}))
    columns = places(picture(figure), RED)[1]
    assert columns.min() > 200


def test_outlines_of_one_trace_stay_apart():
    nan = np.nan
    figure = go.Figure(
        go.Scatter(
            x=[0, 1, 1, 0, nan, 3, 4, 4, 3],
            y=[0, 0, 1, 1, nan, 0, 0, 1, 1],
            mode="lines",
            fill="toself",
            fillcolor=RED,
            line={"width": 0},
        ),
        {"xaxis": {"range": [-1, 5]}, "yaxis": {"range": [-1, 2]}},
    )
    columns = np.unique(places(picture(figure), RED)[1])
    assert (np.diff(columns) > 20).sum() == 1


def test_a_unit_is_as_long_in_both_directions():
    figure = go.Figure(
        go.Scatter(
            x=[0, 1, 1, 0], y=[0, 0, 1, 1], mode="lines", fill="toself", fillcolor=RED,
            line={"width": 0},
        ),
        {"xaxis": {"range": [-2, 3]}, "yaxis": {"range": [0, 1], "scaleanchor": "x"}},
    )  # fmt: skip
    rows, columns = places(picture(figure), RED)
    assert np.ptp(rows) == pytest.approx(np.ptp(columns), abs=2)
