"""Every format tells the same graph, and what cannot be used is refused with a sentence."""

from __future__ import annotations

import io
import json

import networkx as nx
import numpy as np
import pytest

from backend.errors import InputError
from backend.graphs import inputs
from backend.settings import Settings

SETTINGS = Settings(max_nodes=2000, max_edges=3000, max_graph_mb=3)


def read(name, data, **more):
    data = data if isinstance(data, bytes) else data.encode()
    return inputs.read(name, data, SETTINGS, **more)


def notes(found):
    return " ".join(found.origin["notes"])


def graph(kind=nx.MultiGraph):
    made = kind()
    made.add_node("é <script>", f=1.5, kind="x")
    made.add_node("../b", f=2.0, kind="y")
    made.add_node("=1+1", f=0.0, kind="x")
    for w in (1.0, 2.0):
        made.add_edge("é <script>", "../b", w=w)
    made.add_edge("../b", "../b", w=3.0)
    return made


def written(made):
    for name, write in (
        ("g.graphml", nx.write_graphml),
        ("g.gexf", nx.write_gexf),
        ("g.gml", nx.write_gml),
    ):
        out = io.BytesIO()
        write(made, out)
        yield name, out.getvalue()
    line = json.dumps(nx.node_link_data(made))
    yield "g.json", line.encode()
    yield "g.jsonl", line.encode() + b"\n\n"


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.MultiDiGraph])
def test_every_format_tells_the_same_graph(kind) -> None:
    for name, data in written(graph(kind)):
        found = read(name, data)
        assert found.node_names == ("é <script>", "../b", "=1+1"), name
        assert found.arrays["edges"].tolist() == [[0, 1], [0, 1], [1, 1]], name
        assert found.edge_feature_names == ("w",), name
        assert found.arrays["edge_attr"][:, 0].tolist() == [1, 2, 3], name
        assert found.feature_names == ("f", "kind=x", "kind=y"), name
        assert found.arrays["x"].tolist() == [[1.5, 1, 0], [2, 0, 1], [0, 1, 0]], name
        assert found.directed == (kind is nx.MultiDiGraph), name
        type(found).from_bytes(found.to_bytes())


def test_graphs_of_lines_stand_one_after_the_other_with_their_labels() -> None:
    lines = [
        {"nodes": [{"id": 1}, {"id": 2}], "links": [{"source": 2, "target": 1}], "label": "on"},
        {"nodes": [{"id": 1}], "links": [], "graph": {"label": "off"}},
    ]
    found = read("g.ndjson", "\n".join(map(json.dumps, lines)))
    assert found.arrays["node_counts"].tolist() == [2, 1]
    assert found.arrays["edge_counts"].tolist() == [1, 0]
    assert (found.task, found.class_names) == ("graph", ("off", "on"))
    assert found.arrays["labels"].tolist() == [1, 0]
    with pytest.raises(InputError, match="line 2"):
        read("g.jsonl", json.dumps(lines[0]) + "\n{")


def test_a_table_of_nodes_keeps_isolated_ones_and_tells_their_classes() -> None:
    table = "\ufeffname,age,class\na,1,good\nb,,bad\nc,3,\n".encode()
    found = read("e.csv", "to;from;weight\na;b;1,5\n", nodes=("n.csv", table))
    assert found.node_names == ("a", "b", "c")
    assert found.arrays["edges"].tolist() == [[1, 0]]
    assert found.arrays["edge_attr"].tolist() == [[1.5]]
    assert found.arrays["labels"].tolist() == [1, 0, -1]
    assert (found.task, found.class_names) == ("node", ("bad", "good"))
    assert found.arrays["x"].tolist() == [[1], [0], [3]]
    assert "age (1)" in notes(found)
    with pytest.raises(InputError, match="'z', which is not there"):
        read("e.csv", "source,target\na,z\n", nodes=("n.csv", table))
    with pytest.raises(InputError, match="twice"):
        read("e.csv", "source,target\na,b\n", nodes=("n.csv", b"id\na\na\n"))


def test_direction_is_said_assumed_or_refused() -> None:
    assert "does not say" in notes(read("e.csv", "u,v\na,b\n"))
    assert read("e.csv", "u,v\na,b\n", directed=True).directed
    assert read("e.csv", "source,target,Type\na,b,Directed\n").directed
    for name, data in (
        ("e.csv", "source,target,type\na,b,Directed\nb,c,Undirected\n"),
        (
            "g.graphml",
            '<graphml><graph edgedefault="undirected"><node id="a"/><node id="b"/>'
            '<edge source="a" target="b" directed="true"/></graph></graphml>',
        ),
    ):
        with pytest.raises(InputError, match="Some edges are directed"):
            read(name, data)


def test_undirected_edges_in_both_directions_are_one() -> None:
    found = read("e.csv", "u,v,w\na,b,1\nb,a,1\nc,b,2\nb,c,2\nc,c,3\n")
    assert sorted(map(tuple, found.arrays["edges"].tolist())) == [(0, 1), (1, 2), (2, 2)]
    assert found.arrays["edge_counts"].tolist() == [3]
    assert sorted(found.arrays["edge_attr"][:, 0].tolist()) == [1, 2, 3]
    assert len(read("e.csv", "u,v\na,b\nb,a\nb,c\n").arrays["edges"]) == 3


