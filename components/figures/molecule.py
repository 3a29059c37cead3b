"""A molecule as chemists draw it, with the scores of its bonds behind them.

Carbon is a corner; every other atom is its symbol. Hydrogens that are no nodes of the graph, and
charges, are not known here and not drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from backend.graphs.explanation import GraphExplanation
from backend.graphs.molecules import BOND_NAMES
from components.figures import graph_marks as marks
from components.figures.graph_look import Sheet, framed, sheet
from components.figures.labels import shorten
from components.figures.palette import Theme, contrast, escape

SINGLE, DOUBLE, TRIPLE, AROMATIC = range(len(BOND_NAMES))
BOND = 46.0
"""Pixels of a bond at most: small molecules are not blown up."""
BAND = (9.0, 20.0)
"""Pixels of the highlight of the weakest and the strongest score."""
GAP = 0.14
"""Between the lines of a double bond, in bond lengths."""
LIGHT_ATOMS = {
    "N": "#1f4fc9", "O": "#c41e1e", "S": "#7d6500", "P": "#a84a00", "F": "#1b7a2f",
    "Cl": "#1b7a2f", "Br": "#8a3014", "I": "#6b1f8f", "B": "#a8505a", "Si": "#6f6135",
}  # fmt: skip
DARK_ATOMS = {
    "N": "#8fb0ff", "O": "#ff8a80", "S": "#ecd04a", "P": "#ffb066", "F": "#7ddc8e",
    "Cl": "#7ddc8e", "Br": "#f0a080", "I": "#d59cf0", "B": "#f0b0b8", "Si": "#d8c890",
}  # fmt: skip


def figure(found: GraphExplanation, theme: str = "light", title: str = "", **how: Any) -> go.Figure:
    """The molecule; arguments and clicks as of `graph.figure`.

    Raises:
        ValueError: the explanation has no bonds.
    """
    if "bonds" not in found.arrays:
        raise ValueError("this explanation is of no molecule")
    given = {"limit": None, "shown": "all", "scale": None, "share": None, "marked": None} | how
    length = bond_length(found)
    on = sheet(found, theme, unit_pixels=BOND / length if length else None, **given)
    drawn = go.Figure()
    draw(drawn, on, length)
    return framed(drawn, on, title)


def bond_length(found: GraphExplanation) -> float:
    """The length of a usual bond, in units of the positions; 0 without any."""
    at, edges = found.arrays["positions"], found.arrays["edges"]
    lengths = np.linalg.norm(at[edges[:, 0]] - at[edges[:, 1]], axis=1)
    lengths = lengths[lengths > 0]
    return float(np.median(lengths)) if len(lengths) else 0.0


def draw(drawn: go.Figure, on: Sheet, length: float, most: float = 16.0) -> None:
    """All marks of a molecule.

    Args:
        length: of a usual bond.
        most: pixels of a symbol at most.
    """
    pixels = length * on.pixels or BOND
    size = float(np.clip(0.36 * pixels, 8.0, most))
    band = tuple(min(1.0, pixels / 40) * width for width in BAND)
    lines = on.ways.lines
    marks.halo(drawn, on, lines, band[1])
    marks.levels(drawn, on, lines, on.found.arrays["scores"][on.picked.edges], (band[0], band[1]))
    _discs(drawn, on, band)
    _bonds(drawn, on, length, 0.62 * size / on.pixels)
    _symbols(drawn, on, size)
    marks.clicks(drawn, on, size)


def _discs(drawn: go.Figure, on: Sheet, band: tuple[float, ...]) -> None:
    """Round ends of the highlights, in the colours of the atoms' own scores."""
    levels = on.ink.levels(on.found.arrays["node_scores"][on.picked.nodes])
    here = np.flatnonzero(on.touched & (levels != 0))
    # The strongest last, so that it lies on top.
    here = here[np.argsort(np.abs(levels[here]), kind="stable")]
    if not len(here):
        return
    at = on.at[on.picked.nodes[here]]
    share = np.abs(levels[here]) / max(1, int(np.abs(on.ink.levels(np.array([on.ink.limit])))[0]))
    drawn.add_scatter(
        x=at[:, 0],
        y=at[:, 1],
        mode="markers",
        marker={
            "size": band[0] + (band[1] - band[0]) * share,
            "color": [on.ink.colour(int(levels[j])) for j in here],
            "opacity": 1,
            "line": {"width": 0},
        },
        hoverinfo="skip",
        showlegend=False,
    )


