"""A consensus with its disagreement in the place of its scores draws as any explanation does."""

from __future__ import annotations

import numpy as np

from components.agree import disagreement
from components.figures import graph
from tests.components.conftest import ENGLISH, explain
from tests.components.graphed import explained

RING = [(i, (i + 1) % 4) for i in range(4)]


def test_the_disagreement_takes_the_place_of_the_scores_and_of_nothing_else():
    apart = np.array([0.5, 0.0, 0.25, 0.0, np.nan, np.nan, np.nan], dtype=np.float32)
    joint = explain(ENGLISH, answer=3, unit="mean rank", disagreement=apart, hidden=apart)
    before = joint.arrays["scores"].copy()
    found = disagreement(joint)
    np.testing.assert_array_equal(found.arrays["scores"], apart)
    assert set(found.arrays) == {"scores", "disagreement", "hidden"}
    assert (found.sequence, found.unit) == (joint.sequence, "mean rank")
    np.testing.assert_array_equal(joint.arrays["scores"], before)


def test_the_disagreement_of_edges_is_drawn_on_the_graph():
    joint = explained(RING, [1, 0.5, 0.25, 0])
    joint.arrays["disagreement"] = np.array([0, 0.5, 0.1, 0], dtype=np.float32)
    found = disagreement(joint)
    assert found.arrays["scores"].tolist() == joint.arrays["disagreement"].tolist()
    np.testing.assert_array_equal(found.arrays["edges"], joint.arrays["edges"])
    assert graph.figure(found).data
