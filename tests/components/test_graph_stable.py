"""The mean of runs as an explanation: its scores, its nodes, and what stays as its key part."""

from __future__ import annotations

import numpy as np

from backend.stability import stability
from components.figures import graph
from components.figures.graph_parts import key
from components.graph_stable import mean
from tests.components.graphed import explained

RING = [(i, (i + 1) % 8) for i in range(8)]


def test_the_mean_has_the_stable_edges_for_its_key_part():
    runs = [explained(RING, row) for row in ([8, 7, 6, 1, 0, 0, 0, 0], [8, 7, 0, 5, 0, 0, 0, 0])]
    measured = stability([one.arrays["scores"] for one in runs], 0.25)
    found = mean(runs, measured)
    assert found.arrays["scores"].tolist() == [8, 7, 3, 3, 0, 0, 0, 0]
    nodes = [one.arrays["node_scores"] for one in runs]
    np.testing.assert_allclose(found.arrays["node_scores"], (nodes[0] + nodes[1]) / 2)
    assert np.flatnonzero(key(found, 0)).tolist() == np.flatnonzero(measured.often >= 0.9).tolist()
    assert np.flatnonzero(key(found, 0))[:2].tolist() == [0, 1]
    assert graph.figure(found, scale=0).data


def test_where_nothing_stays_all_edges_are_faint():
    runs = [explained(RING, row) for row in ([8, 7, 6, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 6, 7, 8])]
    measured = stability([one.arrays["scores"] for one in runs], 0.25)
    found = mean(runs, measured)
    assert not key(found, 0).any()
    assert graph.figure(found, scale=0).data
