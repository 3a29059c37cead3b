"""Molecules as chemists draw them."""

from __future__ import annotations

import numpy as np
import pytest

from components.figures import figure, graph, molecule, render
from components.figures.palette import DARK, LIGHT, contrast, on_scale, positive
from tests.components.graphed import explained
from tests.components.test_graph import lines, pieces, targets

RING = [(i, (i + 1) % 6) for i in range(6)]


def made(edges, bonds, names, scores=None, at=None):
    found = explained(
        edges, np.zeros(len(edges)) if scores is None else scores, molecule=True,
        node_names=list(names), nodes=len(names),
    )  # fmt: skip
    found.arrays["bonds"] = np.array(bonds, dtype=np.int8)
    if at is not None:
        found.arrays["positions"] = np.array(at, dtype=np.float32)
    return found


def strokes(plot, dashed=False):
    """How many bond lines are drawn."""
    here = [t for t in lines(plot) if t.line.color == LIGHT.ink and bool(t.line.dash) == dashed]
    return sum(map(pieces, here))


def test_heteroatoms_have_symbols_and_carbon_is_a_corner():
    found = made([(0, 1), (1, 2), (2, 3)], [0, 1, 3], ["C", "N", "O", "C"])
    plot = figure(found)
    [atoms] = [t for t in plot.data if t.mode == "text"]
    assert list(atoms.text) == ["N", "O"]
    assert list(atoms.textfont.color) == [molecule.LIGHT_ATOMS["N"], molecule.LIGHT_ATOMS["O"]]
    assert strokes(plot) == 4  # Three bonds, and the second line of the double one.
    assert strokes(plot, dashed=True) == 1


def test_an_atom_alone_has_its_symbol():
    plot = graph.figure(made([(0, 1)], [0], ["C", "C", "Na", "C"]))
    [atoms] = [t for t in plot.data if t.mode == "text"]
    assert list(atoms.text) == ["Na", "C"]


@pytest.mark.parametrize(("order", "count"), [(0, 1), (1, 2), (2, 3)])
def test_the_order_of_a_bond_is_its_lines(order, count):
    assert strokes(graph.figure(made([(0, 1)], [order], "CC"))) == count


@pytest.mark.parametrize("edges", [RING, [(v, u) for u, v in RING]])
def test_the_second_line_of_a_ring_is_inside(edges):
    plot = graph.figure(made(edges, [3] * 6, "CCCCCC"))
    [inner] = [t for t in lines(plot) if t.line.dash]
    radius = np.hypot(np.array(inner.x), np.array(inner.y))
    assert np.nanmax(radius) < 0.95
    assert pieces(inner) == 6


def test_a_double_bond_at_an_end_is_even():
    at = [(0, 0), (1, 0), (1.5, 0.9)]
    plot = graph.figure(made([(0, 1), (1, 2)], [1, 0], "OCC", at=at))
    [drawn] = [t for t in lines(plot) if t.line.color == LIGHT.ink]
    y = np.array(drawn.y)[:4]
    assert y[0] == pytest.approx(-y[3])
    assert y[0] != 0


def test_scores_lie_behind_the_bonds():
    plot = graph.figure(made(RING, [0] * 6, "CCCCCC", [0, 0, 0, 1, 0, 0]))
    order = [t.line.color for t in lines(plot)]
    strongest = on_scale(1.0, positive(LIGHT))
    assert order.index(strongest) < order.index(LIGHT.ink)
    assert targets(plot) == [["edge", i] for i in range(6)] + [["node", i] for i in range(6)]


def test_a_small_molecule_is_not_blown_up():
    plot = graph.figure(made([(0, 1)], [0], "CO", at=[(-1, 0), (1, 0)]))
    assert np.ptp(plot.layout.xaxis.range) > 4 * 2
    assert plot.layout.height < 360


def test_symbols_can_be_read_on_every_ground():
    for look, known in ((LIGHT, molecule.LIGHT_ATOMS), (DARK, molecule.DARK_ATOMS)):
        for symbol in (*known, "Xe"):
            for place in np.linspace(0, 1, 9):
                ground = on_scale(float(place), positive(look))
                assert contrast(molecule.atom_colour(symbol, look, ground), ground) >= 3
            on_paper = molecule.atom_colour(symbol, look, look.paper)
            assert on_paper == known.get(symbol, look.ink)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "found",
    [
        made([], [], "C"),
        made([(0, 1)], [2], "CN", [1.0], at=[(0, 0), (0, 0)]),
        made([(0, 1), (0, 1), (1, 1)], [0, 1, 0], ["C", "<i>"], [1, 2, 3]),
    ],
)
def test_odd_molecules_are_drawn(found, theme):
    plot = graph.figure(found, theme)
    assert "<i>" not in "".join(str(t.text) for t in plot.data)
    assert render.render(plot, "png", via="matplotlib", scale=1.0).startswith(b"\x89PNG")


def test_what_is_no_molecule_is_refused():
    with pytest.raises(ValueError, match="no molecule"):
        molecule.figure(explained(RING, np.zeros(6)))
