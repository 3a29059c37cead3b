"""Bring graphs: a file, a table of nodes beside it, SMILES, and a GNN's weights."""

from __future__ import annotations

import streamlit as st

from backend.errors import InputError
from backend.graphs import inputs, own_weights, smiles
from backend.graphs.architecture import TITLES, Architecture
from backend.graphs.explanation import GraphSet
from backend.settings import settings
from components.held_file import File, held_file
from components.plain import plain

FILE, SMILES = "A file", "SMILES"
_EXAMPLE = """\
source,target
Ada,Ben
Ben,Caro
Caro,Ada
Caro,Dev
"""


def template() -> bytes:
    """A small table of edges as .csv."""
    return _EXAMPLE.encode()


def uploaded(prefix: str, *, with_weights: bool) -> GraphSet | None:
    """The graphs as the widgets have them; None while there are none, with the reason shown.

    Args:
        with_weights: also asks for the weights and the architecture of a GNN.
    """
    how = st.segmented_control(
        "Bring",
        (FILE, SMILES),
        default=FILE,
        required=True,
        key=f"{prefix}.how",
        persist_state="session",
        help="SMILES: molecules as text, one a line.",
    )
    try:
        graphs = _file(prefix) if how == FILE else _smiles(prefix)
        if graphs is None:
            return None
        if with_weights:
            graphs = _weighted(graphs, prefix)
    except InputError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return None
    if graphs is not None:
        _say(graphs)
    return graphs


def _file(prefix: str) -> GraphSet | None:
    file = held_file(
        f"{prefix}.file",
        "Graphs",
        inputs.ENDINGS,
        "GraphML, GEXF, GML, an edge list (CSV), node-link JSON, or JSON lines: a graph a line.",
        settings().max_graph_mb,
    )
    st.download_button(
        "Template (.csv)",
        template(),
        "edges.csv",
        "text/csv",
        icon=":material/download:",
        key=f"{prefix}.template",
        on_click="ignore",
        type="tertiary",
    )
    if file is None:
        st.caption("Bring a file of graphs, or fill in the template: a row an edge.")
        return None
    nodes = None
    if file[0].lower().endswith(inputs.TABLES):
        nodes = held_file(
            f"{prefix}.nodes",
            "Node table (optional)",
            (".csv", ".tsv"),
            "A row a node: its id, then features by name; a column label or class is its true "
            "class.",
            settings().max_graph_mb,
        )
    return _read(file, nodes)


@st.cache_resource(max_entries=4, show_spinner="Reading the graphs")
def _read(file: File, nodes: File | None) -> GraphSet:
    return inputs.read(*file, settings(), nodes=nodes)


def _smiles(prefix: str) -> GraphSet | None:
    text = st.text_area(
        "SMILES",
        key=f"{prefix}.smiles",
        placeholder="CC(=O)Oc1ccccc1C(=O)O aspirin",
        help="One molecule a line; a name may follow after a space.",
        persist_state="session",
    )
    if not text.strip():
        st.caption("Type a molecule, for example `O=[N+]([O-])c1ccccc1` (nitrobenzene).")
        return None
    return _molecules(text)


@st.cache_resource(max_entries=4, show_spinner="Reading the molecules")
def _molecules(text: str) -> GraphSet:
    return smiles.read("molecules", text, settings())


def _weighted(graphs: GraphSet, prefix: str) -> GraphSet | None:
    """The graphs with a GNN of one's own, or None while its weights are not there."""
    weights = held_file(
        f"{prefix}.weights",
        "Weights",
        (".safetensors",),
        "The GNN's state dict as safetensors. Names, shapes and number types are checked.",
        settings().max_graph_mb,
    )
    with st.expander("Architecture", expanded=weights is None):
        architecture = _architecture(graphs, prefix)
    if weights is None:
        st.caption("Bring the weights of the GNN, and say how it is built.")
        return None
    read = own_weights.read(*weights, architecture, settings())
    return own_weights.attached(graphs, architecture, read)


def _architecture(graphs: GraphSet, prefix: str) -> Architecture:
    kinds = list(TITLES)
    kind = st.selectbox(
        "Convolution", kinds, format_func=TITLES.__getitem__, key=f"{prefix}.a.kind"
    )
    task = st.segmented_control(
        "It classifies",
        ("graph", "node"),
        format_func={"graph": "graphs", "node": "nodes"}.__getitem__,
        default="graph",
        required=True,
        key=f"{prefix}.a.task",
    )
    left, right = st.columns(2)
    hidden = left.number_input("Width", 1, 1024, 32, key=f"{prefix}.a.hidden")
    layers = right.number_input("Layers", 1, 16, 3, key=f"{prefix}.a.layers")
    classes = left.number_input("Classes", 2, 1000, 2, key=f"{prefix}.a.classes")
    heads = right.number_input(
        "Heads", 1, 16, 1, key=f"{prefix}.a.heads", disabled=kind != "gat", help="Of a GAT."
    )
    pooling = left.selectbox(
        "Pooling", ("mean", "sum", "max"), key=f"{prefix}.a.pooling", disabled=task == "node"
    )
    norm = right.toggle("Batch norm", True, key=f"{prefix}.a.norm")
    st.caption(
        "The state dict holds `convs.0`, `convs.1`, … as torch_geometric names them, `norms.0`, …, "
        "`hidden` and `out`; docs/graphs.md lists every name and shape."
    )
    return Architecture(
        kind=kind,
        task=task,
        features=graphs.arrays["x"].shape[1],
        hidden=hidden,
        layers=layers,
        classes=classes,
        heads=heads,
        pooling=pooling,
        batch_norm=norm,
    )


def _say(graphs: GraphSet) -> None:
    nodes, edges = len(graphs.arrays["x"]), len(graphs.arrays["edges"])
    count = f"{len(graphs):,} graphs" if len(graphs) != 1 else "1 graph"
    kind = "directed" if graphs.directed else "undirected"
    st.caption(f"{count}, {nodes:,} nodes, {edges:,} {kind} edges.")
    notes = graphs.origin.get("notes")
    if isinstance(notes, list) and notes:
        st.info(
            "\n".join(f"- {plain(str(note))}" for note in notes), icon=":material/sticky_note_2:"
        )
