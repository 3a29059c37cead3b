"""How a picture's maps are put together from concepts: a basis of directions, some of each concept.

- "cav": one direction a concept, its CAV.
- "subspace": the first singular vectors of the places where the concept is (as in HU-MCD and MCD).
- "nmf": parts of non-negative maps (as in CRAFT), each given to the concept it occurs in most.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

Kind = Literal["cav", "subspace", "nmf"]
DIRECTIONS = 3
"""Of a concept's subspace."""
PARTS = 2
"""Of the factorisation, a concept."""
FEWEST_PARTS = 6
MOST_PLACES = 2000


@dataclasses.dataclass(frozen=True, eq=False)
class Basis:
    """Directions of K concepts.

    Attributes:
        kind: see the module. vectors: [R, C]. owner: [R] int, the concept of each.
    """

    kind: Kind
    vectors: np.ndarray
    owner: np.ndarray

    def coefficients(self, maps: np.ndarray) -> np.ndarray:
        """[R, n] of places [C, n]: least squares; of "nmf" none is negative."""
        if self.kind != "nmf":
            return np.asarray(np.linalg.pinv(self.vectors.T) @ maps)
        from scipy.optimize import nnls

        return np.stack([nnls(self.vectors.T, place)[0] for place in maps.T], axis=1)

    def contributions(self, maps: np.ndarray, slope: np.ndarray, concepts: int) -> np.ndarray:
        """[concepts + 1, gh, gw]: what each concept adds to the logit at each place, last the rest.

        Args:
            maps: [C, gh, gw] less the origin. slope: mean gradient, of the same shape.
        """
        channels, tall, wide = maps.shape
        flat, way = maps.reshape(channels, -1), slope.reshape(channels, -1)
        each = self.coefficients(flat) * (self.vectors @ way)
        found = np.zeros((concepts + 1, flat.shape[1]))
        np.add.at(found, self.owner, each)
        found[-1] = (flat * way).sum(axis=0) - found[:-1].sum(axis=0)
        return found.reshape(-1, tall, wide)

    def without(self, maps: np.ndarray, concept: int) -> np.ndarray:
        """[C, gh, gw]: maps less the origin, without what one concept puts in."""
        flat = maps.reshape(len(maps), -1)
        own = self.owner == concept
        part = self.vectors[own].T @ self.coefficients(flat)[own]
        return np.asarray((flat - part).reshape(maps.shape))


def cav_basis(vectors: np.ndarray) -> Basis:
    """One direction a concept."""
    return Basis("cav", vectors, np.arange(len(vectors)))


def subspace_basis(places: np.ndarray, inside: np.ndarray) -> Basis:
    """The first singular vectors of each concept's places.

    Args:
        places: [n, C] less the origin. inside: [K, n] bool, where each concept is.
    """
    vectors, owner = [], []
    for concept, here in enumerate(inside):
        if here.any():
            found = np.linalg.svd(places[here][:MOST_PLACES], full_matrices=False)[2]
            vectors.append(found[:DIRECTIONS])
            owner += [concept] * len(vectors[-1])
    return Basis("subspace", np.concatenate(vectors), np.array(owner))


def nmf_basis(places: np.ndarray, inside: np.ndarray, seed: int) -> Basis:
    """Parts of non-negative places, each of the concept in whose places it is relatively most.

    Args:
        places: [n, C], none negative. inside: [K, n] bool.
    """
    from sklearn.decomposition import NMF

    chosen = np.random.default_rng(seed).permutation(len(places))[:MOST_PLACES]
    x = places[chosen]
    parts = min(max(FEWEST_PARTS, PARTS * len(inside)), *x.shape)
    model = NMF(parts, init="nndsvda", max_iter=400, tol=1e-3, random_state=seed)
    weights = model.fit_transform(x)
    counts = np.maximum(inside[:, chosen].sum(axis=1), 1)
    share = inside[:, chosen].astype(float) @ weights / counts[:, None]
    return Basis("nmf", model.components_.astype(np.float64), share.argmax(axis=0))
