"""The items of a set, graphs or nodes, as targets: which to learn from, which to be scored on."""

from __future__ import annotations

import numpy as np

from backend.graphs.explanation import TEST, TRAIN, GraphSet, GraphTarget


def count(graphs: GraphSet) -> int:
    """How many graphs or nodes there are."""
    return len(graphs) if graphs.task == "graph" else int(graphs.arrays["node_counts"].sum())


def target(graphs: GraphSet, item: int, label: int | None = None) -> GraphTarget:
    """The target that names an item: a graph, or a node of a graph by its number in the set."""
    if graphs.task == "graph":
        return GraphTarget(graph=item, label=label)
    ends = np.cumsum(graphs.arrays["node_counts"])
    graph = int(np.searchsorted(ends, item, side="right"))
    first = int(ends[graph - 1]) if graph else 0
    return GraphTarget(graph=graph, node=item - first, label=label)


def to_learn_from(graphs: GraphSet, most: int, generator: np.random.Generator) -> np.ndarray:
    """Training items in random order, all items where no training is known; `most` at most."""
    every = _of_split(graphs, TRAIN)
    return generator.permutation(every)[:most]


def to_score(graphs: GraphSet, most: int) -> np.ndarray:
    """Items for a comparison of methods, in their order; `most` at most.

    Test items where they are known, and of those first the ones with a known reason, as nothing
    else can be scored against it.
    """
    every = _of_split(graphs, TEST)
    reason = with_reason(graphs)
    if reason is not None and reason[every].any():
        every = np.sort(np.concatenate([every[reason[every]], every[~reason[every]]])[:most])
    return every[:most]


def _of_split(graphs: GraphSet, split: int) -> np.ndarray:
    """Items of a split, ascending; all items where the set knows of none."""
    if "split" in graphs.arrays and (graphs.arrays["split"] == split).any():
        return np.flatnonzero(graphs.arrays["split"] == split)
    return np.arange(count(graphs))


def with_reason(graphs: GraphSet) -> np.ndarray | None:
    """[items] bool: whether a reason is known, or None where none ever is."""
    motifs = graphs.arrays.get("node_motifs")
    if motifs is None:
        return None
    if graphs.task == "node":
        return np.asarray(motifs > 0)
    owner = np.repeat(np.arange(len(graphs)), graphs.arrays["node_counts"])
    found = np.zeros(len(graphs), dtype=bool)
    found[owner[motifs > 0]] = True
    return found
