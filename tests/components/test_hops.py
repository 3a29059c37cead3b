"""Bars of the hops: what landed and what is carried, on an explanation made by hand."""

import numpy as np
import pytest

from components.figures import hops
from tests.components.conftest import explain


@pytest.fixture
def traced():
    """Two prompt tokens, one carrier, one explained; hop 0 puts 0.25 of 2 on the prompt."""
    totals = np.array([[0.25, 0.25, 1.5, 0.0], [0.5, 0.0, 0.5, 0.0]], dtype=np.float32)
    first = np.array([0.25, 0.25, np.nan, np.nan], dtype=np.float32)
    second = np.array([0.375, 0.0, np.nan, np.nan], dtype=np.float32)
    found = explain(
        ["a", "b", "c", "d"],
        [0.625, 0.25, np.nan, np.nan],
        signed=False,
        hops=totals,
        carried=np.array([0.75, 0.375], dtype=np.float32),
    )
    found.arrays["readings/hop_0"], found.arrays["readings/hop_1"] = first, second
    found.values["sinks"] = [0]
    found.values["mass"] = {"template": 0.5, "special": 0.125, "sink": 0.25, "stop": 0.1}
    return found


def test_shares_are_of_the_whole(traced):
    landed, carried = hops.shares(traced)
    np.testing.assert_allclose(landed, [0.25, 0.375])
    np.testing.assert_allclose(carried, [0.75, 0.375])
    assert landed[0] + carried[0] == pytest.approx(1.0)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_two_bars_a_hop_with_unit_and_legend(traced, theme):
    drawn = hops.hops(traced, theme)
    assert [bar.name for bar in drawn.data] == [
        "landed on the prompt", "carried on by the model's own text",
    ]  # fmt: skip
    np.testing.assert_allclose(drawn.data[0].x, [0.25, 0.375])
    assert tuple(drawn.data[1].y) == ("hop 0", "hop 1")
    assert "share" in drawn.layout.xaxis.title.text
    assert drawn.layout.template is not None


def test_an_explanation_without_hops_has_no_bars(capital):
    with pytest.raises(ValueError, match="no hops"):
        hops.hops(capital)


def test_mass_is_said_in_a_sentence(traced):
    said = hops.mass(traced)
    for part in ("50.0% lie on the chat template", "positions: 0)", "10.0% of what hop 0 took"):
        assert part in said
    traced.values["sinks"] = []
    assert "none found" in hops.mass(traced)
