"""The curve of a model that forgets: its stages, its lines, where the verdict falls."""

from __future__ import annotations

import numpy as np

from backend.sanity import HALF, Randomised
from components.figures import sanity

STAGES = ("trained", "output", "layer 1")


def made(*rows):
    return Randomised(STAGES, np.array(rows, dtype=float))


def test_a_line_a_method_and_the_level_of_the_verdict():
    found = {
        "<b>one</b>": made([1, 0.5, 0.2], [1, 0.7, 0.0]),
        "other": made([1, np.nan, -0.3]),
    }
    figure = sanity.curves(found, "GNN")
    by = {trace.name: trace for trace in figure.data}
    assert len(figure.data) == 3
    np.testing.assert_allclose(figure.data[0].y, [1, 0.6, 0.1], atol=1e-6)
    assert np.isnan(figure.data[1].y[1])
    assert list(by["verdict"].y) == [HALF, HALF]
    assert list(figure.layout.xaxis.ticktext) == ["trained", "+ output", "+ layer 1"]
    assert figure.layout.yaxis.range[0] < -0.3
    assert not any("<b>" in trace.name for trace in figure.data)
    assert "no ranking" in figure.data[1].customdata[1]


def test_both_themes_draw():
    for look in ("light", "dark"):
        assert sanity.curves({"one": made([1, 0, 0])}, "head", look).data
