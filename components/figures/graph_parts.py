"""Which edges and nodes of a part are drawn: the key part, what is left, or all; within a budget.

What is left out of a large part is what carries least: edges are taken by the size of their score,
and among equals those nearer to the target (or, without one, to the strongest edge) come first.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

from backend.graphs.explanation import GraphExplanation

Shown = Literal["all", "key", "complement"]
BUDGET = 400
"""Edges drawn at most."""
FEW_NODES = 150
"""Nodes up to which those without a drawn edge are drawn too."""
SHARE = 0.25
"""Share of the edges that is the key part of an explainer without scales."""


@dataclasses.dataclass(frozen=True, eq=False)
class Drawn:
    """What is drawn of a part of n nodes and e edges.

    Attributes:
        edges, nodes: ascending numbers within the part.
        inside: [e] bool, the key part.
        of: edges that were to be drawn; more than `edges` where the budget is short.
        mass: share of the sum of |score| over these that is drawn; None where that sum is 0.
        hidden: nodes left out.
    """

    edges: np.ndarray
    nodes: np.ndarray
    inside: np.ndarray
    of: int
    mass: float | None
    hidden: int

    @property
    def note(self) -> str:
        """What is left out, in words; "" where all is there."""
        said = []
        if len(self.edges) < self.of:
            said.append(f"{len(self.edges):,} of {self.of:,} edges")
            if self.mass is not None:
                said.append(f"{percent(self.mass)} of the mass")
        if self.hidden:
            said.append(f"{self.hidden:,} nodes left out")
        return ", ".join(said)


def drawn(
    found: GraphExplanation,
    shown: Shown = "all",
    scale: int | None = None,
    *,
    share: float | None = None,
    budget: int = BUDGET,
) -> Drawn:
    """What is drawn; the target always is.

    Args:
        shown: all edges, those of the key part, or the rest.
        scale, share: which key part, see `key`.
        budget: edges drawn at most.

    Raises:
        ValueError: `shown` is none of the three, or the budget is not positive.
    """
    if shown not in ("all", "key", "complement"):
        raise ValueError(f"expected 'all', 'key' or 'complement' (got {shown!r})")
    if budget < 1:
        raise ValueError(f"expected a budget of at least 1 edge (got {budget})")
    inside = key(found, scale, share=share)
    wanted = {"all": np.ones_like(inside), "key": inside, "complement": ~inside}[shown]
    size = _sizes(found)
    order = _order(found, size, wanted) if wanted.sum() > budget else np.flatnonzero(wanted)
    edges = np.sort(order[:budget])
    nodes = _nodes(found, edges)
    total = float(size[wanted].sum())
    return Drawn(
        edges=edges,
        nodes=nodes,
        inside=inside,
        of=int(wanted.sum()),
        mass=float(size[edges].sum()) / total if total > 0 else None,
        hidden=len(found.arrays["node_ids"]) - len(nodes),
    )


def key(
    found: GraphExplanation, scale: int | None = None, *, share: float | None = None
) -> np.ndarray:
    """[e] bool, the edges of the key part.

    Args:
        scale: index of a scale of the explainer, the nearest one where there is none such; None is
            the one in the middle.
        share: of an explainer without scales, how many of its highest scores are taken.
    """
    keys = found.arrays.get("key")
    if keys is not None and len(keys):
        k = len(keys) // 2 if scale is None else min(max(scale, 0), len(keys) - 1)
        return np.asarray(keys[k], dtype=bool)
    scores = np.nan_to_num(found.arrays["scores"].astype(np.float64), nan=-np.inf)
    # Rounded first: 0.1 of 30 is 3, not 3.0000000000000004.
    count = int(np.ceil(round(len(scores) * (SHARE if share is None else share), 9)))
    inside = np.zeros(len(scores), dtype=bool)
    inside[np.argsort(-scores, kind="stable")[:count]] = True
    return inside


def percent(share: float) -> str:
    """A share in words that never says all or nothing of what is only nearly so."""
    if 0.995 <= share < 1:
        return "over 99 %" if share < 0.9995 else "over 99.9 %"
    if 0 < share < 0.005:
        return "under 1 %"
    return f"{share:.0%}".replace("%", " %")


def _sizes(found: GraphExplanation) -> np.ndarray:
    return np.nan_to_num(np.abs(found.arrays["scores"].astype(np.float64)))


def _order(found: GraphExplanation, size: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    edges, target = found.arrays["edges"], found.values["target"]
    start = edges[np.argmax(np.where(wanted, size, -1.0))] if target is None else [target]
    steps = distances(edges, len(found.arrays["node_ids"]), start)
    near = steps[edges].min(axis=1)
    order = np.lexsort((np.arange(len(edges)), near, -size))
    return np.asarray(order[wanted[order]])


def distances(edges: np.ndarray, nodes: int, start: np.ndarray | list[int]) -> np.ndarray:
    """[nodes] steps from the nearest of `start` whatever the direction; `nodes` if out of reach."""
    found = np.full(nodes, nodes)
    found[start] = 0
    for step in range(1, nodes):
        touched = (found[edges] == step - 1).any(axis=1)
        reached = np.unique(edges[touched])
        reached = reached[found[reached] == nodes]
        if not len(reached):
            break
        found[reached] = step
    return found


def _nodes(found: GraphExplanation, edges: np.ndarray) -> np.ndarray:
    count = len(found.arrays["node_ids"])
    if count <= FEW_NODES:
        return np.arange(count)
    touched = set(found.arrays["edges"][edges].ravel().tolist())
    if found.values["target"] is not None:
        touched.add(int(found.values["target"]))
    # A part without any edge to draw is its nodes, as many as there is room for.
    return np.array(sorted(touched) or range(FEW_NODES), dtype=np.int64)
