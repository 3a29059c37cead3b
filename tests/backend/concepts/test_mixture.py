"""The mixture: its objective and slope against torch, its fit against the published recipe."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal
from sklearn.metrics import adjusted_rand_score

from backend.concepts.mixture import (
    LEAST_WEIGHT,
    Concepts,
    gradient,
    log_joint,
    objective,
    responsibilities,
)
from backend.concepts.mixture_fit import Settings, fit, start
from backend.errors import Cancelled
from bench import cb_slice_reference as reference


def groups(n=200, d=6, K=5, seed=0):
    """Samples of K planted groups, each with its own true and predicted concepts."""
    rng = np.random.default_rng(seed)
    member = rng.integers(0, K, n)
    true, fails = rng.integers(0, 2, (K, d)), rng.random((K, d)) < 0.3
    concepts = np.where(rng.random((n, d)) < 0.05, 1 - true[member], true[member])
    said = np.where(fails[member], 1 - concepts, concepts)
    logits = (2 * said - 1) * rng.gamma(6, 0.7, (n, d))
    return Concepts(logits, concepts.astype(float), (logits > 0).astype(float)), member


def anywhere(d, K, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "weights": rng.normal(size=K),
        "means": rng.normal(size=(K, d)) * 3,
        "variances": rng.uniform(0.5, 9, (K, d)),
        **{f"{n}_weight": rng.normal(size=(K, d)) for n in ("true", "predicted")},
        **{f"{n}_bias": rng.normal(size=d) for n in ("true", "predicted")},
    }


def test_densities_are_scipys():
    at, x = anywhere(3, 4), groups(20, 3)[0].logits
    share = np.exp(at["weights"]) / np.exp(at["weights"]).sum()
    expected = np.array([
        np.log(share[c] + LEAST_WEIGHT)
        + multivariate_normal(at["means"][c], np.diag(at["variances"][c])).logpdf(x)
        for c in range(4)
    ]).T  # fmt: skip
    np.testing.assert_allclose(log_joint(at, x), expected, rtol=1e-9)
    r = np.exp(expected) / np.exp(expected).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(responsibilities(at, x), r, atol=1e-9)


@pytest.mark.parametrize("weight", [0.0, 1.0, 10.0])
def test_objective_and_slope_are_torchs(weight):
    data, _ = groups(60, 5)
    at = anywhere(5, 4)
    tensors = {name: torch.tensor(value, requires_grad=True) for name, value in at.items()}
    expected = reference.loss(tensors, reference.tensors(data), weight)
    expected.backward()
    assert objective(at, data, weight) == pytest.approx(expected.item(), rel=1e-9)
    for name, slope in gradient(at, data, weight).items():
        grad = tensors[name].grad
        want = np.zeros_like(slope) if grad is None else grad.numpy()
        np.testing.assert_allclose(slope, want, rtol=1e-6, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("weight", [1.0, 10.0])
def test_the_loss_is_no_higher_than_the_published_recipes(weight):
    data, member = groups(48, 4, 4)
    labels = member % 2
    found = fit(data, labels, Settings(6, weight), np.random.default_rng(0))
    theirs = objective(reference.fit(data, labels, 6, weight, seed=0), data, weight)
    assert found.objective <= theirs
    assert found.objective == pytest.approx(objective(found.parameters, data, weight))


@pytest.mark.parametrize("kind", ["k-means++", "published"])
@pytest.mark.parametrize("weight", [1.0, 10.0])
def test_the_loss_falls_to_its_end(weight, kind):
    data, member = groups(300, 8, 6)
    history = fit(data, member % 3, Settings(8, weight, kind), np.random.default_rng(1)).history
    assert len(history) == 61
    fall = history[0] - history[-1]
    assert fall > 0
    assert np.diff(history).max() < 0.02 * fall  # batches make it rise by no more than noise
    assert history[-1] <= history.min() + 0.01 * fall
    assert history[-10] - history[-1] < 0.05 * fall  # it has come to rest


def test_planted_groups_are_found():
    data, member = groups(400, 8, 5)
    found = fit(data, member, Settings(5), np.random.default_rng(0))
    slices = responsibilities(found.parameters, data.logits).argmax(axis=1)
    assert adjusted_rand_score(member, slices) > 0.9


def test_the_clusters_start_lies_below_the_published_one():
    data, member = groups(200, 6, 5)
    clusters, published = (
        objective(start(data, member, Settings(10, start=kind), np.random.default_rng(0)), data, 10)
        for kind in ("k-means++", "published")
    )
    assert clusters < published


def test_published_means_are_drawn_about_the_classes():
    x = np.concatenate([np.full((10, 2), -50.0), np.full((10, 2), 50.0)])
    x += np.random.default_rng(0).normal(size=x.shape)
    data = Concepts(x, (x > 0).astype(float), (x > 0).astype(float))
    labels = np.repeat([0, 3], 10)
    at = start(data, labels, Settings(5, start="published"), np.random.default_rng(0))
    assert (np.sign(at["means"][:4, 0]) == [-1, -1, 1, 1]).all()
    np.testing.assert_allclose(np.abs(at["means"][:4]), 50, atol=5)
    np.testing.assert_allclose(at["variances"], np.tile(x.var(axis=0), (5, 1)))


def test_equal_seeds_equal_fits():
    data, member = groups()
    one, same, other = (
        fit(data, member, Settings(6, epochs=10), np.random.default_rng(seed)) for seed in (3, 3, 4)
    )
    for name, value in one.parameters.items():
        np.testing.assert_array_equal(value, same.parameters[name])
    assert not np.array_equal(one.history, other.history)


def test_restarts_keep_the_lowest_loss():
    data, member = groups(150, 6, 8)
    settings = Settings(8, start="published", epochs=10)
    generator = np.random.default_rng(0)
    each = [fit(data, member, settings, generator).objective for _ in range(4)]
    best = fit(
        data, member, Settings(8, start="published", restarts=4, epochs=10),
        np.random.default_rng(0),
    )  # fmt: skip
    assert best.objective == pytest.approx(min(each))
    assert min(each) < each[0]


@pytest.mark.parametrize("scale", [0.01, 1.0, 1000.0])
def test_more_concepts_than_samples_in_five_do_not_collapse(scale):
    data, member = groups(40, 30, 4)  # k > n_e / 5 by far
    logits = data.logits * scale
    logits[:, 7] = 2.5  # a concept that never changes
    data = Concepts(logits, data.true, data.predicted)
    found = fit(data, member, Settings(8), np.random.default_rng(0))
    whole = logits.var(axis=0)
    assert (found.parameters["variances"] >= np.maximum(1e-4, 0.01 * whole) * (1 - 1e-9)).all()
    r = responsibilities(found.parameters, logits)
    assert np.isfinite(r).all()
    assert np.isfinite(found.history).all()
    assert len(np.unique(r.argmax(axis=1))) >= 4


def test_scale_and_place_of_the_logits_do_not_matter():
    data, member = groups()
    moved = Concepts(data.logits * 7 + 3, data.true, data.predicted)
    a, b = (fit(x, member, Settings(5), np.random.default_rng(0)) for x in (data, moved))
    np.testing.assert_allclose(
        responsibilities(a.parameters, data.logits),
        responsibilities(b.parameters, moved.logits),
        atol=1e-4,
    )
    assert b.objective == pytest.approx(a.objective + 6 * np.log(7), abs=1e-3)


def test_samples_all_alike_are_no_error():
    x = np.ones((30, 3))
    found = fit(Concepts(x, x, x), np.zeros(30), Settings(4), np.random.default_rng(0))
    assert np.isfinite(found.history).all()


def test_it_stops_where_a_step_raises():
    data, member = groups()
    steps = []

    def step():
        steps.append(1)
        if len(steps) == 5:
            raise Cancelled("cancelled")

    with pytest.raises(Cancelled):
        fit(data, member, Settings(4), np.random.default_rng(0), step)
    assert len(steps) == 5
