"""Graphs with a few edges replaced, and the scores of the edges that are still there.

A share of the edges is taken away and as many new ones, with the features of those, are put between
random nodes. Edges of the known reason stay, and none is put between two of its nodes.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

import numpy as np

from backend.graphs.explanation import GraphExplanation, GraphSet, GraphTarget, prefixed
from backend.graphs.part import Part

NOISE = 0.05


def noisy(graphs: GraphSet, target: GraphTarget, seed: int, share: float = NOISE) -> GraphSet:
    """A set of the target's graph alone, with a share of its edges replaced.

    All nodes stay, and all edges of the known reason; none is added between two of its nodes, nor
    as a self-loop or parallel edge. In a node task only edges of the explained part are replaced.
    A graph with no room for new edges, e.g. a complete one, gets fewer than it loses.
    """
    part = Part.of(graphs, target)
    graph = part.graph
    generator = np.random.default_rng([seed, part.item])
    edges = graph.edges.astype(np.int64)
    free = part.edge_ids if part.truth is None else part.edge_ids[~part.truth]
    count = min(len(free), max(1, round(share * len(part)))) if len(part) else 0
    gone = generator.choice(free, count, replace=False) if count else free[:0]
    known = {tuple(edge) for edge in edges.tolist()}
    nodes = part.node_ids
    reason = set() if part.truth is None else set(nodes[part.edges[part.truth]].ravel().tolist())
    added: list[tuple[int, int]] = []
    for _ in range(100 * count):
        if len(added) == count or len(nodes) < 2:
            break
        u, v = (int(i) for i in generator.choice(nodes, 2, replace=False))
        there = (u, v) in known or (not graphs.directed and (v, u) in known)
        if not there and not {u, v} <= reason:
            known.add((u, v))
            added.append((u, v))
    kept = np.setdiff1d(np.arange(len(edges)), gone)
    new = np.array(added, dtype=np.int64).reshape(-1, 2)
    return _alone(graphs, part, kept, new)


def alone(graphs: GraphSet, target: GraphTarget) -> GraphSet:
    """A set of the target's graph alone, as it is."""
    part = Part.of(graphs, target)
    every = np.arange(len(part.graph.edges))
    return _alone(graphs, part, every, np.zeros((0, 2), dtype=np.int64))


def _alone(graphs: GraphSet, part: Part, kept: np.ndarray, new: np.ndarray) -> GraphSet:
    arrays = prefixed(graphs.weights())
    own = part.graph.arrays
    arrays |= {name: own[name] for name in ("x", "node_motifs", "positions") if name in own}
    edges = np.concatenate([own["edges"][kept], new]).astype(np.int32)
    arrays["edges"] = edges
    if "edge_motifs" in own:
        arrays["edge_motifs"] = np.concatenate(
            [own["edge_motifs"][kept], np.zeros(len(new), dtype=np.int32)]
        )
    if "edge_attr" in own:
        gone = np.setdiff1d(np.arange(len(own["edges"])), kept)
        fresh = own["edge_attr"][gone[: len(new)]]
        arrays["edge_attr"] = np.concatenate([own["edge_attr"][kept], fresh])
    arrays["node_counts"] = np.array([len(own["x"])], dtype=np.int32)
    arrays["edge_counts"] = np.array([len(edges)], dtype=np.int32)
    number = part.graph.number
    return dataclasses.replace(
        graphs,
        arrays=arrays,
        node_names=part.graph.node_names,
        graph_names=graphs.graph_names[number : number + 1],
        smiles=(),
        origin={"noise": len(new), "graph": number},
    )


def aligned(found: Sequence[GraphExplanation]) -> list[np.ndarray]:
    """[e] scores of each explanation, for the edges of the first; NaN where it has no such edge.

    Edges are found again by the numbers of their ends in the graph.
    """
    names = _named(found[0])
    rows = []
    for one in found:
        scores = one.arrays["scores"].astype(np.float64)
        if not np.array_equal(_ends(one), _ends(found[0])):
            places = dict(zip(_named(one), scores.tolist(), strict=True))
            scores = np.array([places.get(name, np.nan) for name in names], dtype=np.float64)
        rows.append(scores)
    return rows


def _ends(found: GraphExplanation) -> np.ndarray:
    """[e, 2] numbers of the ends within the graph."""
    return found.arrays["node_ids"][found.arrays["edges"]]


def _named(found: GraphExplanation) -> list[tuple[int, int, int]]:
    """Of each edge its ends, and how many parallel edges stand before it."""
    seen: Counter[tuple[int, int]] = Counter()
    names = []
    for u, v in _ends(found).tolist():
        names.append((u, v, seen[u, v]))
        seen[u, v] += 1
    return names
