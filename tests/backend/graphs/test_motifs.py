"""Pieces of planted graphs: shapes as defined, motifs numbered, joints and noise no reason."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from backend.graphs.motifs import GRID, HOUSE, WHEEL, Built, arrays, cycle


@pytest.mark.parametrize(
    ("shape", "known"),
    [
        (HOUSE, nx.house_graph()),
        (GRID, nx.grid_2d_graph(3, 3)),
        (WHEEL, nx.wheel_graph(6)),
        (cycle(5), nx.cycle_graph(5)),
        (cycle(6), nx.cycle_graph(6)),
    ],
)
def test_shapes_are_the_known_ones(shape, known):
    assert len(shape) == known.number_of_edges()
    assert nx.is_isomorphic(nx.Graph(list(shape)), known)


def test_a_motif_is_joined_by_one_edge_that_is_no_reason():
    built = Built.base(nx.path_graph(3))
    built.attach(cycle(3), 1)
    built.attach(HOUSE, 2, (1, 1, 2, 2, 3))
    assert built.edges[:2] == [(0, 1), (1, 2)]
    assert built.edges[2:6] == [(3, 4), (4, 5), (5, 3), (3, 1)]
    assert built.edges[6:] == [(6 + u, 6 + v) for u, v in HOUSE] + [(6, 2)]
    assert built.edge_motifs == [0, 0, 1, 1, 1, 0, *[2] * 6, 0]
    assert built.node_motifs == [0, 0, 0, 1, 1, 1, *[2] * 5]
    assert built.roles == [0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 3]


def test_noise_is_new_edges_between_different_nodes_and_no_reason():
    built = Built.base(nx.path_graph(6))
    built.attach(cycle(3), 0)
    before = list(built.edges)
    built.add_noise(20, np.random.default_rng(0))
    assert built.edges[: len(before)] == before
    assert len(built.edges) == len(built.edge_motifs) == len(before) + 20
    assert len({frozenset(edge) for edge in built.edges}) == len(built.edges)
    assert all(u != v for u, v in built.edges)
    assert built.edge_motifs[len(before) :] == [0] * 20


def test_noise_can_fill_a_graph_to_the_last_edge():
    built = Built.base(nx.path_graph(5))
    built.add_noise(6, np.random.default_rng(1))
    assert len({frozenset(edge) for edge in built.edges}) == 10


def test_graphs_stand_one_after_the_other():
    one, other = Built.base(nx.path_graph(3)), Built.base(nx.empty_graph(2))
    one.attach(cycle(3), 0)
    found, roles = arrays([one, other], 4, 0.5, np.random.default_rng(0))
    assert found["node_counts"].tolist() == [6, 2]
    assert found["edge_counts"].tolist() == [6, 0]
    assert found["edges"].shape == (6, 2)
    assert sorted(found["node_motifs"][:6].tolist()) == [0, 0, 0, 1, 1, 1]
    assert found["node_motifs"][6:].tolist() == roles[6:].tolist() == [0, 0]
    assert roles.tolist() == found["node_motifs"].tolist()
    assert found["x"].shape == (8, 4)
    assert (found["x"] == 0.5).all()
    assert {name: a.dtype.name for name, a in found.items()} == {
        "x": "float32",
        **dict.fromkeys(
            ("node_counts", "edge_counts", "edges", "edge_motifs", "node_motifs"), "int32"
        ),
    }


def test_no_edges_at_all():
    found, _ = arrays([Built.base(nx.empty_graph(2))], 1, 1.0, np.random.default_rng(0))
    assert found["edges"].shape == (0, 2)


def test_shuffling_keeps_the_graph_and_what_belongs_to_what():
    built = Built.base(nx.path_graph(6))
    built.attach(HOUSE, 2)
    built.attach(cycle(5), 4)
    shuffled = built.shuffled(np.random.default_rng(3))
    assert shuffled.edges != built.edges
    for motif, shape in ((1, nx.house_graph()), (2, nx.cycle_graph(5))):
        edges = [e for e, m in zip(shuffled.edges, shuffled.edge_motifs, strict=True) if m == motif]
        assert nx.is_isomorphic(nx.Graph(edges), shape)
        nodes = {v for v, m in enumerate(shuffled.node_motifs) if m == motif}
        assert set(nx.Graph(edges)) == nodes
    assert nx.is_isomorphic(nx.Graph(shuffled.edges), nx.Graph(built.edges))


def test_motifs_do_not_come_last():
    from backend.graphs import ba_2motifs

    made = ba_2motifs.data(0)
    places = [
        np.flatnonzero(made.graph(i).arrays["edge_motifs"] > 0).mean() / len(made.graph(i).edges)
        for i in range(100)
    ]
    assert abs(np.mean(places) - 0.5) < 0.05
