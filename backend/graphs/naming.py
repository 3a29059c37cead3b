"""What a person calls the nodes and edges of an explanation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from backend.graphs.explanation import GraphExplanation, GraphSet


def node_name(values: dict[str, Any], node_id: int, place: int) -> str:
    """A node's name, or its number within the graph; atoms carry both, as symbols repeat.

    Args:
        values: of an explanation of kind "edges".
        node_id: number within the graph. place: number within the part.
    """
    names: Sequence[str] = values["node_names"]
    if not names or not names[place]:
        return str(node_id)
    return f"{names[place]}{node_id}" if values["molecule"] else names[place]


def node_names(explanation: GraphExplanation) -> list[str]:
    """[n] one name a node of the part."""
    ids = explanation.arrays["node_ids"].tolist()
    return [node_name(explanation.values, node, place) for place, node in enumerate(ids)]


def edge_names(explanation: GraphExplanation) -> list[str]:
    """[e] one name an edge: its ends, with an arrow where it has a direction."""
    names = node_names(explanation)
    between = " → " if explanation.values["directed"] else " – "
    return [f"{names[u]}{between}{names[v]}" for u, v in explanation.arrays["edges"].tolist()]


def class_name(values: dict[str, Any], label: int | None) -> str:
    """A class's name, or its number; "–" where there is none."""
    if label is None:
        return "–"
    names = values["class_names"]
    return str(names[label]) if label < len(names) else f"class {label}"


def item_name(graphs: GraphSet, item: int) -> str:
    """A graph's number and name, or a node's name or number, of an item of the set."""
    if graphs.task == "graph":
        name = graphs.graph_names[item] if item < len(graphs.graph_names) else ""
        return f"graph {item}" + (f", {name}" if name else "")
    name = graphs.node_names[item] if item < len(graphs.node_names) else ""
    return f"node {name or item}"
