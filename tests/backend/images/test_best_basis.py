"""Which basis is taken."""

from __future__ import annotations

import pytest

from backend.images.discovery import _best


@pytest.mark.parametrize(
    ("tried", "best"),
    [
        ({"cav": (0.4, 0.0), "subspace": (1.0, 4.9), "nmf": (1.03, 0.1)}, "nmf"),
        ({"cav": (0.4, 0.0), "subspace": (1.0, 0.1), "nmf": (1.2, 0.0)}, "subspace"),
        ({"cav": (0.4, 0.0), "subspace": (0.7, 2.0)}, "subspace"),
        ({"cav": (-0.1, 0.3)}, "cav"),
    ],
)
def test_of_those_that_explain_nearly_all_the_one_that_cancels_least(tried, best):
    rows = {k: {"explained": e, "cancelled": c} for k, (e, c) in tried.items()}
    assert _best(rows) == best
