"""What joins at each scale, and how much of the decision each part carries."""

from __future__ import annotations

from typing import Any

import numpy as np


def connected_order(scores: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """[e] edges in the order in which a connected part grows.

    It starts at the best edge and always takes the best edge that touches it; where none is left,
    the best of the rest. Every first share of the order is connected as far as the graph is.
    """
    rest = list(np.argsort(-scores, kind="stable"))
    inside: set[int] = set()
    order = []
    while rest:
        place = next((i for i, e in enumerate(rest) if inside & set(edges[e].tolist())), 0)
        edge = rest.pop(place)
        inside |= set(edges[edge].tolist())
        order.append(int(edge))
    return np.array(order, dtype=np.int64)


def scales(
    budgets: tuple[float, ...],
    key: np.ndarray,
    kept: np.ndarray,
    lost: np.ndarray,
    whole: float,
    none: float,
) -> list[dict[str, Any]]:
    """One dict a scale: budget, edges, joined, kept, lost, share_kept, share_lost.

    The decision is the way of the probability from no edges at all (`none`) to the whole graph.
    share_kept = (kept - none) / (whole - none), share_lost = (whole - lost) / (whole - none), both
    clipped to 0...1; None where all edges change the probability by less than 1 %.

    Args:
        key: [K, e] bool. kept, lost: [K] probability with the key part's edges alone, and without
            them, by real deletion.
    """
    found, before, way = [], 0, whole - none
    for budget, row, p, q in zip(budgets, key, kept, lost, strict=True):
        count = int(row.sum())
        shares: list[float | None] = [None, None]
        if abs(way) >= 0.01:
            shares = [float(np.clip(d / way, 0, 1)) for d in (p - none, whole - q)]
        found.append(
            {
                "budget": float(budget),
                "edges": count,
                "joined": count - before,
                "kept": float(p),
                "lost": float(q),
                "share_kept": shares[0],
                "share_lost": shares[1],
            }
        )
        before = count
    return found


def hierarchy(key: np.ndarray, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One dict a scale and one for the rest: scale, joins (edge numbers in the part), carries.

    carries: by how much share_kept grows with what joins, at least 0; None where it is unknown.
    """
    rows: list[dict[str, Any]] = []
    before, carried = np.zeros(key.shape[1], dtype=bool), 0.0
    for scale, (row, values) in enumerate(zip(key, found, strict=True)):
        share = values["share_kept"]
        carries = None if share is None else max(0.0, share - carried)
        rows.append(
            {"scale": scale, "joins": np.flatnonzero(row & ~before).tolist(), "carries": carries}
        )
        before, carried = row, max(carried, share or 0.0)
    carries = None if any(row["carries"] is None for row in rows) else 1 - carried
    rows.append({"scale": None, "joins": np.flatnonzero(~before).tolist(), "carries": carries})
    return rows
