"""Correlations, intervals and verdicts by hand and by scipy's numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from backend.sanity import FEWEST, HALF, correlation, randomised

RANKED = np.arange(40.0)


def drawn(*rows):
    return [[np.asarray(row, dtype=float)] for row in rows]


def mixed(share, seed):
    """A ranking of which a share is drawn anew."""
    generator = np.random.default_rng(seed)
    return (1 - share) * RANKED + share * 40 * generator.random(40)


def test_an_explainer_that_ignores_the_model_is_flagged():
    found = randomised(["all"], RANKED, drawn(*[RANKED] * FEWEST))
    assert found.correlation.tolist() == [[1, 1]] * FEWEST
    assert (found.means[1].mean, found.means[1].low, found.means[1].high) == (1, 1, 1)
    assert found.verdict == "ignores"


def test_chance_depends_on_the_model():
    rows = [np.random.default_rng(seed).random(40) for seed in range(8)]
    found = randomised(["all"], RANKED, drawn(*rows))
    assert abs(found.means[1].mean) < 0.2
    assert found.verdict == "depends"


def test_the_opposite_ranking_depends_on_the_model_too():
    assert randomised(["all"], RANKED, drawn(*[-RANKED] * 3)).verdict == "depends"


def test_the_interval_is_students():
    rows = [mixed(0.7, seed) for seed in range(6)]
    found = randomised(["all"], RANKED, drawn(*rows))
    known = [stats.spearmanr(RANKED, row).statistic for row in rows]
    np.testing.assert_allclose(found.correlation[:, 1], known)
    low, high = stats.t.interval(0.95, 5, np.mean(known), stats.sem(known))
    assert (found.means[1].low, found.means[1].high) == pytest.approx((low, high))
    assert found.means[1].n == 6


def test_an_interval_around_half_is_not_clear():
    keep = np.concatenate([RANKED[:20], RANKED[20:][::-1]])
    found = randomised(["all"], RANKED, drawn(keep, RANKED, -RANKED))
    assert found.means[1].low < HALF < found.means[1].high
    assert found.verdict == "unclear"


def test_few_draws_or_no_ranking_give_no_verdict():
    assert randomised(["all"], RANKED, drawn(RANKED, RANKED)).verdict == "unknown"
    flat = randomised(["all"], RANKED, drawn(RANKED, RANKED, np.ones(40)))
    assert np.isnan(flat.correlation[2, 1])
    assert (flat.means[1].n, flat.verdict) == (2, "unknown")
    none = randomised(["all"], RANKED, [[None]] * 4)
    assert (none.means[1].mean, none.verdict) == (None, "unknown")
    assert np.isnan(correlation(np.ones(40), RANKED))


def test_the_verdict_is_about_the_last_stage():
    far = [np.random.default_rng(seed).random(40) for seed in range(5)]
    found = randomised(["output", "all"], RANKED, [[RANKED, row] for row in far])
    assert found.stages == ("trained", "output", "all")
    assert [one.mean for one in found.means[:2]] == [1, 1]
    assert found.verdict == "depends"


def test_a_draw_needs_every_stage():
    with pytest.raises(ValueError, match="an explanation for each stage"):
        randomised(["output", "all"], RANKED, drawn(RANKED))
