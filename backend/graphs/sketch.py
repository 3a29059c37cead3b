"""Graphs as a file tells them, node by node and edge by edge, before they are arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from backend.delimited import converted
from backend.errors import InputError, shown
from backend.settings import Settings

LONGEST_NAME = 1000
"""Characters of a node's name."""
LONGEST_LIST = 2000
"""Numbers that one attribute may hold as a list."""
MOST_CELLS = 30_000_000
"""Rows times columns that are spread out in memory."""


class Cells:
    """Attributes of rows that come one by one; a row need not have all of them."""

    def __init__(self, name: str, most: int) -> None:
        self._name, self._most = name, most
        self._found: dict[str, tuple[list[int], list[Any]]] = {}

    def put(self, row: int, column: str, value: Any) -> None:
        """Note a value: a number, words, or a list of numbers; None and nested values are not.

        Raises:
            InputError: there are too many columns.
        """
        if isinstance(value, list):
            if all(isinstance(v, int | float) for v in value) and len(value) <= LONGEST_LIST:
                for i, one in enumerate(value):
                    self.put(row, f"{column}_{i}", one)
            return
        if not isinstance(value, int | float | str):
            return
        found = self._found.get(column)
        if found is None:
            if len(self._found) >= self._most:
                raise InputError(
                    f"There are more than {self._most:,} attributes (VITRINE_MAX_COLUMNS).",
                    self._name,
                    "Leave out those that are no features.",
                )
            found = self._found[column] = ([], [])
        found[0].append(row)
        found[1].append(value)

    def whole(self, column: str, values: Sequence[str]) -> None:
        """Note the values of all rows."""
        self._found[column] = (list(range(len(values))), list(values))

    def columns(self, rows: int) -> dict[str, np.ndarray]:
        """Each column over all rows: float64 with NaN where it is empty, or str with "".

        Raises:
            InputError: they take too much memory.
        """
        if rows * len(self._found) > MOST_CELLS:
            raise InputError(
                f"{rows:,} rows of {len(self._found):,} attributes are too many to hold.",
                self._name,
                "Leave out attributes that are no features.",
            )
        return {name: _spread(*found, rows) for name, found in self._found.items()}


def _spread(at: list[int], values: list[Any], rows: int) -> np.ndarray:
    if any(isinstance(value, str) for value in values):
        known = converted([value if isinstance(value, str) else str(value) for value in values])[0]
        if known.dtype.kind != "f" and all(w.lower() in ("", "true", "false") for w in known):
            said = {"": np.nan, "true": 1.0, "false": 0.0}
            known = np.array([said[word.lower()] for word in known])
    else:
        known = np.array([_number(value) for value in values], dtype=np.float64)
    found = np.full(rows, np.nan) if known.dtype.kind == "f" else np.full(rows, "", dtype=object)
    found[at] = known
    return found


def _number(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # A whole number of hundreds of digits.
        return float("inf")


class Sketch:
    """Graphs one after the other: `begin`, its nodes and edges in any order, `end`.

    Attributes:
        names: ids of all nodes. edges: an [e, 2] array a graph, numbers within it.
        node_counts: a number a graph. directed: None where the file does not say.
        nodes, links, graphs: attributes of nodes, edges, graphs, by their number among all.
    """

    def __init__(self, name: str, settings: Settings) -> None:
        self.name, self.settings = name, settings
        self.names: list[str] = []
        self.edges: list[np.ndarray] = []
        self.node_counts: list[int] = []
        self.graph_names: list[str] = []
        self.directed: bool | None = None
        self.notes: list[str] = []
        self.nodes, self.links, self.graphs = (Cells(name, settings.max_columns) for _ in range(3))
        self.edge_count = 0
        self._ids: dict[str, int] = {}
        self._ends: list[tuple[str, str]] = []

    def begin(self, name: str = "") -> None:
        """Start a graph.

        Raises:
            InputError: there are too many.
        """
        _limit(self.name, len(self.node_counts) + 1, self.settings.max_graphs, "graph")
        self.graph_names.append(name[:LONGEST_NAME])
        self._ids, self._ends = {}, []

    def node(self, name: str, where: str = "") -> int:
        """Add a node; returns its number among all.

        Raises:
            InputError: it is there already, its name is too long, or there are too many.
        """
        if name in self._ids:
            raise InputError(
                f"The node '{shown(name)}' stands there twice.",
                where or self.name,
                "Give every node an id of its own.",
            )
        if len(name) > LONGEST_NAME:
            raise InputError(
                f"A node's id has {len(name):,} characters: '{shown(name)}'.",
                where or self.name,
                f"Use ids of at most {LONGEST_NAME:,}.",
            )
        _limit(self.name, len(self.names) + 1, self.settings.max_nodes, "node")
        self._ids[name] = len(self._ids)
        self.names.append(name)
        return len(self.names) - 1

    def seen(self, name: str) -> None:
        """Add a node where it is not there yet."""
        if name not in self._ids:
            self.node(name)

    def edge(self, source: str, target: str) -> int:
        """Add an edge; returns its number among all.

        Raises:
            InputError: there are too many.
        """
        _limit(self.name, self.edge_count + 1, self.settings.max_edges, "edge")
        self._ends.append((source, target))
        self.edge_count += 1
        return self.edge_count - 1

    def direct(self, directed: bool) -> None:
        """Say whether edges have a direction.

        Raises:
            InputError: others were said to be of the other kind.
        """
        if self.directed is not None and self.directed != directed:
            raise InputError(
                "Some edges are directed and some are not.",
                self.name,
                "Make them all directed: an undirected edge is one in each direction.",
            )
        self.directed = directed

    def end(self) -> None:
        """Finish a graph.

        Raises:
            InputError: an edge leads to an unknown node, or there is no node.
        """
        if not self._ids:
            number = len(self.node_counts)
            which = f" {number}" if number else ""
            raise InputError(f"Graph{which} has no node.", self.name, "Bring a graph with nodes.")
        try:
            ends = [(self._ids[a], self._ids[b]) for a, b in self._ends]
        except KeyError as error:
            missing = error.args[0]
            at = next(i for i, pair in enumerate(self._ends, start=1) if missing in pair)
            raise InputError(
                f"Edge {at:,} names the node '{shown(missing)}', which is not there.",
                self.name,
                "Add the node, or remove the edge.",
            ) from error
        self.edges.append(np.array(ends, dtype=np.int32).reshape(-1, 2))
        self.node_counts.append(len(self._ids))


def _limit(where: str, count: int, most: int, what: str) -> None:
    if count > most:
        raise InputError(
            f"There are more than {most:,} {what}s (VITRINE_MAX_{what.upper()}S).",
            where,
            "Bring a part of it, for example the surroundings of the node in question.",
        )
