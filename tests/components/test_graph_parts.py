"""Which edges and nodes of a part are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from components.figures import graph
from components.figures.graph_parts import distances, drawn, key, percent
from tests.components.graphed import explained, scaled

PATH = [(i, i + 1) for i in range(9)]


def test_large_parts_show_the_edges_that_carry_the_mass():
    generator = np.random.default_rng(0)
    edges = generator.integers(0, 300, size=(1000, 2))
    scores = np.r_[np.ones(100), np.full(900, 1e-3)]
    found = explained(edges, scores)
    part = drawn(found)
    assert len(part.edges) == 400
    assert set(range(100)) <= set(part.edges.tolist())
    expected = (100 + 300e-3) / (100 + 900e-3)
    assert part.mass == pytest.approx(expected, abs=1e-6)
    assert "400 of 1,000 edges" in part.note
    assert "400 of 1,000 edges" in str(graph.figure(found).layout.title.text)


def test_among_equals_the_nearest_to_the_target_come_first():
    found = explained(PATH, np.zeros(9), target=7, node=7)
    assert drawn(found, budget=4).edges.tolist() == [5, 6, 7, 8]
    scores = np.zeros(9)
    scores[2] = 1.0
    assert drawn(explained(PATH, scores), budget=3).edges.tolist() == [1, 2, 3]
    assert drawn(explained(PATH, np.zeros(9), target=0), budget=4).mass is None


def test_nothing_is_left_out_of_what_fits():
    found = explained(PATH, np.arange(9))
    part = drawn(found)
    assert part.edges.tolist() == list(range(9))
    assert part.nodes.tolist() == list(range(10))
    assert (part.mass, part.hidden, part.note) == (1.0, 0, "")


def test_the_target_is_drawn_even_without_an_edge():
    found = explained([(0, 1)] * 3, [3, 2, 1], nodes=200, target=150)
    part = drawn(found, budget=1)
    assert part.nodes.tolist() == [0, 1, 150]
    assert part.hidden == 197
    assert "197 nodes left out" in part.note


def test_a_part_without_edges_is_its_nodes():
    part = drawn(explained([], [], nodes=500))
    assert len(part.edges) == 0
    assert len(part.nodes) == 150
    assert drawn(explained([], [], nodes=3)).nodes.tolist() == [0, 1, 2]


def test_key_and_rest_share_the_budget_rule():
    found = scaled(PATH, np.arange(9), budgets=(1 / 3, 2 / 3))
    inside, outside = drawn(found, "key", 0), drawn(found, "complement", 0, budget=2)
    assert inside.edges.tolist() == [6, 7, 8]
    assert outside.edges.tolist() == [4, 5]
    assert outside.mass == pytest.approx(9 / 15)
    assert outside.note == "2 of 6 edges, 60 % of the mass"


def test_a_scale_that_is_not_there_is_the_nearest():
    found = scaled(PATH, np.arange(9), budgets=(1 / 3, 2 / 3))
    assert [int(key(found, k).sum()) for k in (-1, 0, 1, 7)] == [3, 3, 6, 6]
    assert int(key(found).sum()) == 6
    plain = explained([(0, 1)] * 30, np.arange(30))
    assert int(key(plain, share=0.1).sum()) == 3
    assert not key(explained([(0, 1)] * 3, [1, 2, np.nan]), share=0.5)[2]


@pytest.mark.parametrize("bad", [{"shown": "some"}, {"budget": 0}])
def test_bad_requests(bad):
    with pytest.raises(ValueError, match="expected"):
        drawn(explained(PATH, np.zeros(9)), **bad)


def test_steps_are_counted_in_both_directions():
    edges = np.array([(1, 0), (1, 2), (4, 4)])
    assert distances(edges, 5, [0]).tolist() == [0, 1, 2, 5, 5]


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.0, "0 %"), (1.0, "100 %"), (0.25, "25 %"), (0.002, "under 1 %"), (0.997, "over 99 %"),
     (0.9999, "over 99.9 %")],
)  # fmt: skip
def test_nearly_all_is_not_all(share, said):
    assert percent(share) == said