def _bonds(drawn: go.Figure, on: Sheet, length: float, room: float) -> None:
    """The lines of the bonds; those of a faint part in grey.

    Args:
        room: what a symbol takes away of a bond, in units.
    """
    plain: dict[tuple[bool, bool], list[np.ndarray]] = {}
    symbols = _shown(on.found)
    for j, i in enumerate(on.picked.edges.tolist()):
        u, v = on.found.arrays["edges"][i].tolist()
        faint = bool(on.faint[j])
        if u == v:
            plain.setdefault((faint, False), []).append(on.ways.lines[j])
            continue
        line = _shortened(on.ways.lines[j], room if symbols[u] else 0, room if symbols[v] else 0)
        order = int(on.found.arrays["bonds"][i])
        corners = (not symbols[u], not symbols[v])
        for piece, dashed in strokes(line, order, _side(on, u, v), GAP * length, corners):
            plain.setdefault((faint, dashed), []).append(piece)
    for (faint, dashed), lines in plain.items():
        colour = on.theme.nan_hatch if faint else on.theme.ink
        marks.line(drawn, lines, colour, 1.8, line={"dash": "3px,2px"} if dashed else {})


def strokes(
    line: np.ndarray, order: int, side: int, gap: float, corners: tuple[bool, bool]
) -> list[tuple[np.ndarray, bool]]:
    """The lines a bond is drawn with, and whether each is dashed.

    Args:
        order: SINGLE, DOUBLE, TRIPLE or AROMATIC.
        side: 1 or -1 where most neighbours are, there the second line goes; 0 for both alike.
        gap: between two lines, in units. corners: whether each end has no symbol.
    """
    if order == SINGLE or len(line) != 2:
        return [(line, False)]
    way = line[1] - line[0]
    size = float(np.linalg.norm(way))
    if not size:
        return [(line, False)]
    across = np.array([-way[1], way[0]]) / size * gap
    if order == TRIPLE:
        return [(line, False), (line + across, False), (line - across, False)]
    if order == DOUBLE and side == 0:
        return [(line + across / 2, False), (line - across / 2, False)]
    inner = line + across * (side or 1)
    # The line inside a ring is shorter, where no symbol has shortened it already.
    cut = [0.13 * size * corner for corner in corners]
    return [(line, False), (_shortened(inner, *cut), order == AROMATIC)]


def _side(on: Sheet, u: int, v: int) -> int:
    """On which side of a bond most neighbours of its ends are; 0 where one end has none."""
    edges, at = on.found.arrays["edges"], on.at.astype(np.float64)
    way, total = at[v] - at[u], 0
    for here, there in ((u, v), (v, u)):
        touching = edges[(edges == here).any(axis=1)]
        others = set(touching.ravel().tolist()) - {u, v}
        if not others and here != there and _degree(edges, here) == 1:
            return 0
        for other in others:
            step = at[other] - at[u]
            total += int(np.sign(way[0] * step[1] - way[1] * step[0]))
    return int(np.sign(total)) or 1


def _degree(edges: np.ndarray, node: int) -> int:
    return int((edges == node).any(axis=1).sum())


def _shown(found: GraphExplanation) -> list[str]:
    """The symbol of each atom; "" for a carbon that is a corner."""
    names = found.values["node_names"] or ["C"] * len(found.arrays["node_ids"])
    edges = found.arrays["edges"]
    alone = set(range(len(names))) - set(edges[edges[:, 0] != edges[:, 1]].ravel().tolist())
    return ["" if name == "C" and i not in alone else name for i, name in enumerate(names)]


def _symbols(drawn: go.Figure, on: Sheet, size: float) -> None:
    every = _shown(on.found)
    here = [int(i) for i in on.picked.nodes if every[i]]
    if not here:
        return
    levels = on.ink.levels(on.found.arrays["node_scores"])
    grounds = [on.ink.colour(int(levels[i])) if levels[i] else on.theme.paper for i in here]
    drawn.add_scatter(
        x=on.at[here, 0],
        y=on.at[here, 1],
        mode="text",
        text=[escape(shorten(every[i], 5.0)) for i in here],
        textfont={
            "size": size,
            "weight": 600,
            "color": [
                atom_colour(every[i], on.theme, ground)
                for i, ground in zip(here, grounds, strict=True)
            ],
        },
        cliponaxis=False,
        hoverinfo="skip",
        showlegend=False,
    )


def atom_colour(symbol: str, theme: Theme, ground: str) -> str:
    """The symbol's own colour where it can be read on the ground, else black or white."""
    known = LIGHT_ATOMS if theme.name == "light" else DARK_ATOMS
    colours = (known.get(symbol, theme.ink), theme.ink, theme.paper)
    return next((c for c in colours if contrast(c, ground) >= 4.5), max(
        colours, key=lambda c: contrast(c, ground)
    ))  # fmt: skip


def _shortened(line: np.ndarray, start: float, end: float) -> np.ndarray:
    """A straight line without `start` and `end` of its length; a third of it always stays."""
    if len(line) != 2 or not (start or end):
        return line
    way = line[1] - line[0]
    size = float(np.linalg.norm(way))
    if not size:
        return line
    fit = min(1.0, 0.66 * size / (start + end))
    return np.array([line[0] + way / size * start * fit, line[1] - way / size * end * fit])
