"""Hops through the model's own text, on a flow small enough to follow by hand."""

from __future__ import annotations

import numpy as np
import pytest

from backend.tokens.hops import follow

# Tokens 0, 1: prompt; 2, 3: reasoning; 4: answer. Row i: what position i takes from each token.
FLOW = np.array(
    [
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [0.2, 0.8, 0.0, 0.0, 0.0],
        [0.6, 0.2, 0.2, 0.0, 0.0],
        [0.0, 0.5, 0.25, 0.25, 0.0],
        [0.1, 0.1, 0.4, 0.2, 0.2],
    ]
)
KEPT, PROMPT = np.ones(5, dtype=bool), np.array([True, True, False, False, False])


def aggregate(span, weights):
    w = np.ones(len(span)) if weights is None else weights
    return (w / w.sum()) @ FLOW[list(span)]


def traced(hops, **changes):
    given = {"kept": KEPT, "observed": PROMPT} | changes
    return follow(aggregate, [4], None, [2, 3], hops=hops, **given)


def test_no_hop_is_what_the_span_itself_took():
    found = traced(0)
    np.testing.assert_allclose(found.scores, [0.1, 0.1, 0, 0, 0])
    np.testing.assert_allclose(found.carried, [0.6])


def test_one_hop_by_hand():
    found = traced(1)
    # Two thirds of what is carried lies on token 2 and one third on token 3.
    hop = (2 * FLOW[2] + FLOW[3]) / 3
    np.testing.assert_allclose(found.totals[1], hop)
    np.testing.assert_allclose(found.scores, [*(0.1 + 0.6 * hop[:2]), 0, 0, 0])
    np.testing.assert_allclose(found.carried, [0.6, 0.6 * hop[2:4].sum()])


def test_hops_add_up_to_what_is_not_carried():
    answer_keeps = FLOW[4, 4]
    for hops in range(4):
        found = traced(hops)
        assert found.scores.sum() + found.carried[-1] + answer_keeps == pytest.approx(1.0)


def test_many_hops_reach_the_absorbing_chain():
    found = traced(60)
    # Closed form: what positions 2 and 3 end up with in the prompt is (I - Q)^-1 R.
    inside, out = FLOW[2:4, 2:4], FLOW[2:4, :2]
    limit = FLOW[4, :2] + FLOW[4, 2:4] @ np.linalg.solve(np.eye(2) - inside, out)
    np.testing.assert_allclose(found.scores[:2], limit, rtol=1e-6)
    assert found.carried[-1] < 1e-12


def test_left_out_tokens_get_nothing_and_are_not_traced_on():
    kept = np.array([True, False, True, False, True])
    found = traced(1, kept=kept)
    assert found.scores[1] == 0
    assert found.dropped == pytest.approx(0.3)
    np.testing.assert_allclose(found.carried[0], 0.4 / 0.7)
    np.testing.assert_allclose(found.totals[1], FLOW[2] * kept)


def test_nothing_carried_ends_early():
    calls = []

    def none(span, weights):
        calls.append(span)
        return np.array([0.5, 0.5, 0.0, 0.0, 0.0])

    found = follow(none, [4], None, [2, 3], hops=3, kept=KEPT, observed=PROMPT)
    assert calls == [[4]]
    np.testing.assert_array_equal(found.carried, np.zeros(4))
    np.testing.assert_array_equal(found.scores, [0.5, 0.5, 0, 0, 0])


def test_a_flow_that_is_not_finite_counts_as_none():
    def broken(span, weights):
        return np.array([np.nan, 0.5, np.inf, 0.0, 0.0])

    found = follow(broken, [4], None, [2, 3], hops=1, kept=KEPT, observed=PROMPT)
    np.testing.assert_array_equal(found.scores, [0, 0.5, 0, 0, 0])
