"""Maps put together from concepts: nothing is lost, what was put in is given back."""

from __future__ import annotations

import numpy as np
import pytest

from backend.images.bases import Basis, cav_basis, nmf_basis, subspace_basis
from backend.images.concept_space import ConceptSpace
from backend.images.explanation import ImageExplanation

C, GRID = 10, (4, 5)


def random(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def inside(concepts, places, seed=1):
    return np.random.default_rng(seed).random((concepts, places)) < 0.4


def basis(kind):
    if kind == "cav":
        return cav_basis(unit(random(3, C)))
    if kind == "subspace":
        return subspace_basis(random(80, C), inside(3, 80))
    return nmf_basis(np.abs(random(80, C)), inside(3, 80), 0)


KINDS = ("cav", "subspace", "nmf")


@pytest.mark.parametrize("kind", KINDS)
def test_contributions_and_the_rest_are_the_whole_place_by_place(kind):
    maps, slope = np.abs(random(C, *GRID, seed=3)), random(C, *GRID, seed=4)
    found = basis(kind).contributions(maps, slope, 3)
    assert found.shape == (4, *GRID)
    np.testing.assert_allclose(found.sum(axis=0), (maps * slope).sum(axis=0), atol=1e-12)
    assert np.abs(found[:3]).sum() > 0.1


@pytest.mark.parametrize("kind", ["cav", "nmf"])
def test_what_was_put_in_is_given_back(kind):
    vectors = np.abs(random(3, C))
    put = np.abs(random(3, 20, seed=5))
    found = Basis(kind, vectors, np.arange(3))
    np.testing.assert_allclose(found.coefficients(vectors.T @ put), put, atol=1e-8)
    maps, slope = (vectors.T @ put).reshape(C, *GRID), random(C, *GRID, seed=6)
    parts = found.contributions(maps, slope, 3)
    for concept in range(3):
        own = (vectors[concept][:, None] * put[concept]).reshape(C, *GRID)
        np.testing.assert_allclose(parts[concept], (own * slope).sum(axis=0), atol=1e-8)
        np.testing.assert_allclose(found.without(maps, concept), maps - own, atol=1e-8)
    np.testing.assert_allclose(parts[3], 0, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_without_takes_what_a_concept_adds_and_no_more(kind):
    maps, slope = np.abs(random(C, *GRID, seed=7)), random(C, *GRID, seed=8)
    found = basis(kind)
    parts = found.contributions(maps, slope, 3)
    for concept in range(3):
        gone = ((maps - found.without(maps, concept)) * slope).sum(axis=0)
        np.testing.assert_allclose(gone, parts[concept], atol=1e-10)


def test_coefficients_of_nmf_are_never_negative():
    found = basis("nmf")
    maps = random(C, 30, seed=9)  # even of maps that are
    assert (found.coefficients(maps) >= 0).all()
    assert (found.vectors >= 0).all()
    assert (cav_basis(found.vectors).coefficients(maps) < 0).any()


def test_nmf_parts_belong_to_the_concept_they_occur_in():
    atoms = np.kron(np.eye(6), np.ones(3))
    owner = np.repeat(np.arange(3), 2)
    which = np.arange(300) % 6
    weights = 0.5 + np.random.default_rng(0).random(300)
    found = nmf_basis(atoms[which] * weights[:, None], owner[which][None] == [[0], [1], [2]], 0)
    best = (unit(found.vectors) @ unit(atoms).T).argmax(axis=1)
    assert sorted(best.tolist()) == list(range(6))
    np.testing.assert_array_equal(found.owner, owner[best])


def test_a_subspace_is_that_of_its_places():
    true = np.linalg.qr(random(C, 6))[0].T.reshape(2, 3, C)
    which = np.repeat([0, 1], 50)
    places = np.einsum("nr,nrc->nc", random(100, 3, seed=2), true[which])
    found = subspace_basis(places, which[None] == [[0], [1]])
    assert found.owner.tolist() == [0, 0, 0, 1, 1, 1]
    for concept in range(2):
        own = found.vectors[found.owner == concept]
        np.testing.assert_allclose(own.T @ own, true[concept].T @ true[concept], atol=1e-10)


def test_a_concept_without_places_has_no_directions():
    here = inside(3, 80)
    here[1] = False
    found = subspace_basis(random(80, C), here)
    assert set(found.owner.tolist()) == {0, 2}
    maps, slope = random(C, *GRID, seed=3), random(C, *GRID, seed=4)
    assert not found.contributions(maps, slope, 3)[1].any()
    np.testing.assert_allclose(found.without(maps, 1), maps)


def space():
    vectors = np.eye(C)[:2]
    return ConceptSpace(vectors, np.full(C, 0.1), np.full(C, 0.5), cav_basis(vectors), np.ones(2))


def test_presence_is_the_cosine_above_the_mean_and_never_negative():
    maps = np.zeros((C, 1, 3))
    maps[0, 0, 0], maps[[0, 1], 0, 1] = 7.0, 2.0
    found = space().presence(maps)
    half = 1 / np.sqrt(2)
    np.testing.assert_allclose(found[0, 0], [0.9, half - 0.1, 0])
    np.testing.assert_allclose(found[1, 0], [0, half - 0.1, 0])


def test_a_space_counts_from_its_origin():
    maps, slope = random(C, *GRID, seed=3), random(C, *GRID, seed=4)
    parts = space().contributions(maps, slope)
    np.testing.assert_allclose(parts.sum(axis=0), ((maps - 0.5) * slope).sum(axis=0))
    np.testing.assert_allclose(parts[0], (maps[0] - 0.5) * slope[0])
    gone = space().without(maps, 1)
    np.testing.assert_allclose(gone[1], 0.5)
    np.testing.assert_allclose(np.delete(gone, 1, axis=0), np.delete(maps, 1, axis=0))


def test_a_space_is_read_from_a_discovery_only():
    with pytest.raises(ValueError, match="no concepts"):
        ConceptSpace.of(ImageExplanation(arrays={}, values={"kind": "map"}))
