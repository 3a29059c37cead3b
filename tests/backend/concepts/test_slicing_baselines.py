"""The slicing baselines: planted groups found, scikit-learn beside, and what each of them owes."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from backend.concepts.domino import Domino
from backend.concepts.explanation import ConceptTarget
from backend.concepts.gaussian_slices import GaussianSlices
from backend.concepts.george import George, shares
from backend.concepts.kmeans_slices import KMeansSlices
from backend.concepts.partition import coherence, variance_floor
from backend.concepts.random_slices import RandomSlices
from backend.concepts.slices import SLICES
from backend.errors import Cancelled, InputError
from tests.backend.concepts.planted import error_groups, planted
from tests.fake import FakeRun

METHODS = [Domino, GaussianSlices, KMeansSlices, George, RandomSlices]
FINDERS = [Domino, GaussianSlices, KMeansSlices, George]


def slicing(method, table, run=None, **parameters):
    chosen = method.Parameters(**parameters)
    return method().explain(None, table, ConceptTarget(), chosen, run or FakeRun())


@pytest.mark.parametrize("embedding", [0, 16])
@pytest.mark.parametrize("method", FINDERS)
def test_planted_groups_are_found(method, embedding):
    table = planted(embedding=embedding)
    found = slicing(method, table, slices=4)
    assert adjusted_rand_score(error_groups(table), found.arrays["slices"]) > 0.9


@pytest.mark.parametrize("method", METHODS)
def test_what_a_slicing_holds(method):
    table = planted(sizes=(50, 30, 20), embedding=9)
    found = slicing(method, table)
    memberships, slices = found.arrays["memberships"], found.values["slices"]
    assert found.values["kind"] == "slices"
    np.testing.assert_array_equal(found.arrays["errors"], table.errors)
    np.testing.assert_allclose(memberships.sum(axis=1), 1.0, atol=1e-5)
    assert memberships.shape[1] == len(slices)
    sizes = np.bincount(found.arrays["slices"], minlength=len(slices))
    assert [one["size"] for one in slices] == sizes.tolist()
    assert sizes.min() >= 1
    scores = [one["score"] for one in slices]
    assert scores == sorted(scores, reverse=True)
    for c, one in enumerate(slices):
        weight = memberships[found.arrays["slices"] == c, c].sum()
        assert one["weight"] == pytest.approx(weight, rel=1e-4)
        assert one["keywords"] == ()
        factor = one["parts"].get("coherence", one["parts"].get("discrepancy"))
        assert 0 <= factor <= 1 + 1e-9
        assert one["score"] == pytest.approx(one["parts"]["share"] * factor)
    assert type(found).from_bytes(found.to_bytes()).digest() == found.digest()


@pytest.mark.parametrize("method", METHODS)
def test_the_default_is_the_same_for_all(method):
    assert method.Parameters().slices == SLICES
    assert method.role == "slicing"
    assert method.uses_seed


@pytest.mark.parametrize("method", METHODS)
def test_equal_seeds_give_equal_slices(method):
    table = planted(spread=1.0, embedding=7)
    first, again = (slicing(method, table, FakeRun(seed=5)) for _ in range(2))
    assert first.digest() == again.digest()


@pytest.mark.parametrize("method", [Domino, KMeansSlices, RandomSlices])
def test_other_seeds_give_other_slices(method):
    table = planted(spread=0.5)
    first, other = (slicing(method, table, FakeRun(seed=seed)) for seed in (1, 2))
    assert first.digest() != other.digest()


@pytest.mark.parametrize("method", METHODS)
def test_too_few_errors_are_refused(method):
    with pytest.raises(InputError, match=r"Only 19 of 219 samples.*20"):
        slicing(method, planted(sizes=(10, 9)))


@pytest.mark.parametrize("method", METHODS)
def test_more_slices_than_errors(method):
    found = slicing(method, planted(sizes=(12, 9)), slices=50)
    sizes = np.bincount(found.arrays["slices"])
    assert sizes.sum() == 21
    assert 1 <= len(found.values["slices"]) <= 21
    assert np.isfinite(found.arrays["memberships"]).all()


@pytest.mark.parametrize("method", METHODS)
def test_errors_that_are_all_alike(method):
    table = planted(sizes=(25,))
    arrays = dict(table.arrays)
    arrays["logits"] = np.ones_like(arrays["logits"])
    run = FakeRun()
    found = slicing(method, dataclasses.replace(table, arrays=arrays), run)
    assert np.isfinite(found.arrays["memberships"]).all()
    if method not in (RandomSlices, George):
        assert len(found.values["slices"]) == 1
        assert "Only 1 of the errors differ" in run.warnings[0]


@pytest.mark.parametrize("method", METHODS)
def test_cancelled(method):
    with pytest.raises(Cancelled):
        slicing(method, planted(), FakeRun(cancel_after=1))


def test_domino_stops_between_two_steps():
    run = FakeRun(cancel_after=3)
    with pytest.raises(Cancelled):
        slicing(Domino, planted(spread=0.5), run)
    assert [what for _, _, what in run.reports] == ["k-means", "mixture", "mixture"]


def test_k_means_is_scikit_learns():
    table = planted(spread=1.0)
    points = table.arrays["logits"][table.errors].astype(np.float64)
    peer = KMeans(7, n_init=10, random_state=3).fit(points)
    found = slicing(KMeansSlices, table, FakeRun(seed=3), slices=7)
    assert adjusted_rand_score(peer.labels_, found.arrays["slices"]) == 1.0
    assert found.values["inertia"] == pytest.approx(peer.inertia_)


def test_k_means_ranks_the_nearest_first():
    table = planted(spread=2.0)
    points = table.arrays["logits"][table.errors].astype(np.float64)
    found = slicing(KMeansSlices, table, slices=4)
    assigned, memberships = found.arrays["slices"], found.arrays["memberships"]
    centres = np.array([points[assigned == c].mean(axis=0) for c in range(4)])
    distances = np.square(points[:, None] - centres).sum(axis=2)
    nearest = np.take_along_axis(distances, assigned[:, None].astype(int), axis=1)
    variance = nearest.mean() / points.shape[1]
    expected = np.exp(-(distances - nearest) / (2 * variance))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(memberships, expected, atol=1e-4)


def test_the_gaussian_mixture_is_scikit_learns():
    table = planted(spread=1.0)
    points = table.arrays["logits"][table.errors].astype(np.float64)
    peer = GaussianMixture(
        3, covariance_type="diag", reg_covar=variance_floor(points), max_iter=200, random_state=4
    ).fit(points)
    found = slicing(GaussianSlices, table, FakeRun(seed=4), slices=3)
    mine, theirs = found.arrays["memberships"], peer.predict_proba(points)
    columns = [int(np.abs(theirs - column[:, None]).sum(axis=0).argmin()) for column in mine.T]
    np.testing.assert_allclose(mine, theirs[:, columns], atol=1e-5)
    assert found.values["log_likelihood"] == pytest.approx(peer.score(points))


def test_random_slices_are_uniform():
    table = planted(sizes=(4000, 4000), right=10)
    found = slicing(RandomSlices, table, slices=8)
    sizes = np.bincount(found.arrays["slices"], minlength=8)
    chi_square = (np.square(sizes - 1000) / 1000).sum()
    assert chi_square < 24.3  # the 99.9 % point for 7 degrees of freedom
    assert all(one["parts"]["coherence"] < 0.02 for one in found.values["slices"])


def test_coherence_by_hand():
    points = np.array([[0.0], [2.0], [10.0], [12.0]])
    memberships = np.eye(3)[[0, 0, 1, 1]]
    # Around the mean 6: 36, 16, 16, 36; within a slice: 1 each.
    np.testing.assert_allclose(coherence(points, memberships), [1 - 1 / 26, 1 - 1 / 26, 0])
    assert coherence(np.ones((4, 2)), memberships).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("counts", "slices", "expected"),
    [([9, 1], 4, [3, 1]), ([6, 3, 1], 10, [6, 3, 1]), ([5, 5, 5], 2, [1, 1, 1]), ([7], 3, [3])],
)
def test_slices_are_shared_out_by_errors(counts, slices, expected):
    assert shares(np.array(counts), slices).tolist() == expected


def test_george_keeps_the_classes_apart():
    table = planted(sizes=(40, 40, 40, 40), classes=3)
    found = slicing(George, table, slices=9)
    labels = table.arrays["labels"][table.errors]
    for c in range(len(found.values["slices"])):
        assert len(np.unique(labels[found.arrays["slices"] == c])) == 1
    # Groups 0 and 3 are of class 0; classes 1 and 2 are one group, and split all the same.
    assert found.values["classes"]["0"] == 2
    assert adjusted_rand_score(error_groups(table) == 0, found.arrays["slices"]) < 1
    assert "UMAP" in found.notes[0]


def test_george_has_a_slice_for_every_class():
    run = FakeRun()
    found = slicing(George, planted(sizes=(10,) * 5, classes=5), run, slices=3)
    assert len(found.values["slices"]) == 5
    assert "5 classes have errors" in run.warnings[0]


def test_domino_tells_apart_what_only_the_classes_tell_apart():
    table = planted(sizes=(40, 40, 40), classes=3)
    arrays = dict(table.arrays)
    arrays["logits"] = np.random.default_rng(1).normal(size=arrays["logits"].shape)
    table = dataclasses.replace(table, arrays=arrays)
    found = slicing(Domino, table, slices=3)
    assert adjusted_rand_score(error_groups(table), found.arrays["slices"]) > 0.9
    assert (
        adjusted_rand_score(
            error_groups(table), slicing(KMeansSlices, table, slices=3).arrays["slices"]
        )
        < 0.2
    )


def test_dominos_spare_components_make_a_rest():
    table = planted(sizes=(60, 60, 6, 6))
    found = slicing(Domino, table, slices=2, spare=2)
    assert found.values["rest"]
    assert found.values["components"] == 4
    assert len(found.values["slices"]) == 3
    assert found.values["slices"][2]["score"] == 0
    assert set(error_groups(table)[found.arrays["slices"] == 2]) == {2, 3}
    assert "last slice" in found.notes[1]


def test_dominos_objective_rises():
    objective = slicing(Domino, planted(spread=1.0), slices=6).arrays["objective"]
    assert len(objective) > 3
    # What is added to the variances may cost a little at the end.
    assert (np.diff(objective) > -1e-2).all()
    assert objective[-1] > objective[0]


def test_reading_the_modules_needs_no_library_but_numpy():
    modules = (
        "domino",
        "gaussian_slices",
        "kmeans_slices",
        "george",
        "random_slices",
        "slice_score",
        "intervene",
        "match_slices",
        "membership",
    )
    names = ", ".join(f"backend.concepts.{name}" for name in modules)
    code = (
        f"import sys; import {names}; "
        "assert not {'torch', 'sklearn', 'scipy', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
