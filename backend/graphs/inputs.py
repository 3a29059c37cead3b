"""Read graphs from a file; nothing that is brought in is executed."""

from __future__ import annotations

from pathlib import PurePath

from backend.delimited import NUMBER, decoded
from backend.errors import InputError, shown
from backend.graphs import edge_list, gml, json_lines, node_link, smiles, xml_graphs
from backend.graphs.assembled import assembled
from backend.graphs.explanation import GraphSet
from backend.graphs.sketch import Sketch
from backend.settings import Settings

XML = (".graphml", ".xml", ".gexf")
TABLES = (".csv", ".tsv")
LINES = (".jsonl", ".ndjson")
SMILES = (".smi", ".smiles", ".txt")
ENDINGS = (*XML, ".gml", *TABLES, ".json", *LINES, *SMILES)
_FOREIGN = {
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "a gzip archive",
    b"\x80\x02": "a pickle",
    b"\x80\x03": "a pickle",
    b"\x80\x04": "a pickle",
    b"\x80\x05": "a pickle",
    b"%PDF": "a PDF",
    b"PAR1": "Parquet",
}


def read(
    name: str,
    data: bytes,
    settings: Settings,
    *,
    nodes: tuple[str, bytes] | None = None,
    directed: bool | None = None,
) -> GraphSet:
    """The graphs of a file, without a network.

    Args:
        name: the file's name; its ending says how to read it.
        nodes: name and contents of a table of nodes beside a table of edges.
        directed: whether the edges of a table have a direction; None lets the table say.

    Raises:
        InputError: it is of another kind, broken, empty or over a limit; the text says what to do.
    """
    ending = PurePath(name).suffix.lower()
    if ending not in ENDINGS:
        raise InputError(
            f"Files ending in '{shown(ending)}' are not read.", name, f"Use {', '.join(ENDINGS)}."
        )
    _checked(name, data, settings)
    if nodes is not None:
        _checked(*nodes, settings)
        if ending not in TABLES:
            raise InputError(
                "A table of nodes goes with a table of edges alone.", nodes[0], "Leave it out."
            )
    sketch = Sketch(name, settings)
    if ending in XML:
        xml_graphs.read(sketch, data)
        return assembled(sketch)
    if ending in TABLES:
        edge_list.read(sketch, data, nodes, directed)
        return assembled(sketch)
    text, notes = decoded(name, data)
    sketch.notes += notes
    if ending in SMILES:
        if _edges(text):
            edge_list.read(sketch, "\n".join(map(_comma, text.splitlines())).encode())
            return assembled(sketch)
        return smiles.read(name, text, settings)
    if ending == ".gml":
        gml.read(sketch, text)
    elif ending in LINES:
        json_lines.read(sketch, text)
    else:
        node_link.read(sketch, text)
    return assembled(sketch)


def _checked(name: str, data: bytes, settings: Settings) -> None:
    """Check what can be told before reading."""
    if len(data) > settings.max_graph_mb * 1e6:
        raise InputError(
            f"The file has more than {settings.max_graph_mb:g} MB (VITRINE_MAX_GRAPH_MB).",
            name,
            "Bring a part of the graph, or a table of edges.",
        )
    if not data.strip():
        raise InputError("The file is empty.", name, "Bring one with a graph.")
    foreign = next((what for magic, what in _FOREIGN.items() if data.startswith(magic)), None)
    if foreign is not None:
        raise InputError(
            f"This is {foreign}, no file of graphs: nothing in it was run.",
            name,
            f"Bring one of {', '.join(ENDINGS)}.",
        )


def _edges(text: str) -> bool:
    """Whether plain text holds pairs of numbers, and no molecules."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    cells = [line.replace(",", " ").split() for line in lines[:5]]
    return bool(cells) and all(len(row) >= 2 and all(map(NUMBER.fullmatch, row)) for row in cells)


def _comma(line: str) -> str:
    return "" if line.startswith("#") else ",".join(line.replace(",", " ").split())
