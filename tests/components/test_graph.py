"""Drawings of graphs: what is drawn where, in which colour, and what a click finds."""

from __future__ import annotations

import numpy as np
import pytest

from components.figures import figure, graph, graph_ink, graph_scores, hierarchy
from components.figures.graph_parts import drawn, key
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
    assert sum(pieces(trace) for trace in lines(plot)) == 8
    assert targets(plot) == [["edge", i] for i in range(8)] + [["node", i] for i in range(8)]


def test_the_strongest_edge_has_the_strongest_colour_and_width():
    plot = graph.figure(explained(RING, [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 1.0]))
    strongest = max(lines(plot), key=lambda t: t.line.width)
    assert pieces(strongest) == 1
    assert strongest.line.color == on_scale(1.0, positive(LIGHT))
    assert strongest.line.width == pytest.approx(graph_ink.THICK)


def test_a_shared_limit_makes_a_weaker_method_paler():
    found = explained(RING, np.full(8, 0.5))
    own, shared = graph.figure(found), graph.figure(found, limit=2.0)
    assert max(t.line.width for t in lines(own)) > max(t.line.width for t in lines(shared))
    assert shared.layout.coloraxis.cmax == 2.0


def test_signed_scores_have_zero_in_the_middle():
    plot = graph.figure(explained(RING, [-1, 1, 0, 0, 0, 0, 0, 0], signed=True))
    assert (plot.layout.coloraxis.cmin, plot.layout.coloraxis.cmax) == (-1.0, 1.0)
    strong = [t.line.color for t in lines(plot) if t.line.width == pytest.approx(graph_ink.THICK)]
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


def test_large_parts_show_the_edges_that_carry_the_mass():
    generator = np.random.default_rng(0)
    edges = generator.integers(0, 300, size=(1000, 2))
    scores = np.r_[np.ones(100), np.full(900, 1e-3)]
    found = explained(edges, scores)
    part = drawn(found)
    assert len(part.edges) == 400
    assert set(range(100)) <= set(part.edges.tolist())
    expected = (100 + 300e-3) / (100 + 900e-3)
    assert part.mass == pytest.approx(expected, abs=1e-6)
    assert "400 of 1,000 edges" in part.note
    assert "400 of 1,000 edges" in str(graph.figure(found).layout.title.text)


def test_names_are_escaped_and_the_target_is_outlined():
    names = ["<b>x</b>", "Dévora", "日本"]
    found = explained([(0, 1), (1, 2)], [1, 0], node_names=names, target=1, node=1)
    plot = graph.figure(found)
    nodes = next(t for t in plot.data if t.mode == "markers+text")
    assert nodes.text[0].startswith("&lt;b&gt;")
    assert nodes.text[2] == "日本"
    assert list(nodes.marker.line.width) == [1.0, 3.0, 1.0]
    assert "<b>" not in "".join(h for t in plot.data if t.hovertext is not None
                                for h in t.hovertext)  # fmt: skip


def test_directions_loops_and_parallel_edges():
    found = explained([(0, 1), (1, 0), (1, 1), (1, 2), (1, 2)], [1, 2, 3, 4, 5], directed=True)
    plot = graph.figure(found)
    [heads] = [t for t in lines(plot) if t.fill == "toself"]
    assert pieces(heads) == 5
    middles = next(t for t in plot.data if t.meta == "targets")
    places = {(round(x, 4), round(y, 4)) for x, y in zip(middles.x, middles.y, strict=True)}
    assert len(places) == 5  # Nothing lies on anything else.


def test_known_reason_is_marked():
    found = explained(RING, np.arange(8))
    found.arrays["truth"] = np.array([1, 1, 0, 0, 0, 0, 0, 0], dtype=np.uint8)
    plot = graph.figure(found)
    [marks] = [t for t in plot.data if t.marker.symbol == "diamond"]
    assert len(marks.x) == 2
    assert "known reason" in plot.layout.title.text


def test_a_molecule_has_symbols_and_bonds():
    found = explained(
        [(0, 1), (1, 2), (2, 3)], [0, 1, 0], molecule=True, node_names=["C", "N", "O", "C"]
    )
    found.arrays["bonds"] = np.array([0, 1, 3], dtype=np.int8)
    plot = graph.figure(found)
    atoms = next(t for t in plot.data if t.mode == "markers+text")
    assert list(atoms.text) == ["", "N", "O", ""]
    [plain] = [t for t in lines(plot) if t.line.color == LIGHT.ink and t.line.dash == "solid"]
    [dotted] = [t for t in lines(plot) if t.line.dash == "dot"]
    assert pieces(plain) == 4  # Three bonds, and the second line of the double one.
    assert pieces(dotted) == 1


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


def test_the_hierarchy_is_drawn_from_the_scales():
    found = scaled(RING, np.arange(8))
    plot = hierarchy.scales(found)
    titles = [a.text for a in plot.layout.annotations]
    assert titles == ["25% (2 edges)", "50% (4 edges)"]
    tree = hierarchy.parts(found).data[0]
    assert list(tree["values"]) == [8, 4, 2]
    assert list(tree["parents"]) == ["", "Whole graph", "Scale 2"]
    kept, lost = hierarchy.carried(found).data
    assert list(kept.y) == [0.25, 0.5]
    assert list(lost.y) == [0.25, 0.5]


def test_no_decision_to_share_out_is_said():
    found = scaled(RING, np.arange(8))
    for scale in found.values["scales"]:
        scale.update(share_kept=None, share_lost=None)
    assert "less than 1 %" in hierarchy.carried(found).layout.title.text
    hierarchy.parts(found)
