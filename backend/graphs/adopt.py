"""Graphs of one's own for a network that was trained here: features and classes by their names."""

from __future__ import annotations

import dataclasses

import numpy as np
from pydantic import JsonValue

from backend.errors import InputError
from backend.graphs import chemprop_features
from backend.graphs.explanation import GraphSet, prefixed
from backend.names import listed


def adopted(graphs: GraphSet, model: GraphSet) -> GraphSet:
    """The graphs, their features as the network of `model` reads them, with its weights.

    A feature the graphs lack gets its value in the model's graphs where that never changes, else
    its mean there. Directions are dropped where the network knows none. What was done is told in
    `origin["notes"]`.

    A D-MPNN reads molecules alone, which are described to it anew.

    Raises:
        InputError: `model` has no network, or the graphs have none of the features it tells nodes
            apart by, or are no molecules where it reads those.
    """
    if model.architecture is None:
        raise InputError("There is no trained network here.", todo="Choose a bundled model.")
    kept = graphs.origin.get("notes")
    notes: list[JsonValue] = list(kept) if isinstance(kept, list) else []
    arrays = graphs.bare()
    if model.architecture.kind == "dmpnn":
        graphs = _described(graphs, model)
        arrays |= {name: graphs.arrays[name] for name in ("x", "edge_attr")}
    else:
        arrays["x"] = _features(graphs, model, notes)
    labels = _labels(graphs, model, notes)
    arrays.pop("labels", None)
    if labels is not None:
        arrays["labels"] = labels
    if graphs.directed and not model.directed:
        _undirect(arrays, notes)
    elif model.directed and not graphs.directed:
        _both_ways(arrays, notes)
    arrays |= prefixed(model.weights())
    return dataclasses.replace(
        graphs,
        arrays=arrays,
        task=model.architecture.task,
        directed=model.directed,
        architecture=model.architecture,
        feature_names=model.feature_names,
        edge_feature_names=graphs.edge_feature_names,
        class_names=model.class_names,
        origin={**graphs.origin, "notes": notes, "model": model.origin},
    )


def _described(graphs: GraphSet, model: GraphSet) -> GraphSet:
    """Molecules as chemprop describes them."""
    if not graphs.smiles:
        raise InputError(
            "This network reads molecules.", "graphs", "Bring them as SMILES, one a line."
        )
    return dataclasses.replace(
        graphs,
        arrays=graphs.bare() | chemprop_features.described(graphs.smiles),
        edge_feature_names=model.edge_feature_names,
    )


def _plain(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum())


def _features(graphs: GraphSet, model: GraphSet, notes: list[JsonValue]) -> np.ndarray:
    """[N, F of the model] float32."""
    theirs = model.arrays["x"]
    own = graphs.arrays["x"]
    width = theirs.shape[1]
    names = model.feature_names or tuple(f"feature {i}" for i in range(width))
    columns = {_plain(name): i for i, name in reversed(list(enumerate(graphs.feature_names)))}
    found = np.empty((len(own), width), dtype=np.float32)
    constant: list[str] = []
    mean: list[str] = []
    matched: list[str] = []
    for i, name in enumerate(names):
        column = columns.get(_plain(name))
        if column is not None:
            found[:, i] = own[:, column]
            matched.append(name)
            continue
        values = theirs[:, i]
        still = bool((values == values[:1]).all()) if len(values) else True
        (constant if still else mean).append(name)
        found[:, i] = values.mean(dtype=np.float64) if len(values) else 0.0
    if mean and not matched:
        raise InputError(
            f"The nodes have none of the features this network reads: {listed(names)}.",
            "features",
            "Bring graphs with node attributes of these names, or choose a model that reads none.",
        )
    for those, said in (
        (matched, "matched by name"),
        (constant, "not in the file; set to their value in the model's graphs, always the same"),
        (mean, "not in the file; set to their mean in the model's graphs"),
    ):
        if those:
            notes.append(f"Features {said}: {listed(those)}.")
    known = {_plain(name) for name in names}
    unused = [name for name in graphs.feature_names if _plain(name) not in known]
    if unused:
        notes.append(f"Features this network does not read: {listed(unused)}.")
    return found


def _labels(graphs: GraphSet, model: GraphSet, notes: list[JsonValue]) -> np.ndarray | None:
    """True classes by the model's numbers; None where they are not of its classes."""
    assert model.architecture is not None  # noqa: S101
    if "labels" not in graphs.arrays:
        return None
    count = model.architecture.classes
    by = {name: i for i, name in enumerate(model.class_names)}
    numbers = [
        by.get(name, int(name) if name.isdecimal() and len(name) < 5 else count)
        for name in graphs.class_names
    ]
    if graphs.task != model.architecture.task or not numbers or max(numbers) >= count:
        notes.append("The true classes of the file are not the network's: they are not used.")
        return None
    return np.array([*numbers, -1], dtype=np.int32)[graphs.arrays["labels"]]


def _undirect(arrays: dict[str, np.ndarray], notes: list[JsonValue]) -> None:
    """One edge for each pair of opposite ones; an edge without an opposite stays."""
    edges, counts = arrays["edges"].astype(np.int64), arrays["edge_counts"]
    owner = np.repeat(np.arange(len(counts)), counts)
    back = edges[:, 0] > edges[:, 1]
    keys = np.stack([owner, edges.min(axis=1), edges.max(axis=1)], axis=1)
    _, pair = np.unique(keys, axis=0, return_inverse=True)
    pair = pair.reshape(-1)
    spare = np.bincount(pair[~back], minlength=pair.max(initial=-1) + 1)
    order = np.argsort(np.where(back, pair, -1), kind="stable")
    order = order[back[order]]
    first = np.searchsorted(pair[order], pair[order], side="left")
    keep = np.ones(len(edges), dtype=bool)
    keep[order] = np.arange(len(order)) - first >= spare[pair[order]]
    for name in ("edges", "edge_attr", "edge_motifs"):
        if name in arrays:
            arrays[name] = arrays[name][keep]
    arrays["edge_counts"] = np.bincount(owner[keep], minlength=len(counts)).astype(np.int32)
    notes.append("The network knows no directions: those of the edges are dropped.")
    if not keep.all():
        notes.append(f"{int((~keep).sum()):,} edges had an opposite one and were joined with it.")


def _both_ways(arrays: dict[str, np.ndarray], notes: list[JsonValue]) -> None:
    """Each undirected edge as one in each direction, side by side; a loop stays one."""
    edges, counts = arrays["edges"], arrays["edge_counts"]
    owner = np.repeat(np.arange(len(counts)), counts)
    times = np.where(edges[:, 0] == edges[:, 1], 1, 2)
    source = np.repeat(np.arange(len(edges)), times)
    second = np.zeros(len(source), dtype=bool)
    second[1:] = source[1:] == source[:-1]
    for name in ("edges", "edge_attr", "edge_motifs"):
        if name in arrays:
            arrays[name] = arrays[name][source]
    arrays["edges"] = np.where(second[:, None], arrays["edges"][:, ::-1], arrays["edges"])
    arrays["edge_counts"] = np.bincount(owner[source], minlength=len(counts)).astype(np.int32)
    notes.append("The network knows directions: each edge is read as one in each.")
