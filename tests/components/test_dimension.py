"""Effective dimension on the screen: counts by layer, and variance adding up."""

import numpy as np
import pytest

from components.figures import figure
from components.figures.dimension import plots
from tests.components.conftest import explain


@pytest.fixture
def measured():
    """Three parts, four layers, a width of 5."""
    shares = np.linspace(0.2, 1.0, 12, dtype=np.float32).reshape(3, 4)
    found = explain(
        ["a", "b"],
        [np.nan, np.nan],
        variance_share=shares,
        entropy_share=shares / 2,
        spectrum=np.tile(np.array([0.5, 0.25, 0.125, 0.125, 0.0], dtype=np.float32), (3, 4, 1)),
    )
    found.values.update(
        view="effective_dimension",
        parts=["attention output", "MLP output", "residual stream"],
        layers=[1, 4, 7, 10],
        tokens=5760,
        width=5,
        text="reference",
    )
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_plot_has_units_a_legend_and_words(measured, theme):
    drawn = plots(measured, theme)
    assert len(drawn) == 3
    for plot in drawn:
        assert "share of" in plot.figure.layout.yaxis.title.text
        assert plot.figure.layout.xaxis.title.text
        assert all(line.name for line in plot.figure.data)
        assert plot.how_to_read.endswith(".")
        assert plot.figure.layout.meta["notes"] == ["5,760 tokens, 5 dimensions, reference text"]


def test_values_stand_at_their_layers(measured):
    by_variance, by_entropy, scree = (plot.figure for plot in plots(measured))
    np.testing.assert_allclose(by_variance.data[2].y, measured.arrays["variance_share"][2])
    np.testing.assert_allclose(by_entropy.data[0].y, measured.arrays["entropy_share"][0])
    assert tuple(by_variance.data[0].x) == (1, 4, 7, 10)
    assert [line.name for line in scree.data][::3] == [
        f"attention output, layer {layer}" for layer in (1, 7, 10)
    ]
    np.testing.assert_allclose(scree.data[0].y, [0.5, 0.75, 0.875, 1.0, 1.0])
    np.testing.assert_allclose(scree.data[0].x, [0.2, 0.4, 0.6, 0.8, 1.0])


def test_the_first_plot_stands_for_the_view(measured):
    assert figure(measured).layout.meta["title"] == "Directions that hold 99 % of the variance"
