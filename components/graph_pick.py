"""Which graph or node is explained, and which class; and what the GNN was given."""

from __future__ import annotations

import numpy as np
import streamlit as st

from backend.errors import InputError
from backend.graphs import items
from backend.graphs.explanation import TEST, GraphSet, GraphTarget
from backend.graphs.part import Part, first_item
from components.plain import plain
from components.stepper import stepped

PREDICTED = -1
"""Stands for the predicted class: None as an option could be cleared away."""
MOST_CLASSES = 10
"""Classes up to which the graphs of each can be stepped through."""
MOST_NAMES = 2000
"""Nodes up to which they are picked by name."""


def facts(graphs: GraphSet) -> None:
    """The set in numbers, and how well its GNN does."""
    arrays = graphs.arrays
    cells = {
        "Graphs": f"{len(graphs):,}",
        "Nodes": f"{len(arrays['x']):,}",
        "Edges": f"{len(arrays['edges']):,}",
        "Classes": f"{graphs.architecture.classes}" if graphs.architecture else "–",
    }
    if "labels" in arrays and "logits" in arrays:
        right = arrays["logits"].argmax(axis=1) == arrays["labels"]
        known = arrays["labels"] >= 0
        tested = known & (arrays["split"] == TEST) if "split" in arrays else known
        name = "Test accuracy" if "split" in arrays else "Accuracy"
        if tested.any():
            cells[name] = f"{right[tested].mean():.1%}"
    with st.container(horizontal=True, gap="medium"):
        for name, value in cells.items():
            st.metric(name, value, border=True, width="content")
    notes = graphs.origin.get("notes")
    for note in notes if isinstance(notes, list) else ():
        st.caption(f":material/info: {plain(str(note))}")


def picked(graphs: GraphSet, target: GraphTarget, prefix: str) -> GraphTarget:
    """Let a person pick a graph, a node where nodes are classified, and the explained class."""
    columns = st.columns([1.2, 1.4, 1.2, 2], vertical_alignment="bottom", gap="medium")
    first = first_item(graphs)
    graph = target.graph
    node = target.node
    if graphs.task == "graph":
        now = first if graph is None else min(graph, len(graphs) - 1)
        with columns[0]:
            among = _among(graphs, now, prefix)
        with columns[1]:
            graph = _stepped(among, now, f"{prefix}.graph")
        item = graph
    else:
        graph = min(graph or 0, len(graphs) - 1)
        with columns[0]:
            if len(graphs) > 1:
                graph = _stepped(np.arange(len(graphs)), graph, f"{prefix}.graph")
        own = graphs.graph(graph)
        size = len(own.x)
        inside = first - own.first_node
        default = inside if 0 <= inside < size else 0
        now = default if node is None or node >= size else node
        with columns[1]:
            node = _node(own.node_names, size, now, f"{prefix}.node.{graph}")
        item = own.first_node + node
    with columns[2]:
        label = _label(graphs, target, prefix)
    with columns[3]:
        _said(graphs, item, graph)
    return target.model_copy(update={"graph": graph, "node": node, "label": label})


def _among(graphs: GraphSet, now: int, prefix: str) -> np.ndarray:
    """The graphs one steps through."""
    kinds = _kinds(graphs)
    start = next((name for name, among in kinds.items() if now in among), "All")
    which = st.selectbox(
        "Graphs", list(kinds), index=list(kinds).index(start), key=f"{prefix}.which"
    )
    return kinds[str(which)]


def _kinds(graphs: GraphSet) -> dict[str, np.ndarray]:
    """The graphs one can step through, by what they have in common; each kind has some."""
    every = np.arange(len(graphs))
    arrays = graphs.arrays
    found: dict[str, np.ndarray] = {}
    if "labels" not in arrays and "logits" in arrays:
        known = items.with_reason(graphs)
        if known is not None:
            found["Reason known"] = every[known]
        said = arrays["logits"].argmax(axis=1)
        if arrays["logits"].shape[1] <= MOST_CLASSES:
            for label in range(arrays["logits"].shape[1]):
                found[f"Predicted {name_of(graphs, label)}"] = every[said == label]
    if "labels" in arrays and "logits" in arrays:
        wrong = (arrays["logits"].argmax(axis=1) != arrays["labels"]) & (arrays["labels"] >= 0)
        tested = arrays["split"] == TEST if "split" in arrays else np.ones(len(graphs), dtype=bool)
        known = items.with_reason(graphs)
        if known is not None:
            found["Test, reason known"] = every[tested & known & ~wrong]
        found["Test, right"] = every[tested & ~wrong]
        found["Wrong"] = every[wrong]
    found["All"] = every
    return {name: among for name, among in found.items() if len(among)}


