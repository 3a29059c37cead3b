"""The plots of attention sinks show the measured values, with units, on both themes."""

import numpy as np
import pytest

from backend.tokens.attention_sinks import AttentionSinks
from backend.tokens.explanation import Prompt, Target
from components.figures import figure, render, sinks, views
from tests.components.conftest import explain

THEMES = pytest.mark.parametrize("theme", ["light", "dark"])
LAYERS, HEADS, ROWS = 6, 4, 30


@pytest.fixture
def measured():
    """Six layers, four heads, thirty rows; a sink "<b>" at position 0."""
    rng = np.random.default_rng(0)
    found = explain(["<b>", *(f" w{i}" for i in range(ROWS))], np.full(ROWS + 1, np.nan))
    a = np.sort(rng.random((LAYERS, 50)), axis=1)
    quadratic = np.array([25.0, -40.0, 20.0])
    sweep = np.linspace(0, 1, 101)
    arrays = {
        "received": np.append(rng.random(ROWS), np.nan),
        "rates": rng.random((LAYERS, HEADS)),
        "attention_share": np.array([0.1, 0.5, 0.6, 0.7, 0.5, 0.4]),
        "contribution_share": np.array([0.2, 0.1, 0.1, np.nan, 0.2, -0.1]),
        "negative_share": rng.random(LAYERS),
        "points/attention": a,
        "points/norm": 2 * a**2 - 3 * a + 4,
        "fit/coefficients": np.array([[2.0, -3.0, 4.0]] * 4 + [[-1.0, 0, 1]] + [[np.nan] * 3]),
        "fit/curvature": np.array([4.0, 4.0, 4.0, 4.0, -2.0, np.nan]),
        "fit/r2": np.array([1.0, 1.0, 1.0, 1.0, 0.2, np.nan]),
        "curve/attention": sweep,
        "curve/norm": np.sqrt(quadratic[0] + quadratic[1] * sweep + quadratic[2] * sweep**2),
        "curve/quadratic": quadratic,
        "curve/minimum": np.array([1.0]),
        "curve/actual": np.array([0.5]),
        "groups/confidence": np.linspace(0.1, 0.9, 10),
        "groups/entropy": np.linspace(4, 1, 10),
    }
    for name in ("opposition", "drift", "drift_without", "drift_renormalised", "update_norm"):
        arrays[f"groups/{name}"] = rng.random((LAYERS, 10))
    arrays["groups/opposition"][2, 3] = np.nan
    found.arrays.update({name: value.astype(np.float32) for name, value in arrays.items()})
    found.arrays["received"][0] = 0.51
    found.values.update(
        view="attention_sinks",
        threshold=0.3,
        sinks=[{"position": 0, "text": "<b>", "received": 0.51}],
        sink=0,
        sink_text="<b>",
        above=True,
        model_rate=0.75,
        rows=list(range(1, ROWS + 1)),
        swept={"layer": 3, "head": 1, "query": 9, "text": "\n"},
        undefined=0,
    )
    return found


def by_name(drawn):
    return {trace.name: trace for trace in drawn.data}


@THEMES
def test_every_plot_has_units_a_legend_and_a_sentence(measured, theme):
    drawn = views.plots(measured, theme)
    assert len(drawn) == 6
    for plot in drawn:
        assert plot.title
        assert plot.how_to_read.endswith(".")
        shown = plot.figure
        panels = {(t.xaxis or "x", t.yaxis or "y") for t in shown.data}
        titles = [axis.title.text for axis in (*shown.select_xaxes(), *shown.select_yaxes())]
        assert sum(title is not None for title in titles) >= len(panels) + 1
        assert any(shown.layout[f"{y[0]}axis{y[1:]}"].title.text for _, y in panels)
        named = [t.name for t in shown.data if t.showlegend]
        if shown.data[0].type != "heatmap":
            assert len(named) >= 2
            assert shown.layout.legend.orientation == "h"
        assert shown.layout.paper_bgcolor == {"light": "#ffffff", "dark": "#10161c"}[theme]
        assert "<b>" not in (shown.layout.title.text or "").replace("<br>", "")


