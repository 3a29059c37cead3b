"""The plots of a sink's origin show the numbers they are given, in words, units and both themes."""

import numpy as np
import pytest

from components.figures import figure, lines, origin, render, views
from tests.components.conftest import explain

LAYERS, HEADS, TOKENS, NEURONS, WIDTH = 3, 2, 5, 6, 12
SINK = 1


@pytest.fixture
def found():
    """Five tokens, the sink at position 1; neuron 4 of layer 2 writes dimension 7."""
    rng = np.random.default_rng(0)
    depths = LAYERS + 1
    arrays = {
        "received": rng.random(TOKENS),
        "attention_sink": np.array([[0.1, 0.3], [0.4, 0.8], [0.5, 0.6]]),
        "attention_others": np.array([0.05, 0.04, 0.03]),
        "spread_in": np.arange(1.0, 1 + LAYERS * TOKENS).reshape(LAYERS, TOKENS),
        "spread_out": np.full((LAYERS, TOKENS), 2.0),
        "norm": np.tile([1.0, 100.0, 3.0, 2.0, 2.0], (depths, 1)),
        "dominance": np.tile([2.0, 50.0, 4.0, 2.0, 4.0], (depths, 1)) * [[1], [1], [2], [1]],
        "dimension": np.array([3, 3, 7, 7]),
        "locking_sink": np.array([[0.1, -0.2], [0.9, 0.5], [0.8, 0.6]]),
        "locking_others": np.full((LAYERS, HEADS), 0.05),
        "locking_positive": np.full((LAYERS, HEADS), 0.75),
        "rank": np.array([4.0, 1.2, 2.0]),
        "neuron_ratio": np.array([3.0, 500.0, 9.0]),
        "neuron_of_layer": np.array([0, 4, 5]),
        "neurons": np.array([4, 2]),
        "neuron_ratios": np.array([500.0, 8.0]),
        "neuron_activation": np.array([[0.0, -80.0, 0.1, 0.2, 0.1], [1.0, 5.0, 1.0, 1.0, 2.0]]),
        "neuron_columns": np.eye(2, WIDTH, 6) * [[0.1], [0.1]] + np.eye(1, WIDTH, 7) * [[6], [0]],
        "column_kurtosis": np.array([3.0, 3.1, 2.9, 3.2, 9.5, 3.3]),
        "up_norm": np.array([1.0, 2.0, 3.0, 4.0, 9.0, 5.0]),
        "gate_norm": np.array([1.5, 2.5, 3.5, 4.5, 8.5, 5.5]),
        "read_cosine": np.array([[0.1, 0.9, 0.0, 0.1, 0.2], [0.3, 0.2, 0.3, 0.2, 0.3]]),
        "up_value": np.ones((2, TOKENS)),
    }
    made = explain(["a", "<b>", " c", " d", " e"], np.full(TOKENS, np.nan), **arrays)
    made.values.update(
        view="sink_origin",
        sink=SINK,
        sink_text="<b>",
        onset=1,
        rows=TOKENS,
        missing_mlp=[],
        rank_rows=TOKENS,
        width=WIDTH,
        neuron_layer=1,
        gated=True,
        dimensions=[7, 6, 0, 1, 2, 3, 4, 5, 8, 9],
    )
    return made


def by_title(found, theme="light"):
    return {plot.title: plot for plot in views.plots(found, theme)}


def line(plot, name, panel=0):
    """The y values of the line of this name, of the n-th panel that has it."""
    named = [trace for trace in plot.figure.data if trace.name == name]
    return np.asarray(named[panel].y, dtype=float)


def test_attention_and_norms_of_the_sink_beside_the_others(found):
    plot = by_title(found)["Sink onset"]
    np.testing.assert_allclose(line(plot, "the sink"), [0.2, 0.6, 0.55], rtol=1e-6)
    np.testing.assert_allclose(line(plot, "mean of the others"), [0.05, 0.04, 0.03], rtol=1e-6)
    np.testing.assert_allclose(line(plot, "the sink", 1), [100.0] * 4)
    np.testing.assert_allclose(line(plot, "mean of the others", 1), [2.0] * 4)
    assert "position 1, “&lt;b&gt;”" in plot.figure.layout.title.text
    assert [s.x0 for s in plot.figure.layout.shapes] == [2]
    assert "onset: layer 2" in [a.text for a in plot.figure.layout.annotations]
    assert plot.figure.layout.yaxis2.type == "log"


def test_variance_is_a_ratio_to_the_others(found):
    plot = by_title(found)["Variance at the sink"]
    others = [np.mean([1, 3, 4, 5]), np.mean([6, 8, 9, 10]), np.mean([11, 13, 14, 15])]
    expected = np.array([2.0, 7.0, 12.0]) / others
    np.testing.assert_allclose(line(plot, "projection input"), expected, rtol=1e-6)
    np.testing.assert_allclose(line(plot, "projection output"), 1.0)
    spread = by_title(found)["Variance by position"]
    np.testing.assert_allclose(line(spread, "layer 2"), [6, 7, 8, 9, 10])