def test_one_node_without_an_edge() -> None:
    found = read("g.json", '{"nodes": [{"id": "a"}], "links": []}')
    assert found.arrays["edges"].shape == (0, 2)
    assert found.arrays["x"].tolist() == [[1]]


DTD = '<?xml version="1.0"?><!DOCTYPE graphml [<!ENTITY a "aaaa">]><graphml><graph/></graphml>'
EBCDIC = DTD.replace('"1.0"', '"1.0" encoding="cp037"').encode("cp037")
BAD = [
    ("g.graphml", DTD, "document type"),
    ("g.gexf", DTD.partition("?>")[2].encode("utf-16"), "document type"),
    ("g.graphml", EBCDIC, "broken"),
    ("g.graphml", "<graphml><graph><node id='a'/>", "broken"),
    ("g.graphml", "<svg/>", "no GraphML"),
    ("g.graphml", "<graphml>" + "<a>" * 100, "deeply"),
    ("g.graphml", "<graphml><graph></graph></graphml>", "no node"),
    ("g.gml", "graph [ node [ id 0 ] node [ id 0 ] ]", "twice"),
    ("g.gml", "graph [ node [ id 0 ]", "middle"),
    ("g.gml", "graph [ " + "a [ " * 99, "deeply"),
    ("g.gml", "graph [ node [ ] ]", "no id"),
    ("g.gml", "Creator 1", "no graph"),
    ("g.gml", "graph [ id " + "1" * 1_000_000 + "x", "no GML"),
    ("g.json", "[" * 200_000, "deeply"),
    ("g.json", '{"nodes": [{"id": "a"}], "links": [{"source": "a", "target": "b"}]}', "'b'"),
    ("g.json", '{"nodes": [{"id": "a", "f": Infinity}]}', "infinity"),
    ("g.json", '{"nodes": [{"id": 1' + "0" * 5000 + "}]}", "not JSON"),
    ("g.json", json.dumps({"nodes": [{"id": "a" * 1_000_000}]}), "1,000,000 characters"),
    ("g.json", json.dumps({"nodes": list(range(2001))}), "VITRINE_MAX_NODES"),
    ("e.csv", "u,v\n" + "a,b\n" * 3001, "VITRINE_MAX_EDGES"),
    ("e.csv", b"a" * 3_000_001, "VITRINE_MAX_GRAPH_MB"),
    ("e.csv", "", "empty"),
    ("e.csv", "source,target\n", "no edge"),
    ("e.csv", "source\na\n", "two columns"),
    ("e.csv", "1" * 1_000_000 + "x,b\n", "no edge|field larger"),
    ("e.csv", "source,target\na,\n", "empty in row 2"),
    ("e.csv", "source,target,w\na,b,inf\n", "infinity"),
    ("e.csv", b"PK\x03\x04rest", "zip"),
    ("g.json", b"\x80\x04\x95rest", "pickle"),
    ("g.gml", bytes(range(256)), "not a text file"),
    ("g.pkl", b"x", "not read"),
    ("m.smi", "CCO\n\nC1CC\n", "line 3"),
    ("m.smi", "smiles name\n", "no molecule"),
    ("m.smi", "C" * 5000, "too long"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "data", "said"), BAD, ids=range(len(BAD)))
def test_what_cannot_be_used_is_refused(name, data, said) -> None:
    with pytest.raises(InputError, match=said):
        read(name, data)


def test_other_encodings_are_read() -> None:
    assert read("e.csv", "u,v\né,b\n".encode("cp1252")).node_names == ("é", "b")
    assert read("e.csv", "u,v\né,b\n".encode("utf-16")).node_names == ("é", "b")
    assert read("e.csv", "1,2\n2,3\n").node_names == ("1", "2", "3")


def test_molecules_are_read_and_rdkit_is_silent(capfd) -> None:
    found = read("m.smi", "c1ccccc1 benzene\nCC(=O)O\n")
    assert found.graph_names == ("benzene", "CC(=O)O")
    assert found.arrays["edge_counts"].tolist() == [6, 3]
    assert found.graph(1).node_names == ("C", "C", "O", "O")
    assert found.graph(0).arrays["edge_attr"].sum(axis=0).tolist() == [0, 0, 0, 6]
    assert np.isfinite(found.arrays["positions"]).all()
    with pytest.raises(InputError, match="no molecule RDKit can read"):
        read("m.smi", "not-a-molecule")
    assert capfd.readouterr() == ("", "")


def test_a_large_graph_is_read() -> None:
    ends = np.random.default_rng(0).integers(0, 30_000, (100_000, 2)).tolist()
    table = "source,target\n" + "\n".join(f"n{a},n{b}" for a, b in ends)
    found = inputs.read("e.csv", table.encode(), Settings())
    assert found.arrays["edge_counts"].tolist() == [100_000]
    names = np.array(found.node_names)
    assert names[found.arrays["edges"][:3]].tolist() == [[f"n{a}", f"n{b}"] for a, b in ends[:3]]
