"""Parabolas, the sweep of one head and groups of queries, against closed forms."""

import numpy as np
import pytest

from backend.tokens import sink_curves


def test_points_of_a_parabola_give_it_back():
    x = np.linspace(0, 1, 30).reshape(2, 15)
    found = sink_curves.fit(x, 3 * x**2 - 4 * x + 5)
    np.testing.assert_allclose(found.coefficients, [3, -4, 5], rtol=1e-10)
    assert found.curvature == pytest.approx(6)
    assert found.explained == pytest.approx(1)


def test_the_fit_is_the_least_squares_one():
    rng = np.random.default_rng(0)
    x, y = rng.random(200), rng.random(200)
    found = sink_curves.fit(x, y)
    design = np.stack([x**2, x, np.ones_like(x)], axis=1)
    expected = np.linalg.solve(design.T @ design, design.T @ y)
    np.testing.assert_allclose(found.coefficients, expected, rtol=1e-8)
    left = y - design @ expected
    assert found.explained == pytest.approx(1 - left @ left / np.sum((y - y.mean()) ** 2))


def test_points_without_a_value_do_not_count():
    x = np.array([0.0, 0.2, 0.5, 0.9, 1.0])
    y = -(x**2)
    found = sink_curves.fit(np.append(x, 0.3), np.append(y, np.nan))
    assert found.curvature == pytest.approx(-2)


@pytest.mark.parametrize("x", [[], [0.5], [0.1, 0.9], [0.1, 0.9, 0.1, 0.9], [np.nan] * 5])
def test_too_few_different_points_give_no_parabola(x):
    x = np.array(x, dtype=float)
    found = sink_curves.fit(x, x)
    assert np.isnan(found.coefficients).all()
    assert np.isnan(found.curvature)
    assert np.isnan(found.explained)


def test_a_flat_line_explains_nothing():
    found = sink_curves.fit(np.linspace(0, 1, 9), np.full(9, 2.0))
    assert found.curvature == pytest.approx(0, abs=1e-12)
    assert np.isnan(found.explained)


def test_thinned_points_keep_their_pairs_and_both_ends():
    rng = np.random.default_rng(1)
    x = rng.random((4, 300))
    kept, paired = sink_curves.thinned(x, 2 * x, 400)
    assert len(kept) == 400
    np.testing.assert_array_equal(paired, 2 * kept)
    assert (np.diff(kept) > 0).all()
    assert (kept[0], kept[-1]) == (x.min(), x.max())
    again = sink_curves.thinned(x, 2 * x, 400)
    np.testing.assert_array_equal(kept, again[0])
    few, _ = sink_curves.thinned(x[0, :7], x[0, :7], 400)
    np.testing.assert_array_equal(few, np.sort(x[0, :7]))


def test_the_sweep_mixes_two_vectors():
    rng = np.random.default_rng(2)
    v0, u = rng.normal(size=(2, 40))
    found = sink_curves.counterfactual(v0, u)
    for a, norm in zip(found.weights, found.norms, strict=True):
        assert norm == pytest.approx(np.linalg.norm(a * v0 + (1 - a) * u), rel=1e-12)
        closed = u @ u + 2 * a * u @ (v0 - u) + a * a * (v0 - u) @ (v0 - u)
        assert norm**2 == pytest.approx(closed, rel=1e-12)
    q0, q1, q2 = found.quadratic
    assert 2 * q2 >= 0
    assert found.minimum == pytest.approx(u @ (u - v0) / ((u - v0) @ (u - v0)))
    fine = np.linspace(-1, 2, 30001)
    lowest = fine[np.argmin(q0 + q1 * fine + q2 * fine**2)]
    assert found.minimum == pytest.approx(lowest, abs=1e-4)


def test_a_silent_sink_shortens_the_output_in_a_straight_line():
    u = np.array([3.0, 4.0])
    found = sink_curves.counterfactual(np.zeros(2), u)
    np.testing.assert_allclose(found.norms, 5 * (1 - found.weights), atol=1e-12)
    assert found.minimum == 1


def test_a_sink_like_all_others_changes_nothing():
    u = np.array([1.0, 2.0])
    found = sink_curves.counterfactual(u, u)
    np.testing.assert_allclose(found.norms, np.sqrt(5))
    assert np.isnan(found.minimum)


def test_a_head_that_leaves_nothing_has_no_curve():
    found = sink_curves.counterfactual(np.ones(2), np.full(2, np.nan))
    assert np.isnan(found.norms).all()
    assert np.isnan(found.minimum)


@pytest.mark.parametrize("total", [10, 11, 25, 99, 1000])
def test_groups_are_even_and_follow_the_confidence(total):
    confidence = np.random.default_rng(total).random(total)
    of = sink_curves.groups(confidence)
    sizes = np.bincount(of)
    assert len(sizes) == 10
    assert sizes.max() - sizes.min() <= 1
    for group in range(9):
        assert confidence[of == group].max() < confidence[of == group + 1].min()


def test_few_queries_are_a_group_each():
    np.testing.assert_array_equal(sink_curves.groups(np.array([0.9, 0.1, 0.5])), [2, 0, 1])
    assert len(sink_curves.groups(np.array([]))) == 0
    assert sink_curves.group_means(np.zeros((2, 0)), np.array([], dtype=int)).shape == (2, 0)


def test_means_leave_out_what_is_unknown():
    values = np.array([[1.0, 3.0, np.nan, 5.0], [np.nan, np.nan, 2.0, 4.0]])
    found = sink_curves.group_means(values, np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(found, [[2, 5], [np.nan, 3]])