def test_neurons_their_activation_rows_and_columns(found):
    plots = by_title(found)
    np.testing.assert_allclose(line(plots["Super neurons"], "most selective neuron"), [3, 500, 9])
    assert "layer 2, neuron 4: 500 ×" in plots["Super neurons"].figure.data[0].customdata
    fired = line(plots["Selective activation"], "neuron 4")
    np.testing.assert_allclose(fired, [np.nan, 80.0, 0.1, 0.2, 0.1], rtol=1e-6)
    cosine = line(plots["Selective activation"], "neuron 2", 1)
    np.testing.assert_allclose(cosine, [0.3, 0.2, 0.3, 0.2, 0.3], rtol=1e-6)
    rows = plots["Lengths of the neurons' rows"]
    np.testing.assert_allclose(line(rows, "all neurons"), [8.5, 5.5, 4.5, 3.5, 2.5, 1.5])
    marks = [trace for trace in rows.figure.data if trace.name == "most selective"]
    assert [list(trace.x) for trace in marks] == [[1, 4], [1, 4]]
    assert marks[1].customdata[0] == "neuron 4: 9, rank 1 of 6"
    column = line(plots["Channelling"], "neuron 4")
    np.testing.assert_allclose(column, [6.0, 0.1] + [0.0] * 10, rtol=1e-6)
    title = plots["Channelling"].figure.layout.title.text
    assert "column: 10; median of the" in title.replace("<br>", " ")
    bars = plots["Where the super neuron writes"].figure
    assert list(bars.layout.xaxis.ticktext)[:2] == ["7", "6"]
    assert list(bars.data[0].y)[:2] == pytest.approx([6.0, 0.1])


def test_dominance_locking_and_rank(found):
    plots = by_title(found)
    np.testing.assert_allclose(line(plots["Dimension disparity"], "the sink"), [50, 50, 100, 50])
    others = line(plots["Dimension disparity"], "mean of the others")
    np.testing.assert_allclose(others, [3, 3, 6, 3])
    assert (
        "after layer 2: 100, dimension 7" in plots["Dimension disparity"].figure.layout.title.text
    )
    locked = line(plots["Queries and the sink's key"], "the sink")
    np.testing.assert_allclose(locked, [-0.05, 0.7, 0.7], atol=1e-6)
    heads = plots["Queries and the sink's key, by head"].figure
    np.testing.assert_allclose(heads.data[0].z, found.arrays["locking_sink"], rtol=1e-6)
    assert (heads.layout.coloraxis.cmin, heads.layout.coloraxis.cmax) == pytest.approx((-0.9, 0.9))
    np.testing.assert_allclose(line(plots["Effective rank"], "effective rank"), [4, 1.2, 2])
    assert "At most 5: 5 rows of 12" in plots["Effective rank"].figure.layout.title.text


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_plot_has_units_a_legend_and_how_to_read(found, theme):
    for plot in views.plots(found, theme):
        assert plot.how_to_read.endswith(".")
        assert plot.figure.layout.meta["title"] == plot.title
        for axis in (*plot.figure.select_xaxes(), *plot.figure.select_yaxes()):
            assert axis.title.text, plot.title
        legend = any(trace.showlegend for trace in plot.figure.data)
        assert legend or plot.figure.layout.coloraxis.colorbar.title.text
    assert figure(found, theme).to_json() == views.plots(found, theme)[0].figure.to_json()


def test_without_an_mlp_its_plots_are_left_out(found):
    for name in [n for n in found.arrays if n.startswith(("neurons", "neuron_a", "neuron_c"))]:
        del found.arrays[name]
    titles = [plot.title for plot in views.plots(found)]
    assert "Super neurons" not in titles
    assert len(titles) == 7


def test_an_explanation_of_another_kind(capital):
    with pytest.raises(ValueError, match="does not hold the origin"):
        origin.plots(capital)


def test_drawn_without_a_browser(found):
    for plot in views.plots(found):
        drawn = render.render(plot.figure, "png", via="matplotlib", width=600)
        assert drawn.startswith(b"\x89PNG")


def test_many_points_are_thinned_evenly_or_by_rank():
    assert lines.thinned(5, 10).tolist() == [0, 1, 2, 3, 4]
    some = lines.thinned(1001, 11)
    assert some.tolist() == list(range(0, 1001, 100))
    ranks = lines.thinned(10_000, 60, log=True)
    assert ranks[0] == 0
    assert ranks[:3].tolist() == [0, 1, 2]
    assert ranks[-1] == 9_999
    assert len(ranks) <= 60
    places, names = lines.layer_ticks(30, depths=True)
    assert names[0] == "input"
    assert places[-1] == 30
    assert lines.layer_ticks(3) == ((1.0, 2.0, 3.0), ("1", "2", "3"))
