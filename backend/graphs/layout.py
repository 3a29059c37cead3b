"""Where the nodes of a part are drawn: computed once a part, the same for every explainer."""

from __future__ import annotations

import hashlib
from collections import OrderedDict

import networkx as nx
import numpy as np

from backend.graphs.part import Part

SMALL = 150
"""Nodes up to which distances on the drawing follow distances in the graph (Kamada-Kawai)."""
MIDDLE = 600
"""Nodes up to which springs are relaxed; larger parts are drawn in rings."""
REMEMBERED = 64

_known: OrderedDict[str, np.ndarray] = OrderedDict()


def positions(part: Part) -> np.ndarray:
    """[n, 2] float32, within -1 and 1 on the longer side; a function of the part alone.

    Molecules keep the coordinates they came with. Parts of thousands of nodes are drawn in rings:
    around the target (or the node of highest degree) by the number of steps from it.
    """
    given = part.arrays.get("positions")
    if given is not None:
        return _scaled(given[part.node_ids])
    name = hashlib.sha256(
        b"|".join((part.edges.tobytes(), str((len(part.node_ids), part.node)).encode()))
    ).hexdigest()
    if name not in _known:
        _known[name] = _scaled(_computed(part))
        while len(_known) > REMEMBERED:
            _known.popitem(last=False)
    _known.move_to_end(name)
    return _known[name]


def _computed(part: Part) -> np.ndarray:
    n: int = len(part.node_ids)
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(map(tuple, part.edges[part.edges[:, 0] != part.edges[:, 1]].tolist()))
    if n > MIDDLE:
        return _rings(graph, part)
    pieces = sorted(nx.connected_components(graph), key=lambda piece: (-len(piece), min(piece)))
    found = np.zeros((n, 2))
    right = 0.0
    for piece in pieces:
        nodes = sorted(piece)
        local = nx.convert_node_labels_to_integers(graph.subgraph(nodes), ordering="sorted")
        at = _piece(local)
        radius = max(1.0, np.sqrt(len(nodes)))
        at = (at - at.mean(axis=0)) * radius
        found[nodes] = at - [at[:, 0].min(), 0.0] + [right, 0.0]
        right += float(np.ptp(at[:, 0])) + 1.0
    return found


def _piece(graph: nx.Graph) -> np.ndarray:
    n = len(graph)
    if n == 1:
        return np.zeros((1, 2))
    if n <= SMALL:
        at = nx.kamada_kawai_layout(graph)
    else:
        at = nx.spring_layout(graph, seed=0, iterations=60)
    return np.array([at[node] for node in range(n)], dtype=np.float64)


def _rings(graph: nx.Graph, part: Part) -> np.ndarray:
    """Rings by distance from the centre, each node near its parent's angle; the rest outside."""
    degrees = dict(graph.degree)
    centre = part.node if part.node is not None else max(degrees, key=lambda v: (degrees[v], -v))
    found = np.zeros((len(graph), 2))
    angle = {centre: 0.0}
    layers = list(nx.bfs_layers(graph, [centre]))
    for ring, layer in enumerate(layers[1:], start=1):
        parents = {
            v: min((u for u in graph[v] if u in angle), key=angle.__getitem__) for v in layer
        }
        order = sorted(layer, key=lambda v: (angle[parents[v]], v))
        turned = {v: 2 * np.pi * i / len(order) for i, v in enumerate(order)}
        for v, turn in turned.items():
            found[v] = ring * np.cos(turn), ring * np.sin(turn)
        angle.update(turned)
    outside = [v for v in graph if v not in angle]
    for i, v in enumerate(outside):
        turn = 2 * np.pi * i / len(outside)
        found[v] = (len(layers) + 1) * np.cos(turn), (len(layers) + 1) * np.sin(turn)
    return found


def _scaled(at: np.ndarray) -> np.ndarray:
    at = np.asarray(at, dtype=np.float64)
    if not len(at):
        return np.zeros((0, 2), dtype=np.float32)
    low, high = at.min(axis=0), at.max(axis=0)
    size = max(float((high - low).max()), 1e-9)
    return np.asarray((at - (low + high) / 2) * (2 / size), dtype=np.float32)