def test_the_map_of_sink_rates(measured):
    shown = figure(measured)
    assert shown.to_json() == sinks.plots(measured, "light")[0].figure.to_json()
    (trace,) = shown.data
    np.testing.assert_array_equal(trace.z, measured.arrays["rates"])
    assert (shown.layout.coloraxis.cmin, shown.layout.coloraxis.cmax) == (0, 1)
    assert shown.layout.coloraxis.colorbar.title.text == "mean attention to the sink, 0 to 1"
    assert shown.layout.yaxis.ticktext == ("1", "2", "3", "4", "5", "6")
    assert shown.layout.yaxis.range == (-0.5, 5.5)
    assert list(trace.customdata[5][3]) == [6, 4]
    first, second = shown.layout.meta["notes"]
    assert first == "Sink: position 0 “<b>”, gets 0.51 of all attention"
    assert second == "75% of 24 heads pay it more than 0.3"
    assert "&lt;b&gt;" in shown.layout.title.text


def test_the_map_says_where_there_is_no_sink_and_where_there_are_more(measured):
    more = [{"position": p, "text": "x", "received": 0.4} for p in (0, 4, 5)]
    measured.values["sinks"] = more
    assert figure(measured).layout.meta["notes"][0].endswith("; 2 weaker sinks")
    measured.values["sinks"] = more[:2]
    assert figure(measured).layout.meta["notes"][0].endswith("; 1 weaker sink")
    measured.values.update(sinks=[], above=False)
    assert "no sink by the threshold" in figure(measured).layout.meta["notes"][0]


def test_many_layers_have_few_labels(measured):
    measured.arrays["rates"] = np.zeros((80, 64), dtype=np.float32)
    shown = figure(measured)
    assert shown.layout.yaxis.ticktext == tuple(str(i) for i in range(1, 81, 5))
    assert shown.layout.xaxis.ticktext == tuple(str(i) for i in range(1, 65, 4))
    assert shown.layout.yaxis.range == (-0.5, 79.5)


def test_shares_by_layer(measured):
    shown = sinks.plots(measured)[1].figure
    lines = by_name(shown)
    for name, array in {
        "attention": "attention_share",
        "contribution": "contribution_share",
        "pairs with a negative contribution": "negative_share",
    }.items():
        np.testing.assert_array_equal(lines[name].y, measured.arrays[array])
        assert list(lines[name].x) == [1, 2, 3, 4, 5, 6]
    assert shown.layout.meta["notes"] == ["Mean over layers: 47% of attention, 10% of contribution"]


def test_points_and_parabolas_of_four_layers(measured):
    shown = sinks.plots(measured)[2].figure
    points = [t for t in shown.data if t.mode == "markers"]
    fits = [t for t in shown.data if t.mode == "lines"]
    titles = [note.text for note in shown.layout.annotations]
    assert titles == [
        "layer 1: curvature +4",
        "layer 3: curvature +4",
        "layer 4: curvature +4",
        "layer 6: no fit",
    ]
    for trace, layer in zip(points, (0, 2, 3, 5), strict=True):
        np.testing.assert_array_equal(trace.x, measured.arrays["points/attention"][layer])
        np.testing.assert_array_equal(trace.y, measured.arrays["points/norm"][layer])
    assert len(fits) == 3
    for fit in fits:
        np.testing.assert_allclose(fit.y, 2 * fit.x**2 - 3 * fit.x + 4)
    assert [t.showlegend for t in points] == [True, False, False, False]
    assert "50 of 120 points a layer are drawn" in shown.layout.meta["notes"][1]


