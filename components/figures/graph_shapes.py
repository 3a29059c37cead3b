"""Where edges run on a drawing: straight, side by side as arcs, as loops; with arrow heads."""

from __future__ import annotations

import dataclasses
from collections import defaultdict

import numpy as np

STEPS = 12
"""Pieces of a curve."""
BEND = 0.16
"""How far neighbouring arcs of a pair stand apart, in lengths of the edge."""
WIDEST = 0.5
"""How far the outermost arcs of a pair stand apart, in lengths of the edge."""


@dataclasses.dataclass(frozen=True, eq=False)
class Paths:
    """The ways of some edges: `lines` [p, 2] each, and `middles` [count, 2] where one is picked.

    A line runs from its edge's first node to the second.
    """

    lines: list[np.ndarray]
    middles: np.ndarray


def paths(positions: np.ndarray, edges: np.ndarray, loop: float) -> Paths:
    """The ways of edges between nodes; edges of the same two nodes stand side by side.

    Args:
        positions: [n, 2]. edges: [count, 2].
        loop: radius of a self-loop, in units of the positions.
    """
    at = np.asarray(positions, dtype=np.float64)
    pairs: dict[tuple[int, int], list[int]] = defaultdict(list)
    for i, (u, v) in enumerate(edges.tolist()):
        pairs[min(u, v), max(u, v)].append(i)
    lines: list[np.ndarray] = [np.zeros((0, 2))] * len(edges)
    for (u, v), same in pairs.items():
        for place, i in enumerate(same):
            if u == v:
                lines[i] = _loop(at[u], _away(at, edges, u), loop * (1 + 0.5 * place))
            else:
                line = _arc(at[u], at[v], _side(place, len(same)))
                lines[i] = line[::-1] if edges[i, 0] == v else line
    middles = [_middle(line) for line in lines]
    return Paths(lines, np.array(middles).reshape(-1, 2))


def head(line: np.ndarray, gap: float, size: float) -> np.ndarray:
    """[3, 2] the arrow head of a line, `gap` before its end."""
    left = np.linalg.norm(line - line[-1], axis=1)
    # A short edge keeps its head between its nodes.
    gap = min(gap, 0.45 * float(left[0]))
    size = min(size, 0.45 * float(left[0]))
    tip, base = _before(line, gap), _before(line, gap + size)
    way = tip - base
    across = np.array([-way[1], way[0]]) * 0.42
    return np.array([tip, base + across, base - across])


def joined(lines: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Lines as one, NaN between them: (x, y) float32."""
    gap = np.full((1, 2), np.nan)
    pieces = [piece for line in lines for piece in (line, gap)][:-1]
    every = np.concatenate(pieces or [np.zeros((0, 2))]).astype(np.float32)
    return every[:, 0], every[:, 1]


def _side(place: int, count: int) -> float:
    """Offset of an arc's middle, in lengths of the edge; 0 for an edge alone."""
    step = min(BEND, WIDEST / max(1, count - 1))
    return (place - (count - 1) / 2) * step


def _arc(start: np.ndarray, end: np.ndarray, side: float) -> np.ndarray:
    if side == 0:
        return np.array([start, end])
    way = end - start
    control = (start + end) / 2 + np.array([-way[1], way[0]]) * 2 * side
    t = np.linspace(0, 1, STEPS + 1)[:, None]
    return np.asarray((1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end)


def _loop(node: np.ndarray, away: np.ndarray, radius: float) -> np.ndarray:
    """A circle through the node, on the side its neighbours are not."""
    turn = np.linspace(0, 2 * np.pi, 2 * STEPS + 1) + np.arctan2(-away[1], -away[0])
    circle = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return np.asarray(node + radius * (away + circle))


def free_side(at: np.ndarray, edges: np.ndarray, node: int) -> np.ndarray:
    """[2] the direction from a node in which there is room for its name."""
    loops = (edges == node).all(axis=1).any()
    return _away(at, edges, node, *([_away(at, edges, node)] if loops else []))


def _away(at: np.ndarray, edges: np.ndarray, node: int, *taken: np.ndarray) -> np.ndarray:
    """The direction in the middle of the widest gap between a node's neighbours; up without any.

    Args:
        taken: directions that are no longer free.
    """
    touching = edges[(edges == node).any(axis=1)]
    others = touching[touching[:, 0] != touching[:, 1]].sum(axis=1) - node
    ways = at[np.unique(others)] - at[node] if len(others) else np.zeros((0, 2))
    ways = np.concatenate([ways[np.linalg.norm(ways, axis=1) > 0], *(w[None] for w in taken)])
    if not len(ways):
        return np.array([0.0, 1.0])
    angles = np.sort(np.arctan2(ways[:, 1], ways[:, 0]))
    gaps = np.diff(np.append(angles, angles[0] + 2 * np.pi))
    widest = int(gaps.argmax())
    turn = angles[widest] + gaps[widest] / 2
    return np.array([np.cos(turn), np.sin(turn)])


def _middle(line: np.ndarray) -> np.ndarray:
    if len(line) == 2:
        return np.asarray(line.mean(axis=0))
    return np.asarray(line[len(line) // 2])


def _before(line: np.ndarray, distance: float) -> np.ndarray:
    """The point of a line that is `distance` away from its end."""
    away = np.linalg.norm(line - line[-1], axis=1)
    inner = np.flatnonzero(away >= distance)
    if not len(inner):
        return np.asarray(line[0])
    i = int(inner[-1])
    if i == len(line) - 1:
        return np.asarray(line[-1])
    part = (away[i] - distance) / max(away[i] - away[i + 1], 1e-12)
    return np.asarray(line[i] + (line[i + 1] - line[i]) * part)
