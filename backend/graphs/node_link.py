"""Node-link JSON, as networkx and D3 write it: one graph, or a list of graphs."""

from __future__ import annotations

import json
from typing import Any

from backend.errors import InputError, shown
from backend.graphs.sketch import Sketch

_TODO = 'Write it as {"nodes": [{"id": ...}], "links": [{"source": ..., "target": ...}]}.'
_OWN = frozenset({"id", "source", "target", "key"})


def read(sketch: Sketch, text: str) -> None:
    """Read one graph, or a list of them.

    Raises:
        InputError: it is no such JSON.
    """
    found = parsed(text, sketch.name)
    for number, one in enumerate(found if isinstance(found, list) else [found]):
        graph(sketch, one, f"{sketch.name}, graph {number}" if isinstance(found, list) else "")


def parsed(text: str, where: str) -> Any:
    """The value of a JSON text.

    Raises:
        InputError: it is none, or nested too deeply.
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise InputError("The JSON is nested too deeply.", where, _TODO) from error
    except ValueError as error:
        raise InputError(f"This is not JSON ({shown(str(error))}).", where, _TODO) from error


def graph(sketch: Sketch, found: Any, where: str = "") -> None:
    """Read one graph.

    Raises:
        InputError: it is not of that form.
    """
    where = where or sketch.name
    if not isinstance(found, dict):
        raise InputError("This is no graph: an object is expected.", where, _TODO)
    nodes = found.get("nodes")
    links = found.get("links", found.get("edges", []))
    if not isinstance(nodes, list) or not isinstance(links, list):
        raise InputError("It has no list of nodes, or its links are no list.", where, _TODO)
    about = found.get("graph")
    about = dict(about) if isinstance(about, dict) else {}
    more = {k: v for k, v in found.items() if k in ("label", "class", "y", "name")}
    about |= more
    number = len(sketch.node_counts)
    sketch.begin(str(about.pop("name", "") or ""))
    for name, value in about.items():
        if not isinstance(value, list):
            sketch.graphs.put(number, str(name), value)
    if isinstance(found.get("directed"), bool):
        sketch.direct(found["directed"])
    for i, one in enumerate(nodes):
        entry = one if isinstance(one, dict) else {"id": one}
        row = sketch.node(_id(entry.get("id", i), where), where)
        for name, value in entry.items():
            if name not in _OWN:
                sketch.nodes.put(row, name, value)
    for one in links:
        _link(sketch, one, where)
    sketch.end()


def _link(sketch: Sketch, one: Any, where: str) -> None:
    if isinstance(one, list) and len(one) == 2:
        one = {"source": one[0], "target": one[1]}
    if not isinstance(one, dict) or "source" not in one or "target" not in one:
        raise InputError("A link has no source or no target.", where, _TODO)
    row = sketch.edge(_id(one["source"], where), _id(one["target"], where))
    for name, value in one.items():
        if name not in _OWN:
            sketch.links.put(row, name, value)


def _id(value: Any, where: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return str(value)
        except ValueError as error:
            raise InputError("A node's id has too many digits.", where, _TODO) from error
    raise InputError(f"'{shown(str(value))}' is no id of a node.", where, _TODO)
