"""The curves of graphs: each line is the score's own, the band that of random rankings."""

import networkx as nx
import numpy as np
import pytest

from backend.graphs.explained import Decision, explained
from backend.graphs.explanation import GraphTarget
from backend.graphs.graph_faithfulness import GraphFaithfulness, Parameters
from components.figures import graph_curves
from tests.backend.graphs.made import graph_set
from tests.fake import FakeRun

NASTY = "<script>alert('&')</script>"


def scored(graphs=None, names=("gradient",)):
    """Scores by method, and of random rankings."""
    graphs, target = graphs or graph_set(), GraphTarget(graph=0)
    decision = Decision(graphs, target)
    found = {}
    for seed, name in enumerate(names):
        scores = np.random.default_rng(seed).normal(size=len(decision.part))
        found[name] = FakeRun(subject=explained(decision, scores))
    runs = {**found, "random": FakeRun()}
    return {
        name: GraphFaithfulness().explain(None, graphs, target, Parameters(draws=4), run)
        for name, run in runs.items()
    }


def test_lines_are_those_of_the_scores():
    found = scored(names=("gradient", "occlusion"))
    drawn = graph_curves.curves(found)
    for method in ("gradient", "occlusion"):
        lines = [trace for trace in drawn.data if trace.name == method]
        for line, order in zip(lines, ("remove", "keep"), strict=True):
            expected = found[method].arrays[f"curve/edges/{order}"]
            np.testing.assert_allclose(line.y, expected, rtol=1e-6)
            np.testing.assert_allclose(line.x, found[method].arrays["fractions"], rtol=1e-6)


def test_random_rankings_are_a_band_in_each_panel():
    found = scored()
    drawn = graph_curves.curves(found)
    bands = [trace for trace in drawn.data if trace.fill == "toself"]
    for band, order in zip(bands, ("remove", "keep"), strict=True):
        low, high = found["random"].arrays[f"spread/edges/{order}"]
        np.testing.assert_allclose(band.y, [*low, *high[::-1]], rtol=1e-6)


def test_both_panels_begin_or_end_with_the_whole_graph():
    found = scored()
    drawn = graph_curves.curves(found)
    remove, keep = (trace for trace in drawn.data if trace.name == "gradient")
    assert remove.y[0] == pytest.approx(keep.y[-1], abs=1e-6)
    assert keep.y[0] == pytest.approx(remove.y[-1], abs=1e-6)


def test_axes_and_notes_speak_of_edges():
    drawn = graph_curves.curves(scored())
    assert drawn.layout.xaxis.title.text == "share of the edges"
    assert drawn.layout.yaxis.title.text == "probability of the class"
    assert "token" not in drawn.to_json()
    assert "degrees" in drawn.layout.title.text


def test_names_are_literal():
    drawn = graph_curves.curves(scored(names=(NASTY,)))
    assert "<script" not in drawn.to_json()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_graph_without_edges_has_level_curves(theme):
    found = scored(graph_set(graphs=[nx.empty_graph(3)]))
    drawn = graph_curves.curves(found, theme)
    probability = found["gradient"].arrays["curve/edges/keep"][0]
    for line in drawn.data:
        np.testing.assert_allclose(line.y, probability, rtol=1e-6)
