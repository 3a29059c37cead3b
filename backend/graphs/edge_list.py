"""A table of edges (CSV, TSV), if wanted with a table of nodes beside it."""

from __future__ import annotations

from backend.delimited import NUMBER, decoded, delimiter_of, rows
from backend.errors import InputError, shown
from backend.graphs.sketch import Sketch
from backend.names import apart

SOURCE = ("source", "from", "src", "u", "node1", "node_1", "start", "a")
TARGET = ("target", "to", "dst", "v", "node2", "node_2", "end", "b")
ID = ("id", "node", "node_id", "name")
_TODO = "Give a first row with source and target, and an edge in each further row."


def read(
    sketch: Sketch,
    data: bytes,
    nodes: tuple[str, bytes] | None = None,
    directed: bool | None = None,
) -> None:
    """Read the edges of a table, and the nodes of another.

    Columns are known by their names (source and target, from and to, ...), else the first two are
    taken. A column `type` of Directed or Undirected says so. Without a table of nodes, nodes are
    those that edges name.

    Args:
        nodes: name and contents of the table of nodes; nodes without an edge stay.

    Raises:
        InputError: a table is broken, a node stands there twice, or an edge names an unknown one.
    """
    sketch.begin()
    if nodes is not None:
        _nodes(sketch, *nodes)
    header, columns = _table(sketch, sketch.name, data)
    source, target = _ends(sketch, header, columns)
    cells = dict(zip(header, columns, strict=True))
    kinds = next((c for c in header if c.lower() in ("type", "directed")), None)
    if directed is not None:
        sketch.direct(directed)
    elif kinds is not None and _said(sketch, cells[kinds]):
        del cells[kinds]
    for a, b in zip(cells.pop(source), cells.pop(target), strict=True):
        if nodes is None:
            sketch.seen(a)
            sketch.seen(b)
        sketch.edge(a, b)
    for name, column in cells.items():
        sketch.links.whole(name, column)
    if not sketch.names:
        raise InputError("There is no edge in it.", sketch.name, _TODO)
    sketch.end()


def _said(sketch: Sketch, column: list[str]) -> bool:
    """Note what a column says of direction; False where it is about something else."""
    words = {word.strip().lower() for word in column}
    yes, no = {"directed", "true"}, {"undirected", "false", ""}
    if not words or not words <= yes | no or words == {""}:
        return False
    if words & yes:
        sketch.direct(True)
    if words & no:
        sketch.direct(False)
    return True


def _nodes(sketch: Sketch, name: str, data: bytes) -> None:
    header, columns = _table(sketch, name, data)
    column = next((c for wanted in ID for c in header if c.lower() == wanted), header[0])
    cells = dict(zip(header, columns, strict=True))
    for row, one in enumerate(cells.pop(column), start=2):
        sketch.node(one, f"{name}, row {row}")
    sketch.notes.append(f"Nodes are known by the column '{shown(column)}' of {shown(name)}.")
    for attribute, values in cells.items():
        sketch.nodes.whole(attribute, values)


def _table(sketch: Sketch, name: str, data: bytes) -> tuple[list[str], list[list[str]]]:
    """Names and cells of the columns."""
    text, notes = decoded(name, data)
    sketch.notes += notes
    delimiter = delimiter_of(text)
    found = list(rows(name, text, delimiter))
    if not found:
        raise InputError("The table is empty.", name, _TODO)
    header, limit = found[0], sketch.settings.max_columns
    if len(header) > limit:
        raise InputError(
            f"There are more than {limit:,} columns (VITRINE_MAX_COLUMNS).", name, "Leave some out."
        )
    uneven = next((i for i, row in enumerate(found, start=1) if len(row) != len(header)), None)
    if uneven is not None:
        raise InputError(
            f"Row {uneven} has {len(found[uneven - 1]):,} cells, the first has {len(header):,}.",
            name,
            "Give every row as many; quote cells that hold the delimiter.",
        )
    if all(NUMBER.fullmatch(cell.strip()) for cell in header):
        sketch.notes.append(f"The first row of {shown(name)} holds numbers: it is no header.")
        found.insert(0, ["source", "target", *(f"column {i}" for i in range(3, len(header) + 1))])
        found[0] = found[0][: len(header)]
    columns = [[cell.strip() for cell in column] for column in zip(*found[1:], strict=True)]
    return apart(found[0])[0], columns or [[] for _ in header]


def _ends(sketch: Sketch, header: list[str], columns: list[list[str]]) -> tuple[str, str]:
    """The columns of an edge's two nodes."""
    if len(header) < 2:
        raise InputError("A table of edges has at least two columns.", sketch.name, _TODO)
    by = {name.lower(): name for name in reversed(header)}
    for source, target in zip(SOURCE, TARGET, strict=True):
        if source in by and target in by:
            found = by[source], by[target]
            break
    else:
        found = header[0], header[1]
        sketch.notes.append(
            f"Edges go between the first two columns, '{shown(found[0])}' and '{shown(found[1])}'."
        )
    for name in found:
        column = columns[header.index(name)]
        if "" in column:
            raise InputError(
                f"Column '{shown(name)}' is empty in row {column.index('') + 2}.",
                sketch.name,
                "Name both nodes of every edge.",
            )
    return found
