"""Bonds and atoms as chemists draw them."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from backend.graphs.explanation import GraphExplanation
from backend.graphs.molecules import BOND_NAMES

ATOMS = {
    "light": {
        "N": "#2447b2", "O": "#c0271a", "S": "#8a6a00", "P": "#b35900", "F": "#2c7a2c",
        "Cl": "#1f7a1f", "Br": "#8c3a1a", "I": "#6b2a8c",
    },
    "dark": {
        "N": "#8fb0ff", "O": "#ff8a7a", "S": "#e8c64a", "P": "#ffb266", "F": "#7fd67f",
        "Cl": "#6fd06f", "Br": "#e59b7a", "I": "#cfa0ef",
    },
}  # fmt: skip
"""Colours of the symbols, by theme."""
GAP = 0.075
"""Between the lines of a multiple bond, in lengths of a typical bond."""
SHORT = 0.12
"""What a second line is shorter at each end, as a share of its bond."""


def bond_lines(found: GraphExplanation, edges: np.ndarray) -> dict[str, list[np.ndarray]]:
    """The lines of bonds, "plain" or "aromatic" (the dotted second line of one).

    Args:
        edges: [count] numbers of edges within the part.
    """
    at = found.arrays["positions"].astype(np.float64)
    ends = found.arrays["edges"]
    lengths = [float(np.linalg.norm(at[u] - at[v])) for u, v in ends[edges]]
    apart = GAP * (float(np.median(lengths)) if lengths else 1.0)
    centres = _sides(at, ends)
    lines: dict[str, list[np.ndarray]] = defaultdict(list)
    for i in edges.tolist():
        u, v = ends[i]
        kind = BOND_NAMES[int(found.arrays["bonds"][i])]
        start, end = at[u], at[v]
        way = end - start
        across = np.array([-way[1], way[0]]) / max(float(np.linalg.norm(way)), 1e-9)
        inner = across if np.dot(across, centres[i] - (start + end) / 2) >= 0 else -across
        shorter = np.array([start + SHORT * way, end - SHORT * way])
        lines["plain"].append(np.array([start, end]))
        if kind == "double":
            lines["plain"].append(shorter + 1.8 * apart * inner)
        elif kind == "triple":
            lines["plain"] += [shorter + 1.5 * apart * side for side in (across, -across)]
        elif kind == "aromatic":
            lines["aromatic"].append(shorter + 1.8 * apart * inner)
    return dict(lines)


def _sides(at: np.ndarray, ends: np.ndarray) -> dict[int, np.ndarray]:
    """For each bond, the middle of the atoms around it: the second line is drawn on that side."""
    near: dict[int, set[int]] = defaultdict(set)
    for u, v in ends.tolist():
        near[u].add(v)
        near[v].add(u)
    return {i: at[sorted(near[u] | near[v])].mean(axis=0) for i, (u, v) in enumerate(ends.tolist())}
