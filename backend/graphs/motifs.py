"""Pieces of which graphs with a known reason are built: bases, motifs, noise."""

from __future__ import annotations

import dataclasses

import networkx as nx
import numpy as np

from backend.bundle import Arrays

HOUSE = ((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4))
"""Five nodes: 0 and 1 are its middle, 2 and 3 its bottom, 4 its top."""
WHEEL = (*((0, i) for i in range(1, 6)), (1, 2), (2, 3), (3, 4), (4, 5), (5, 1))
GRID = (*((3 * r + c, 3 * r + c + 1) for r in range(3) for c in range(2)),
        *((3 * r + c, 3 * r + c + 3) for r in range(2) for c in range(3)))  # fmt: skip


def cycle(length: int) -> tuple[tuple[int, int], ...]:
    """The edges of a cycle."""
    return tuple((i, (i + 1) % length) for i in range(length))


def _ends(number: np.ndarray, edge: tuple[int, int]) -> tuple[int, int]:
    u, v = sorted(int(number[end]) for end in edge)
    return u, v


@dataclasses.dataclass
class Built:
    """A graph under construction, with the motif of each node and edge (0 is none)."""

    edges: list[tuple[int, int]]
    edge_motifs: list[int]
    node_motifs: list[int]
    roles: list[int]
    """Of each node: 0 in the base, else what `attach` was told."""

    @classmethod
    def base(cls, graph: nx.Graph) -> Built:
        """A graph no edge of which is a reason."""
        edges = [(int(u), int(v)) for u, v in graph.edges]
        nodes = len(graph)
        return cls(edges, [0] * len(edges), [0] * nodes, [0] * nodes)

    def attach(
        self, motif: tuple[tuple[int, int], ...], at: int, roles: tuple[int, ...] = ()
    ) -> None:
        """Add a motif, joined to node `at` by an edge from its node 0.

        Args:
            roles: one for each of the motif's nodes; by default 1.
        """
        size = 1 + max(max(edge) for edge in motif)
        first, number = len(self.node_motifs), 1 + max(self.node_motifs, default=0)
        self.edges += [(first + u, first + v) for u, v in motif]
        self.edge_motifs += [number] * len(motif)
        self.node_motifs += [number] * size
        self.roles += list(roles) or [1] * size
        self.edges.append((first, at))
        self.edge_motifs.append(0)

    def add_noise(self, count: int, generator: np.random.Generator) -> None:
        """Add edges between random nodes that were not there before."""
        known = {frozenset(edge) for edge in self.edges}
        while count:
            u, v = (int(i) for i in generator.integers(len(self.node_motifs), size=2))
            if u != v and frozenset((u, v)) not in known:
                known.add(frozenset((u, v)))
                self.edges.append((u, v))
                self.edge_motifs.append(0)
                count -= 1

    def shuffled(self, generator: np.random.Generator) -> Built:
        """The same graph, its nodes numbered anew and its edges in another order.

        As built, motifs come last, and whoever ranks equal scores by their order could find them.
        """
        number = generator.permutation(len(self.node_motifs))
        nodes = np.argsort(number)
        edges = generator.permutation(len(self.edges))
        return Built(
            [_ends(number, self.edges[i]) for i in edges],
            [self.edge_motifs[i] for i in edges],
            [self.node_motifs[i] for i in nodes],
            [self.roles[i] for i in nodes],
        )


def arrays(
    built: list[Built], features: int, value: float, generator: np.random.Generator
) -> tuple[Arrays, np.ndarray]:
    """Graphs as a set's arrays, each shuffled, every feature of every node the same number.

    Returns:
        (node_counts, edge_counts, edges, x, edge_motifs, node_motifs; [N] int32 roles of the nodes)
    """
    built = [one.shuffled(generator) for one in built]
    roles = np.array([r for one in built for r in one.roles], dtype=np.int32)
    found: Arrays = {
        "node_counts": np.array([len(one.node_motifs) for one in built], dtype=np.int32),
        "edge_counts": np.array([len(one.edges) for one in built], dtype=np.int32),
        "edges": np.array([e for one in built for e in one.edges], dtype=np.int32).reshape(-1, 2),
        "x": np.full((len(roles), features), value, dtype=np.float32),
        "edge_motifs": np.array([m for one in built for m in one.edge_motifs], dtype=np.int32),
        "node_motifs": np.array([m for one in built for m in one.node_motifs], dtype=np.int32),
    }
    return found, roles