def _stepped(among: np.ndarray, now: int, key: str) -> int:
    label = f"Graph, 1 to {len(among):,} of these"
    return stepped(label, among, now, f"{key}.{len(among)}.{int(among[0])}")


def _node(names: tuple[str, ...], size: int, now: int, key: str) -> int:
    if names and size <= MOST_NAMES:
        return int(
            st.selectbox(
                "Node",
                range(size),
                index=now,
                format_func=lambda v: names[v] or str(v),
                key=f"{key}.{now}",
            )
        )
    return int(st.number_input(f"Node, 0 to {size - 1:,}", 0, size - 1, now, key=f"{key}.{now}"))


def _label(graphs: GraphSet, target: GraphTarget, prefix: str) -> int | None:
    count = graphs.architecture.classes if graphs.architecture else 0
    classes = [PREDICTED, *range(count)]
    label = st.selectbox(
        "Class that is explained",
        classes,
        index=classes.index(target.label) if target.label in classes else 0,
        format_func=lambda c: "the predicted one" if c == PREDICTED else name_of(graphs, c),
        key=f"{prefix}.label.{target.label}",
    )
    return None if label == PREDICTED else int(label)


def name_of(graphs: GraphSet, label: int) -> str:
    """A class's name, or its number."""
    return graphs.class_names[label] if label < len(graphs.class_names) else f"class {label}"


def _said(graphs: GraphSet, item: int, graph: int) -> None:
    arrays = graphs.arrays
    name = graphs.graph_names[graph] if graph < len(graphs.graph_names) else ""
    lines = [f"Graph {graph}" + (f" · {name}" if name else "")]
    if "logits" in arrays:
        said = int(arrays["logits"][item].argmax())
        true = int(arrays["labels"][item]) if "labels" in arrays else -1
        if true < 0:
            lines.append(f"Predicted {name_of(graphs, said)}.")
        elif true == said:
            lines.append(f"Predicted {name_of(graphs, said)}, which is right.")
        else:
            lines.append(f"Truly {name_of(graphs, true)}, predicted {name_of(graphs, said)}.")
    st.caption("  \n".join(plain(line) for line in lines))


def saw(graphs: GraphSet, target: GraphTarget) -> None:
    """The nodes and edges as the GNN was given them, and what it does not read."""
    try:
        part = Part.of(graphs, target)
    except InputError as error:
        st.warning(plain(str(error)), icon=":material/block:")
        return
    names = part.graph.node_names
    features = graphs.feature_names or tuple(f"feature {i}" for i in range(part.x.shape[1]))
    st.caption(
        f"{len(part.node_ids):,} of {len(part.graph.x):,} nodes and {len(part):,} of "
        f"{len(part.graph.edges):,} edges are explained"
        + (": those from which the node can be reached." if part.node is not None else ".")
    )
    nodes, edges = st.columns(2, gap="medium")
    label = [names[i] if names else str(i) for i in part.node_ids]
    with nodes:
        st.dataframe(
            {"node": label, **{name: part.x[:, i] for i, name in enumerate(features[:40])}},
            hide_index=True,
            alt="Node features as the GNN reads them",
        )
    with edges:
        shown: dict[str, object] = {
            "from" if part.directed else "one end": [label[u] for u, _ in part.edges],
            "to" if part.directed else "other end": [label[v] for _, v in part.edges],
        }
        if "edge_attr" in part.arrays:
            for i, name in enumerate(graphs.edge_feature_names[:20]):
                shown[name] = part.arrays["edge_attr"][part.edge_ids, i]
        if part.truth is not None:
            shown["known reason"] = part.truth
        st.dataframe(shown, hide_index=True, alt="Edges")
        if "edge_attr" in part.arrays:
            st.caption("The GNN reads which nodes an edge joins, not the edge's attributes.")
