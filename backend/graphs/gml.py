"""GML (Graph Modelling Language, Himsolt 1997), read in one pass and without recursion."""

from __future__ import annotations

import html
import re
from typing import Any

from backend.errors import InputError, shown
from backend.graphs.sketch import Sketch

DEEPEST = 32
_TOKEN = re.compile(
    r'\s+|#[^\n]*|(?P<open>\[)|(?P<close>\])|"(?P<text>[^"]*)"'
    r"|(?P<number>[+-]?(?:\d++\.?+\d*+|\.\d++|inf|nan)(?:[eE][+-]?\d++)?)(?=[\s\]]|$)"
    r"|(?P<key>[A-Za-z_]\w*)",
    re.IGNORECASE,
)
_TODO = "Save the graph as GML again, or as GraphML."
_OWN = frozenset({"id", "source", "target", "key"})
Block = list[tuple[str, Any]]


def read(sketch: Sketch, text: str) -> None:
    """Read the graphs of a GML file.

    Raises:
        InputError: it is no GML, or nested too deeply.
    """
    graphs = [value for key, value in _blocks(sketch.name, text) if key.lower() == "graph"]
    for block in graphs:
        if not isinstance(block, list):
            raise InputError("The graph is no block.", sketch.name, _TODO)
        _graph(sketch, block)


def _graph(sketch: Sketch, block: Block) -> None:
    number = len(sketch.node_counts)
    plain = {k: v for k, v in block if not isinstance(v, list) and k not in ("node", "edge")}
    sketch.begin(str(plain.pop("name", "")))
    sketch.direct(plain.pop("directed", 0) == 1)
    for ignored in ("id", "multigraph", "comment", "Creator", "version"):
        plain.pop(ignored, None)
    for name, value in plain.items():
        sketch.graphs.put(number, name, value)
    for kind, value in block:
        if kind not in ("node", "edge") or not isinstance(value, list):
            continue
        found = dict(value)
        wanted = ("id",) if kind == "node" else ("source", "target")
        if any(isinstance(found.get(end), list | None) for end in wanted):
            raise InputError(f"A {kind} has no {' or no '.join(wanted)}.", sketch.name, _TODO)
        ends = [_id(found[end]) for end in wanted]
        row = sketch.node(ends[0]) if kind == "node" else sketch.edge(*ends)
        cells = sketch.nodes if kind == "node" else sketch.links
        for name, one in value:
            if name not in _OWN and not isinstance(one, list):
                cells.put(row, name, one)
    sketch.end()


def _id(value: Any) -> str:
    return f"{value:.0f}" if isinstance(value, float) and value == value // 1 else str(value)


def _blocks(where: str, text: str) -> Block:
    """The keys and values of the file; a block is a list of them."""
    top: Block = []
    stack: list[Block] = [top]
    key: str | None = None
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            line = text.count("\n", 0, at) + 1
            raise InputError(f"Line {line} is no GML: '{shown(text[at : at + 40])}'.", where, _TODO)
        at = token.end()
        kind = token.lastgroup
        if kind is None:
            continue
        if kind == "close" and key is None and len(stack) > 1:
            stack.pop()
        elif kind == "key" and key is None:
            key = token["key"]
        elif kind in ("open", "text", "number") and key is not None:
            if kind == "open":
                inner: Block = []
                stack[-1].append((key, inner))
                stack.append(inner)
            elif kind == "text":
                stack[-1].append((key, html.unescape(token["text"])))
            else:
                stack[-1].append((key, float(token["number"])))
            key = None
        else:
            line = text.count("\n", 0, at) + 1
            raise InputError(f"Line {line}: '{shown(token[0])}' is out of place.", where, _TODO)
        if len(stack) > DEEPEST:
            raise InputError("It is nested too deeply.", where, _TODO)
    if len(stack) > 1 or key is not None:
        raise InputError("The file ends in the middle of a block.", where, _TODO)
    return top
