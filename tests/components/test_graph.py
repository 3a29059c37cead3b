"""Drawings of graphs: what is drawn where, in which colour, and what a click finds."""

from __future__ import annotations

import numpy as np
import pytest

from components.figures import figure, graph, graph_scores
from components.figures.graph_ink import WIDE
from components.figures.graph_marks import FAINT
from components.figures.graph_parts import key
from components.figures.matplot import draw
from components.figures.palette import LIGHT, on_scale, positive
from tests.components.graphed import explained, scaled

RING = [(i, (i + 1) % 8) for i in range(8)]


def targets(plot) -> list[list]:
    """customdata of everything that can be clicked."""
    return [list(d) for trace in plot.data if trace.meta == "targets" for d in trace.customdata]


def lines(plot) -> list:
    return [t for t in plot.data if t.mode == "lines"]


def pieces(trace) -> int:
    """Separate lines of a trace."""
    return 1 + int(np.isnan(np.array(trace.x, dtype=float)).sum())


def test_every_edge_and_node_is_drawn_once_and_can_be_clicked():
    plot = graph.figure(explained(RING, np.arange(8)))
    every, *scored = sorted(lines(plot), key=lambda t: t.line.color != LIGHT.nan_hatch)
    assert pieces(every) == 8  # The grey line below, whatever the score.
    assert sum(map(pieces, scored)) == 7  # A score of 0 has no colour.
    assert targets(plot) == [["edge", i] for i in range(8)] + [["node", i] for i in range(8)]


def test_the_strongest_edge_has_the_strongest_colour_and_width():
    plot = graph.figure(explained(RING, [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 1.0]))
    strongest = max(lines(plot), key=lambda t: t.line.width)
    assert pieces(strongest) == 1
    assert strongest.line.color == on_scale(1.0, positive(LIGHT))
    assert strongest.line.width == pytest.approx(WIDE)


def test_a_shared_limit_makes_a_weaker_method_paler():
    found = explained(RING, np.full(8, 0.5))
    own, shared = graph.figure(found), graph.figure(found, limit=2.0)
    assert max(t.line.width for t in lines(own)) > max(t.line.width for t in lines(shared))
    assert shared.layout.coloraxis.cmax == 2.0


def test_signed_scores_have_zero_in_the_middle():
    plot = graph.figure(explained(RING, [-1, 1, 0, 0, 0, 0, 0, 0], signed=True))
    assert (plot.layout.coloraxis.cmin, plot.layout.coloraxis.cmax) == (-1.0, 1.0)
    strong = [t.line.color for t in lines(plot) if t.line.width == pytest.approx(WIDE)]
    assert len(set(strong)) == 2


def test_key_part_and_rest_are_the_whole():
    found = scaled(RING, np.arange(8))
    for scale in (0, 1):
        inside = targets(graph.figure(found, shown="key", scale=scale))
        outside = targets(graph.figure(found, shown="complement", scale=scale))
        edges = [d for d in (*inside, *outside) if d[0] == "edge"]
        assert sorted(d[1] for d in edges) == list(range(8))
    assert key(found, 0).sum() == 2


def test_the_key_part_of_a_method_without_scales_is_a_share():
    found = explained(RING, np.arange(8))
    for share, count in ((0.25, 2), (0.5, 4)):
        inside = targets(graph.figure(found, shown="key", share=share))
        assert sorted(d[1] for d in inside if d[0] == "edge") == list(range(8 - count, 8))


def test_names_are_escaped_and_the_target_is_outlined():
    names = ["<b>x</b>", "Dévora", "日本"]
    found = explained([(0, 1), (1, 2)], [1, 0], node_names=names, target=1, node=1)
    plot = graph.figure(found)
    shown = next(t for t in plot.data if t.text is not None)
    assert shown.text[0].startswith("&lt;b&gt;")
    assert shown.text[2] == "日本"
    [ring] = [t for t in plot.data if t.name == "explained node"]
    assert (ring.x[0], ring.y[0]) == tuple(found.arrays["positions"][1])
    hovers = "".join(h for t in plot.data if t.hovertext is not None for h in t.hovertext)
    assert "<b>x" not in hovers
    assert "&lt;b&gt;x&lt;/b&gt; – Dévora" in hovers


def test_directions_loops_and_parallel_edges():
    found = explained([(0, 1), (1, 0), (1, 1), (1, 2), (1, 2)], [1, 2, 3, 4, 5], directed=True)
    plot = graph.figure(found)
    heads = [t for t in lines(plot) if t.fill == "toself"]
    assert sum(map(pieces, heads)) == 4  # A loop leads nowhere else.
    middles = next(t for t in plot.data if t.meta == "targets")
    places = {(round(x, 4), round(y, 4)) for x, y in zip(middles.x, middles.y, strict=True)}
    assert len(places) == 5  # Nothing lies on anything else.


