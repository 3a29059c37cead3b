"""Domino's mixture: each term against a plain loop, and its M step by hand."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy.stats import norm

from backend.concepts.error_mixture import CLASS_WEIGHT, Components, Observed, fit
from tests.fake import FakeRun


def observed(e=7, d=3, m=4, seed=0):
    generator = np.random.default_rng(seed)
    return Observed(
        generator.normal(size=(e, d)),
        np.eye(m)[generator.integers(0, m, e)],
        generator.dirichlet(np.ones(m), e),
    )


def test_the_log_joint_equals_a_loop():
    seen = observed()
    components = Components.of(seen, np.random.default_rng(1).dirichlet(np.ones(2), 7), 0.1)
    found = components.log_joint(seen)
    for i in range(7):
        for j in range(2):
            expected = math.log(components.weights[j])
            for x, mean, variance in zip(
                seen.points[i], components.means[j], components.variances[j], strict=True
            ):
                expected += norm.logpdf(x, mean, math.sqrt(variance))
            for c in range(4):
                p, q = components.labels[j, c], components.predictions[j, c]
                expected += CLASS_WEIGHT * seen.labels[i, c] * math.log(max(p, 1e-12))
                expected += CLASS_WEIGHT * seen.predictions[i, c] * math.log(max(q, 1e-12))
            assert found[i, j] == pytest.approx(expected, abs=1e-9)


def test_the_m_step_by_hand():
    seen = Observed(
        np.array([[0.0], [2.0], [6.0]]),
        np.eye(2)[[0, 0, 1]],
        np.array([[0, 1], [0.5, 0.5], [1, 0]]),
    )
    components = Components.of(seen, np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), 0.5)
    np.testing.assert_allclose(components.weights, [2 / 3, 1 / 3])
    np.testing.assert_allclose(components.means, [[1], [6]])
    np.testing.assert_allclose(components.variances, [[1.5], [0.5]])
    np.testing.assert_allclose(components.labels, [[1, 0], [0, 1]], atol=1e-12)
    np.testing.assert_allclose(components.predictions, [[0.25, 0.75], [1, 0]], atol=1e-12)
    np.testing.assert_allclose(components.discrepancy, [0.75, 1])


def test_a_fit_does_not_depend_on_where_the_points_are():
    # One class, so that the points alone decide.
    seen = dataclasses.replace(
        observed(e=60, d=2), labels=np.ones((60, 1)), predictions=np.ones((60, 1))
    )
    start = np.random.default_rng(2).dirichlet(np.ones(3), 60)
    far = dataclasses.replace(seen, points=seen.points + 1e6)
    near, moved = (fit(s, start, 0.01, FakeRun()) for s in (seen, far))
    np.testing.assert_allclose(near.memberships, moved.memberships, atol=1e-6)


def test_a_component_without_members_dies_quietly():
    seen = observed(e=30)
    start = np.zeros((30, 3))
    start[:, 0] = 1.0
    found = fit(seen, start, 0.01, FakeRun())
    assert np.isfinite(found.memberships).all()
    np.testing.assert_allclose(found.memberships[:, 1:], 0, atol=1e-9)