def test_curvature_tells_convex_from_concave(measured):
    shown = sinks.plots(measured)[3].figure
    bars = by_name(shown)
    assert (list(bars["convex"].x), list(bars["convex"].y)) == ([1, 2, 3, 4], [4, 4, 4, 4])
    assert (list(bars["concave"].x), list(bars["concave"].y)) == ([5], [-2])
    assert shown.layout.meta["notes"][0] == "Convex in 4 of 5 layers"
    assert shown.layout.meta["notes"][1].endswith("1.00")


def test_the_sweep_marks_the_real_weight_and_the_minimum(measured):
    shown = sinks.plots(measured)[4].figure
    curve, real, lowest = shown.data
    np.testing.assert_array_equal(curve.y, measured.arrays["curve/norm"])
    assert (real.name, real.x[0]) == ("real: 0.500", 0.5)
    assert real.y[0] == pytest.approx(np.sqrt(10))
    assert (lowest.name, lowest.x[0]) == ("minimum: 1.000", 1.0)
    assert lowest.y[0] == pytest.approx(np.sqrt(5))
    assert shown.layout.meta["title"] == "Layer 4, head 2, swept"
    assert shown.layout.meta["notes"][0] == "At position 9 “⏎”"


@pytest.mark.parametrize(
    ("minimum", "marks", "says"), [(1.5, 1, "outside 0 to 1"), (np.nan, 1, "No minimum")]
)
def test_a_minimum_that_is_not_there_is_not_marked(measured, minimum, marks, says):
    measured.arrays["curve/minimum"] = np.array([minimum], dtype=np.float32)
    shown = sinks.plots(measured)[4].figure
    assert len(shown.data) == 1 + marks
    assert says in shown.layout.meta["notes"][1]


def test_opposition_and_drift_are_means_over_layers(measured):
    shown = sinks.plots(measured)[5].figure
    lines = by_name(shown)
    for name, array, axis in (
        ("opposition", "opposition", "y"),
        ("drift as it is", "drift", "y2"),
        ("without the sink", "drift_without", "y2"),
        ("without it, renormalised", "drift_renormalised", "y2"),
        ("update length", "update_norm", "y3"),
    ):
        expected = np.nanmean(measured.arrays[f"groups/{array}"].astype(float), axis=0)
        np.testing.assert_allclose(lines[name].y, expected, rtol=1e-6)
        assert (lines[name].yaxis or "y") == axis
    assert shown.layout.xaxis3.title.text == "confidence decile, 1 is least sure"
    assert "0.10 in the first, 0.90 in the last" in shown.layout.meta["notes"][1]


def test_what_holds_no_sink_is_refused(measured):
    del measured.arrays["curve/norm"]
    with pytest.raises(ValueError, match="curve/norm is missing"):
        sinks.plots(measured)
    with pytest.raises(ValueError, match="theme"):
        sinks.plots(measured, "sepia")


@pytest.mark.parametrize("architecture", ["llama", "gemma2"])
def test_what_a_model_gives_is_drawn_and_exported(tiny, fake_run, architecture):
    prompt, target = Prompt.of("The capital of France is <b> 👩‍👩‍👧"), Target(ids=(20, 21))
    chosen = AttentionSinks.Parameters()
    found = AttentionSinks().explain(tiny(architecture), prompt, target, chosen, fake_run)
    drawn = views.plots(found, "dark")
    np.testing.assert_array_equal(drawn[0].figure.data[0].z, found.arrays["rates"])
    for plot in drawn:
        picture = render.render(plot.figure, "png", via="matplotlib", scale=1.0)
        assert picture.startswith(b"\x89PNG")
    assert render.render(drawn[0].figure, "svg", via="matplotlib").startswith(b"<?xml")


def test_two_tokens_are_enough(tiny, fake_run):
    target = Target(ids=(20,))
    chosen = AttentionSinks.Parameters()
    found = AttentionSinks().explain(tiny("llama"), Prompt.of("a"), target, chosen, fake_run)
    assert found.values["rows"] == [1]
    drawn = views.plots(found)
    assert drawn[5].figure.layout.xaxis3.title.text == "group by confidence, 1 is least sure"
    assert len(drawn) == 6
