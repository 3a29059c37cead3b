"""JSON lines: a graph a line, each as node-link JSON."""

from __future__ import annotations

from backend.errors import InputError
from backend.graphs import node_link
from backend.graphs.sketch import Sketch


def read(sketch: Sketch, text: str) -> None:
    """Read the graph of each line that is not empty.

    Raises:
        InputError: a line is no graph; its number is in the text.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            where = f"{sketch.name}, line {number}"
            try:
                node_link.graph(sketch, node_link.parsed(line, where), where)
            except InputError as error:
                if error.where == where:
                    raise
                raise InputError(error.what, where, error.todo) from error
