"""Graphs as a GNN takes them: many at once, whole, or with some edges deleted."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from backend.graphs.explanation import Graph, GraphSet
from backend.graphs.part import Part


@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """Several graphs as one that falls into as many pieces.

    Attributes:
        x: [nodes, F] float32.
        edge_index: [2, S]. An undirected edge has two columns, a self-loop and a directed one one.
        slots: [S], the edge each column belongs to.
        graphs: [nodes], the graph each node belongs to. count: how many graphs there are.
        owners: [edges], the graph each edge belongs to.
        targets: [items] nodes that are classified, or None where graphs, or all nodes, are.
        edge_attr: [S, A] float32, of each column's edge; None where the graphs have no features of
            edges.
    """

    x: Tensor
    edge_index: Tensor
    slots: Tensor
    graphs: Tensor
    count: int
    owners: Tensor
    targets: Tensor | None = None
    edge_attr: Tensor | None = None

    @property
    def reverse(self) -> Tensor:
        """[S] the column of each edge's other direction; S where an edge has only one column."""
        return opposite(self.slots)

    @property
    def edges(self) -> int:
        """How many edges, both directions of an undirected one counted once."""
        return len(self.owners)


def whole(graphs: GraphSet, numbers: Sequence[int], device: str = "cpu") -> Batch:
    """Whole graphs of a set; nodes of a node task are all classified."""
    return together([graphs.graph(number) for number in numbers], graphs.directed, device)


def together(found: Sequence[Graph], directed: bool, device: str = "cpu") -> Batch:
    """Graphs side by side, in their order."""
    pieces = [(g.x, g.edges.astype(np.int64), g.edge_attr) for g in found]
    return _joined(pieces, directed, None, device)


def parts(found: Sequence[Part], device: str = "cpu") -> Batch:
    """Parts side by side, in their order; of node tasks each with its target."""
    pieces = [(part.x, part.edges, part.edge_attr) for part in found]
    nodes = [part.node for part in found]
    return _joined(pieces, found[0].directed, nodes, device)


def deleted(part: Part, keep: np.ndarray, device: str = "cpu") -> Batch:
    """Copies of a part, each without some of its edges; all nodes stay.

    Args:
        keep: [copies, e] bool. Degrees are those of what is left.
    """
    attributes = part.edge_attr
    pieces = [
        (part.x, part.edges[row], None if attributes is None else attributes[row])
        for row in np.asarray(keep, dtype=bool)
    ]
    return _joined(pieces, part.directed, [part.node] * len(pieces), device)


def copies(part: Part, count: int, device: str = "cpu") -> Batch:
    """Copies of a whole part: edges of copy i stand at i * e ... (i + 1) * e."""
    return parts([part] * count, device)


def opposite(slots: Tensor) -> Tensor:
    """[S] the other column with the same slot, or S where there is none."""
    order = torch.argsort(slots, stable=True)
    paired = slots[order[1:]] == slots[order[:-1]]
    found = torch.full_like(slots, len(slots))
    found[order[1:][paired]] = order[:-1][paired]
    found[order[:-1][paired]] = order[1:][paired]
    return found


def _joined(
    pieces: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray | None]],
    directed: bool,
    nodes: Sequence[int | None] | None,
    device: str,
) -> Batch:
    sizes = np.array([len(x) for x, _, _ in pieces], dtype=np.int64)
    counts = np.array([len(edges) for _, edges, _ in pieces], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    owners = np.repeat(np.arange(len(pieces)), counts)
    edges = np.concatenate([edges for _, edges, _ in pieces]).reshape(-1, 2) + starts[owners, None]
    slots = np.arange(len(edges))
    index = edges.T
    if not directed:
        twice = edges[:, 0] != edges[:, 1]
        index = np.concatenate([index, edges[twice, ::-1].T], axis=1)
        slots = np.concatenate([slots, slots[twice]])
    targets = None
    if nodes is not None and all(node is not None for node in nodes):
        targets = torch.from_numpy(starts + np.array(nodes, dtype=np.int64)).to(device)
    known = [attributes for _, _, attributes in pieces if attributes is not None]
    edge_attr = None
    if known and len(known) == len(pieces):
        edge_attr = torch.from_numpy(np.concatenate(known)[slots]).to(device)
    return Batch(
        x=torch.from_numpy(np.concatenate([x for x, _, _ in pieces])).to(device),
        edge_index=torch.from_numpy(np.ascontiguousarray(index)).to(device),
        slots=torch.from_numpy(slots).to(device),
        graphs=torch.from_numpy(np.repeat(np.arange(len(pieces)), sizes)).to(device),
        count=len(pieces),
        owners=torch.from_numpy(owners).to(device),
        targets=targets,
        edge_attr=edge_attr,
    )
