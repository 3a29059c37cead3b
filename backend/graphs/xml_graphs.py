"""GraphML and GEXF, read as a stream of tags. No document type, no entity is ever expanded."""

from __future__ import annotations

from typing import NoReturn
from xml.parsers import expat

from backend.errors import InputError, shown
from backend.graphs.sketch import Sketch

DEEPEST = 32
_TODO = "Save the graph as GraphML or GEXF again."
_OWN = frozenset({"id", "source", "target", "label", "type", "directed", "start", "end"})


def read(sketch: Sketch, data: bytes) -> None:
    """Read the graphs of a GraphML or GEXF file.

    Raises:
        InputError: it has a document type or an entity, is broken, or is nested too deeply.
    """
    plain = data.replace(b"\0", b"").lower()  # UTF-16 is ASCII with zeros between.
    if b"<!doctype" in plain or b"<!entity" in plain:
        _refuse(sketch.name)
    reader = _Reader(sketch)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = lambda *_: _refuse(sketch.name)
    parser.EntityDeclHandler = lambda *_: _refuse(sketch.name)
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise InputError(f"The XML is broken ({shown(str(error))}).", sketch.name, _TODO) from error


def _refuse(name: str) -> NoReturn:
    raise InputError(
        "The file declares a document type or an entity (<!DOCTYPE or <!ENTITY), and such files "
        "are never read.",
        name,
        "Remove the declaration: GraphML and GEXF need none.",
    )


class _Reader:
    """The tags as they come."""

    def __init__(self, sketch: Sketch) -> None:
        self.sketch = sketch
        self.depth = 0
        self.root = ""
        self.keys: dict[tuple[str, str], str] = {}
        self.defaults: dict[tuple[str, str], str] = {}
        self.given: set[tuple[str, str]] = set()
        self.domain = ""
        self.key = ("", "")
        self.kind = ""
        self.row = 0
        self.key_of_data: str | None = None
        self.words: list[str] | None = None
        self.default = "undirected"

    def start(self, name: str, at: dict[str, str]) -> None:
        tag = name.rpartition(":")[2].lower()
        self.depth += 1
        if self.depth > DEEPEST:
            raise InputError("It is nested too deeply.", self.sketch.name, _TODO)
        if not self.root:
            self.root = tag
            if tag not in ("graphml", "gexf"):
                raise InputError(
                    f"The XML holds '{shown(tag)}', no GraphML or GEXF.", self.sketch.name, _TODO
                )
        elif tag == "graph":
            self._graph(at)
        elif tag in ("node", "edge"):
            self._item(tag, at)
        elif tag in ("hyperedge", "port"):
            raise InputError(f"A {tag} is not read.", self.sketch.name, "Use edges of two nodes.")
        elif tag == "attributes":
            self.domain = at.get("class", "node")
        elif tag in ("key", "attribute"):
            domain = at.get("for", "all") if tag == "key" else self.domain
            self.key = (domain, at.get("id", ""))
            self.keys[self.key] = at.get("attr.name") or at.get("title") or at.get("id", "")
        elif tag in ("data", "default"):
            self.key_of_data, self.words = at.get("key", ""), []
        elif tag == "attvalue":
            self._put(at.get("for", at.get("id", "")), at.get("value", ""))

    def text(self, text: str) -> None:
        if self.words is not None:
            self.words.append(text)

    def end(self, name: str) -> None:
        tag = name.rpartition(":")[2].lower()
        self.depth -= 1
        if tag == "data" and self.words is not None:
            self._put(self.key_of_data or "", "".join(self.words).strip())
            self.words = None
        elif tag == "default" and self.words is not None:
            self.defaults[self.key] = "".join(self.words).strip()
            self.words = None
        elif tag in ("node", "edge") and self.kind == tag:
            self._fill()
            self.kind = "graph"
        elif tag == "graph" and self.kind:
            self.sketch.end()
            self.kind = ""

    def _graph(self, at: dict[str, str]) -> None:
        if self.kind:
            raise InputError(
                "A graph stands inside another one.", self.sketch.name, "Bring flat graphs."
            )
        self.default = at.get("edgedefault", at.get("defaultedgetype", "undirected"))
        self.sketch.begin(at.get("id", ""))
        self.sketch.direct(self.default == "directed")
        self.kind, self.row = "graph", len(self.sketch.node_counts)

    def _item(self, tag: str, at: dict[str, str]) -> None:
        wanted = ("id",) if tag == "node" else ("source", "target")
        if self.kind != "graph" or any(end not in at for end in wanted):
            raise InputError(
                f"A {tag} is out of place, or has no {' or no '.join(wanted)}.",
                self.sketch.name,
                _TODO,
            )
        self.kind, self.given = tag, set()
        if tag == "node":
            self.row = self.sketch.node(at["id"])
            if "label" in at:
                self.sketch.nodes.put(self.row, "label", at["label"])
            return
        said = at.get("type", self.default)
        if "directed" in at:
            said = "directed" if at["directed"].lower() in ("true", "1") else "undirected"
        if said in ("directed", "undirected"):
            self.sketch.direct(said == "directed")
        self.row = self.sketch.edge(at["source"], at["target"])
        for name, value in at.items():
            if name not in _OWN:
                self.sketch.links.put(self.row, name, value)

    def _put(self, key: str, value: str) -> None:
        if self.kind in ("node", "edge", "graph"):
            found = next((k for k in ((self.kind, key), ("all", key)) if k in self.keys), None)
            self.given.add(found or (self.kind, key))
            self._cell(self.keys[found] if found else key, value)

    def _fill(self) -> None:
        """Put the defaults of what a node or edge did not say."""
        for key, value in self.defaults.items():
            if key[0] in (self.kind, "all") and key not in self.given:
                self._cell(self.keys[key], value)

    def _cell(self, name: str, value: str) -> None:
        sketch = self.sketch
        if self.kind == "graph":
            sketch.graphs.put(len(sketch.node_counts), name, value)
        else:
            (sketch.nodes if self.kind == "node" else sketch.links).put(self.row, name, value)
