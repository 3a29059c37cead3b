"""The part of a graph that one explanation is about.

A graph task is about the whole graph. A node task is about the neighbourhood that reaches the node
in as many steps as the GNN has layers: nothing beyond it can change the GNN's answer, but for the
degrees of its outermost nodes, which a GCN divides by; one more step is taken for that.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from backend.errors import InputError
from backend.graphs import items
from backend.graphs.explanation import TEST, Graph, GraphSet, GraphTarget

if TYPE_CHECKING:
    from backend.bundle import Arrays


@dataclasses.dataclass(frozen=True, eq=False)
class Part:
    """What is explained: n nodes and e edges of one graph.

    Attributes:
        graph: the whole graph.
        node_ids: [n], edge_ids: [e], ascending numbers within the graph.
        edges: [e, 2] int64, numbers within the part.
        x: [n, F] float32.
        directed: whether edges have a direction.
        node: the target within the part, or None where the graph is classified.
        item: number of the graph, or of the node within the whole set: the row of labels, logits.
        truth: [e] bool, the edges of the known reason, or None.
    """

    graph: Graph
    node_ids: np.ndarray
    edge_ids: np.ndarray
    edges: np.ndarray
    x: np.ndarray
    directed: bool
    node: int | None
    item: int
    truth: np.ndarray | None

    @classmethod
    def of(cls, graphs: GraphSet, target: GraphTarget) -> Part:
        """The part a target names.

        Raises:
            InputError: there is no such graph or node.
        """
        graph = graphs.graph(_graph(graphs, target))
        n, edges = len(graph.x), graph.edges.astype(np.int64)
        if graphs.task == "graph":
            every = np.arange(n), np.arange(len(edges))
            return cls(
                graph,
                *every,
                edges,
                graph.x,
                graphs.directed,
                None,
                graph.number,
                _truth(graph, every[1], None),
            )
        node = _node(graphs, graph, target)
        depth = 1 + (graphs.architecture.layers if graphs.architecture else 3)
        node_ids, edge_ids = neighbourhood(edges, n, node, depth, graphs.directed)
        local = np.full(n, -1, dtype=np.int64)
        local[node_ids] = np.arange(len(node_ids))
        return cls(
            graph=graph,
            node_ids=node_ids,
            edge_ids=edge_ids,
            edges=local[edges[edge_ids]],
            x=graph.x[node_ids],
            directed=graphs.directed,
            node=int(local[node]),
            item=graph.first_node + node,
            truth=_truth(graph, edge_ids, node),
        )

    def __len__(self) -> int:
        return len(self.edges)

    @property
    def arrays(self) -> Arrays:
        """The whole graph's arrays."""
        return self.graph.arrays

    @property
    def edge_attr(self) -> np.ndarray | None:
        """[e, A] float32 features of the edges, or None where the graph has none."""
        every = self.graph.edge_attr
        return None if every is None else every[self.edge_ids]


def neighbourhood(
    edges: np.ndarray, n: int, node: int, depth: int, directed: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes that reach `node` in at most `depth` steps, and the edges among them.

    Args:
        edges: [E, 2]. A directed edge carries messages from its first to its second node.
        n: number of nodes of the graph.

    Returns:
        (nodes, edges), ascending.
    """
    inside = np.zeros(n, dtype=bool)
    inside[node] = True
    for _ in range(depth):
        into = inside[edges[:, 1]]
        grown = inside.copy()
        grown[edges[into, 0]] = True
        if not directed:
            grown[edges[inside[edges[:, 0]], 1]] = True
        if (grown == inside).all():
            break
        inside = grown
    kept = inside[edges[:, 0]] & inside[edges[:, 1]]
    return np.flatnonzero(inside), np.flatnonzero(kept)


def _graph(graphs: GraphSet, target: GraphTarget) -> int:
    if not len(graphs):
        raise InputError("There are no graphs here.", todo="Bring a graph, or train a model.")
    if target.graph is None:
        return first_item(graphs) if graphs.task == "graph" else 0
    if target.graph >= len(graphs):
        raise InputError(
            f"There is no graph {target.graph}.",
            "graph",
            f"There are {len(graphs):,}, counted from 0.",
        )
    return target.graph


def _node(graphs: GraphSet, graph: Graph, target: GraphTarget) -> int:
    if target.node is None:
        item = first_item(graphs) - graph.first_node
        return item if 0 <= item < len(graph.x) else 0
    if target.node >= len(graph.x):
        raise InputError(
            f"There is no node {target.node}.",
            "node",
            f"The graph has {len(graph.x):,}, counted from 0.",
        )
    return target.node


def first_item(graphs: GraphSet) -> int:
    """The first item worth a look: a test item that is classified rightly and has a known reason.

    Where none is all of that: the first test item, else the first.
    """
    good = np.ones(items.count(graphs), dtype=bool)
    for wanted in (_tested(graphs), items.with_reason(graphs), _right(graphs)):
        if wanted is not None and (good & wanted).any():
            good &= wanted
    return int(np.flatnonzero(good)[0]) if len(good) else 0


def _tested(graphs: GraphSet) -> np.ndarray | None:
    return graphs.arrays["split"] == TEST if "split" in graphs.arrays else None


def _right(graphs: GraphSet) -> np.ndarray | None:
    if "labels" not in graphs.arrays or "logits" not in graphs.arrays:
        return None
    return np.asarray(graphs.arrays["logits"].argmax(axis=1) == graphs.arrays["labels"])


def _truth(graph: Graph, edge_ids: np.ndarray, node: int | None) -> np.ndarray | None:
    """Edges of the known reason; of a node task, those of the node's own motif."""
    if "edge_motifs" not in graph.arrays:
        return None
    motifs = graph.arrays["edge_motifs"][edge_ids]
    if node is None:
        found = motifs > 0
    else:
        own = int(graph.arrays["node_motifs"][node]) if "node_motifs" in graph.arrays else 0
        found = (motifs == own) & (own > 0)
    return found if found.any() else None
