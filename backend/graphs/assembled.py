"""A sketch as a `GraphSet` without a network: features, labels and names by their columns.

What was assumed on the way is told in `origin["notes"]`.
"""

from __future__ import annotations

from pathlib import PurePath

import numpy as np

from backend.bundle import Arrays
from backend.errors import InputError, shown
from backend.graphs.explanation import GraphSet
from backend.graphs.sketch import MOST_CELLS, Sketch
from backend.names import apart, listed

CLASS = ("label", "class", "y")
NAMES = ("label", "name", "title")
ONE_HOT = 32
"""Most different words of a column that become features, one each."""
MOST_CLASSES = 1000
CONSTANT = "constant"
"""The feature of nodes that have none."""


def assembled(sketch: Sketch) -> GraphSet:
    """The set of a finished sketch.

    - A node column of words that all differ, called label, name or title, names the nodes.
    - A column label, class or y of nodes or of graphs is the true class, -1 where it is empty.
    - Numbers are features; words of few kinds are one feature a kind; other words are left out.
    - Undirected edges that all stand in both directions are read as one.

    Raises:
        InputError: there is no graph, a number is not finite, or there is too much.
    """
    if not sketch.node_counts:
        raise InputError("There is no graph in it.", sketch.name, "Bring one with nodes.")
    notes = list(sketch.notes)
    edges = np.concatenate(sketch.edges)
    links = sketch.links.columns(len(edges))
    counts = np.array([len(e) for e in sketch.edges], dtype=np.int32)
    if not sketch.directed:
        if sketch.directed is None:
            notes.append("The file does not say whether edges have a direction: they have none.")
        kept = _once(edges, counts)
        if not kept.all():
            notes.append("Every edge stands in both directions: each pair is read as one edge.")
            owner = np.repeat(np.arange(len(counts)), counts)
            counts = np.bincount(owner[kept], minlength=len(counts)).astype(np.int32)
            edges, links = edges[kept], {name: column[kept] for name, column in links.items()}
    nodes = sketch.nodes.columns(len(sketch.names))
    names = _names(sketch, nodes, notes)
    arrays: Arrays = {
        "node_counts": np.array(sketch.node_counts, dtype=np.int32),
        "edge_counts": counts,
        "edges": edges.astype(np.int32),
    }
    classes, task = _labels(sketch, nodes, arrays, notes)
    _positions(nodes, arrays, notes)
    x, feature_names = features(sketch.name, nodes, len(names), "node", notes)
    if not feature_names:
        x, feature_names = np.ones((len(names), 1), dtype=np.float32), [CONSTANT]
        notes.append("Nodes have no features: each gets the constant 1.")
    arrays["x"] = x
    for ignored in ("id", "key", "networkx_key"):
        links.pop(ignored, None)
    attributes, edge_feature_names = features(sketch.name, links, len(edges), "edge", notes)
    if edge_feature_names:
        arrays["edge_attr"] = attributes
    return GraphSet(
        arrays=arrays,
        title=written(PurePath(sketch.name).stem),
        task="node" if task == "node" else "graph",
        directed=bool(sketch.directed),
        graph_names=tuple(map(written, sketch.graph_names)) if any(sketch.graph_names) else (),
        node_names=tuple(map(written, names)),
        feature_names=tuple(map(written, feature_names)),
        edge_feature_names=tuple(map(written, edge_feature_names)),
        class_names=tuple(map(written, classes)),
        origin={"file": written(sketch.name), "notes": [written(note) for note in notes]},
    )


def features(
    where: str, columns: dict[str, np.ndarray], rows: int, what: str, notes: list[str]
) -> tuple[np.ndarray, list[str]]:
    """[rows, F] float32 and the names of the F features.

    Raises:
        InputError: a number is not finite, or there are too many.
    """
    found: list[np.ndarray] = []
    names: list[str] = []
    filled: list[str] = []
    hot: list[str] = []
    out: list[str] = []
    for name, column in columns.items():
        if column.dtype.kind != "f":
            kinds = sorted(set(column) - {""})
            if 0 < len(kinds) <= ONE_HOT:
                hot.append(name)
                names += [f"{name}={kind}" for kind in kinds]
                found += [np.asarray(column == kind) for kind in kinds]
            else:
                out.append(name)
            continue
        if np.abs(column[np.isfinite(column) | np.isinf(column)]).max(initial=0) > 1e30:
            raise InputError(
                f"The {what} attribute '{shown(name)}' holds an infinity or a number past 1e30.",
                where,
                "Bring finite numbers.",
            )
        missing = np.isnan(column)
        if missing.all():
            out.append(name)
            continue
        if missing.any():
            filled.append(f"{name} ({int(missing.sum()):,})")
        names.append(name)
        found.append(np.where(missing, 0.0, column))
    if rows * len(found) > MOST_CELLS:
        raise InputError(
            f"{rows:,} {what}s with {len(found):,} features are too many to hold.",
            where,
            "Leave some out.",
        )
    for those, said in (
        (hot, "are words: each word is a feature of its own"),
        (filled, "are empty in places: 0 stands there"),
        (out, "hold nothing, or too many different words: they are left out"),
    ):
        if those:
            notes.append(f"These {what} attributes {said}: {listed(those)}.")
    names = apart(names)[0]
    table = np.zeros((rows, len(found)), dtype=np.float32)
    for i, one in enumerate(found):
        table[:, i] = one
    return table, names