def test_known_reason_is_marked():
    found = explained(RING, np.arange(8))
    found.arrays["truth"] = np.array([1, 1, 0, 0, 0, 0, 0, 0], dtype=np.uint8)
    plot = graph.figure(found)
    [track] = [t for t in plot.data if t.name == "known reason"]
    assert pieces(track) == 2
    assert track.line.color == LIGHT.gold
    assert track.showlegend
    found.arrays["truth"][:] = 0
    assert not any(t.showlegend for t in graph.figure(found).data)


def test_nodes_have_the_colours_of_their_scores():
    found = explained(RING, np.zeros(8))
    found.arrays["node_scores"][3] = 2.0
    found.arrays["scores"][3] = 2.0
    [nodes] = [t for t in graph.figure(found).data if t.mode == "markers" and not t.meta]
    assert nodes.marker.color[3] == on_scale(1.0, positive(LIGHT))
    assert set(nodes.marker.color[:3]) == {LIGHT.paper}
    assert nodes.marker.opacity == 1


def test_the_key_part_stands_out_of_the_whole():
    found = scaled(RING, np.arange(1, 9))
    plain, key_part = graph.figure(found), graph.figure(found, scale=0)
    assert all(t.opacity in (None, 1.0) for t in lines(plain))
    faint = [t for t in lines(key_part) if t.opacity == FAINT]
    assert sum(map(pieces, faint)) == 6
    assert targets(plain) == targets(key_part)
    assert key_part.layout.xaxis.range == plain.layout.xaxis.range


def test_a_picked_edge_is_marked_where_it_is_drawn():
    found = scaled(RING, np.arange(8))
    [track] = [t for t in graph.figure(found, marked=2).data if t.name == "picked"]
    ends = found.arrays["positions"][found.arrays["edges"][2]]
    np.testing.assert_allclose(np.stack([track.x, track.y], axis=1), ends)
    gone = graph.figure(found, shown="key", scale=0, marked=2)
    assert not any(t.name == "picked" for t in gone.data)


@pytest.mark.parametrize("directed", [False, True])
def test_loops_lie_within_the_drawing(directed):
    edges = [(0, 1), (1, 2), (2, 0), (0, 0), (0, 0), (0, 0), (2, 2)]
    plot = graph.figure(explained(edges, np.arange(7), directed=directed))
    for trace in lines(plot):
        for places, axis in ((trace.x, plot.layout.xaxis), (trace.y, plot.layout.yaxis)):
            assert axis.range[0] < np.nanmin(places)
            assert np.nanmax(places) < axis.range[1]


def test_among_many_a_node_that_carries_little_is_a_dot():
    edges = [(i, (i + 1) % 200) for i in range(200)]
    found = explained(edges, np.r_[np.ones(10), np.full(190, 0.01)])
    found.arrays["node_scores"][:10] = 1.0
    [nodes] = [t for t in graph.figure(found).data if t.mode == "markers" and not t.meta]
    assert set(nodes.marker.size[:10]) == {7.0}
    assert set(nodes.marker.size[10:]) == {graph.DOT}


def test_no_score_is_no_colour():
    plot = graph.figure(explained(RING, [np.nan, *[0.5] * 7]))
    assert sum(pieces(t) for t in lines(plot)) == 8 + 7
    assert "–" in next(t for t in plot.data if t.meta == "targets").hovertext[0]


def test_what_is_asked_is_said():
    said = graph.figure(explained(RING, np.ones(8), true=0)).layout.title.text
    assert "Graph 0: why yes? p = 0.75, truly no" in said
    said = graph.figure(explained(RING, np.ones(8), true=1, label=0)).layout.title.text
    assert "why no? p = 0.75; predicted yes, which is right" in said
    long = explained(RING, np.ones(8), graph_name="<b>" + "C" * 200)
    said = graph.figure(long).layout.title.text
    assert "&lt;b&gt;CCC" in said
    assert "C" * 40 not in said
    node = explained(RING, np.ones(8), task="node", node=3, target=3)
    assert "Node 3: why yes? p = 0.75" in graph.figure(node).layout.title.text


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "found",
    [
        explained([], [], nodes=3),
        explained([(0, 0)], [1.0]),
        explained(RING, np.zeros(8)),
        scaled(RING, np.arange(8)),
    ],
)
def test_odd_graphs_are_drawn_also_without_a_browser(found, theme):
    plot = figure(found, theme, "title")
    assert plot.layout.meta["title"] == "title"
    assert draw(plot, "png", (700, 450), 1.0).startswith(b"\x89PNG")


def test_one_edge_in_every_method():
    methods = [("A", explained(RING, np.arange(8))), ("B", explained(RING, -np.arange(8)))]
    plot = graph_scores.bars(methods, "edge", 7)
    assert list(plot.data[0].x) == [1.0, -1.0]
    assert list(plot.data[0].text) == ["rank 1 of 8", "rank 8 of 8"]
    assert "7 – 0" in plot.layout.title.text
