"""Concepts as directions in a model's maps: where they are in a picture, and what they add.

Numpy alone, so that a page can read a discovery too.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from backend.images.bases import Basis
from backend.images.explanation import ImageExplanation


@dataclasses.dataclass(frozen=True, eq=False)
class ConceptSpace:
    """K concepts in maps of C channels.

    Attributes:
        cavs: [K, C], of unit length. mean: [C], of places of unit length, over all views.
        origin: [C], the maps where nothing is seen.
        basis: see `backend.images.bases`. thresholds: [K], of presence.
    """

    cavs: np.ndarray
    mean: np.ndarray
    origin: np.ndarray
    basis: Basis
    thresholds: np.ndarray

    @classmethod
    def of(cls, found: ImageExplanation) -> ConceptSpace:
        """Of a discovery.

        Raises:
            ValueError: it is none.
        """
        if found.values.get("kind") != "concepts":
            raise ValueError("these are no concepts")
        a = {name: array.astype(np.float64) for name, array in found.arrays.items()
             if name in ("cavs", "mean", "origin", "basis", "thresholds")}  # fmt: skip
        basis = Basis(found.values["basis"], a["basis"], found.arrays["owner"].astype(int))
        return cls(a["cavs"], a["mean"], a["origin"], basis, a["thresholds"])

    def presence(self, maps: np.ndarray) -> np.ndarray:
        """[K, gh, gw]: how much of each concept is at each place of maps [C, gh, gw]; 0 of none."""
        flat = maps.reshape(len(maps), -1)
        unit = flat / np.maximum(np.linalg.norm(flat, axis=0), 1e-12)
        found = self.cavs @ (unit - self.mean[:, None])
        return np.asarray(np.maximum(found, 0).reshape(-1, *maps.shape[1:]))

    def contributions(self, maps: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """[K + 1, gh, gw]: what each concept adds to the logit at each place, last the rest.

        Args:
            slope: the logit's mean gradient over the way from the origin, [C, gh, gw].
        """
        way = maps - self.origin[:, None, None]
        return self.basis.contributions(way, slope, len(self.cavs))

    def without(self, maps: np.ndarray, concept: int) -> np.ndarray:
        """[C, gh, gw]: the maps without what one concept puts in."""
        origin = self.origin[:, None, None]
        return np.asarray(self.basis.without(maps - origin, concept) + origin)