def written(text: str) -> str:
    """Text that UTF-8 can hold: a lone surrogate becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _once(edges: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """[E] bool: all, or one of each pair where every edge stands in both directions."""
    owner = np.repeat(np.arange(len(counts)), counts)
    a, b = edges[:, 0].astype(np.int64), edges[:, 1].astype(np.int64)
    loop = a == b
    forth, back = a < b, a > b
    every = np.ones(len(edges), dtype=bool)
    if forth.sum() != back.sum() or not forth.any():
        return every
    one = np.stack([owner[forth], a[forth], b[forth]])
    two = np.stack([owner[back], b[back], a[back]])
    same = (one[:, np.lexsort(one)] == two[:, np.lexsort(two)]).all()
    return forth | loop if same else every


def _names(sketch: Sketch, nodes: dict[str, np.ndarray], notes: list[str]) -> list[str]:
    """Names of the nodes: a column of words that all differ, else their ids."""
    for column in [c for c in nodes if c.lower() in NAMES]:
        words = nodes[column]
        texts = [f"{w:g}" for w in words] if words.dtype.kind == "f" else list(words)
        own = column.lower() != "label" or words.dtype.kind != "f"
        if own and "" not in texts and len(set(texts)) == len(texts):
            del nodes[column]
            notes.append(f"Nodes are called by the attribute '{shown(column)}'.")
            return texts
    return sketch.names


def _labels(
    sketch: Sketch, nodes: dict[str, np.ndarray], arrays: Arrays, notes: list[str]
) -> tuple[list[str], str]:
    """Put `labels` into the arrays; returns the names of the classes and what they are of."""
    graphs = sketch.graphs.columns(len(sketch.node_counts))
    coordinates = {"x", "y"} <= set(nodes)
    for what, columns in (("graph", graphs), ("node", nodes)):
        for column in [c for c in columns if c.lower() in CLASS]:
            if what == "node" and column == "y" and coordinates:
                continue
            read = classes(columns[column])
            if read is None:
                notes.append(f"The {what} attribute '{shown(column)}' is no class.")
                continue
            del columns[column]
            arrays["labels"] = read[0]
            notes.append(f"The {what} attribute '{shown(column)}' is the true class.")
            return read[1], what
    return [], ""


def classes(column: np.ndarray) -> tuple[np.ndarray, list[str]] | None:
    """[n] int32 classes, -1 where empty, and their names; None where there are too many.

    Beside other whole numbers from 0 up, -1 stands for none.
    """
    if column.dtype.kind == "f":
        known = np.isfinite(column)
        values = np.unique(column[known])
        if len(values) and values[0] == -1 and values[1:2] == 0:
            known &= column != -1
            values = values[1:]
        if not (values == np.round(values)).all():
            return None
        names = [f"{value:.0f}" for value in values]
        found = np.where(known, np.searchsorted(values, column), -1)
    else:
        names = sorted(set(column) - {""})
        numbers = {name: i for i, name in enumerate(names)} | {"": -1}
        found = np.array([numbers[word] for word in column])
    if not 0 < len(names) <= MOST_CLASSES:
        return None
    return found.astype(np.int32), names


def _positions(nodes: dict[str, np.ndarray], arrays: Arrays, notes: list[str]) -> None:
    """Take columns x and y of numbers as where the nodes are drawn."""
    if not {"x", "y"} <= set(nodes):
        return
    pair = nodes["x"], nodes["y"]
    if all(c.dtype.kind == "f" and np.isfinite(c).all() for c in pair):
        at = np.stack(pair, axis=1)
        if np.abs(at).max() < 1e30:
            arrays["positions"] = at.astype(np.float32)
            del nodes["x"], nodes["y"]
            notes.append("The node attributes x and y are where nodes are drawn.")
