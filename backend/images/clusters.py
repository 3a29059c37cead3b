"""Pieces that a model embeds alike: the candidates for concepts."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

FEWEST, SHARE = 10, 0.02
"""Pieces a concept has at least, and share of all pieces."""
COVERS = 0.3
"""Share of the class's views that a concept occurs in at least."""
SOURCES = 2
"""Pictures that it comes from at least, where there are as many."""
K = range(4, 13)
PCA_ABOVE, PCA_BELOW, PCA_TO = 512, 500, 50
"""More channels than the first and fewer pieces than the second: so many components are kept."""


@dataclasses.dataclass(frozen=True, eq=False)
class Clusters:
    """Groups of pieces.

    Attributes:
        member: [n] int, the kept group of each piece, -1 of none.
        centres: [G, C], of unit length: the mean embeddings of the kept groups.
        every: [A, C], of all groups, the kept ones first.
        silhouettes: by number of groups tried.
        dropped: why groups were not kept, a sentence each.
    """

    member: np.ndarray
    centres: np.ndarray
    every: np.ndarray
    silhouettes: dict[int, float]
    dropped: tuple[str, ...]

    def nearest(self, e: np.ndarray) -> np.ndarray:
        """[m] int: the kept group that each embedding [m, C] of unit length falls into, or -1."""
        found = (e @ self.every.T).argmax(axis=1) if len(e) else np.zeros(0, dtype=int)
        return np.where(found < len(self.centres), found, -1)


def clusters(e: np.ndarray, view: np.ndarray, source: np.ndarray, k: int, seed: int) -> Clusters:
    """Group embeddings by k-means, and keep groups that are no accident of one picture.

    Args:
        e: [n, C], of unit length. view, source: [n], of each piece.
        k: how many groups; 0 chooses by the silhouette.
    """
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA
    from sklearn.metrics import silhouette_score

    points = e
    if e.shape[1] > PCA_ABOVE and len(e) < PCA_BELOW:
        points = PCA(min(PCA_TO, len(e) - 1), random_state=seed).fit_transform(e)
    tried: dict[int, Any] = {}
    silhouettes: dict[int, float] = {}
    for count in (k,) if k else [count for count in K if count <= len(e) // FEWEST] or [2]:
        count = min(count, len(e))
        tried[count] = KMeans(count, n_init=5, random_state=seed).fit_predict(points)
        several = 1 < len(np.unique(tried[count])) < len(e)
        silhouettes[count] = float(silhouette_score(points, tried[count])) if several else -1.0
    groups = tried[max(silhouettes, key=silhouettes.__getitem__)]
    views, sources = len(np.unique(view)), len(np.unique(source))
    kept: list[np.ndarray] = []
    left: list[np.ndarray] = []
    dropped: list[str] = []
    for number in np.unique(groups).tolist():
        inside = groups == number
        here, pictures = len(np.unique(view[inside])), len(np.unique(source[inside]))
        size = int(inside.sum())
        reasons = []
        if size < max(FEWEST, SHARE * len(e)):
            reasons.append(f"{size} pieces are too few")
        if here < COVERS * views:
            reasons.append(f"it occurs in {here} of {views} views")
        if pictures < min(SOURCES, sources):
            reasons.append("it comes from one picture")
        (left if reasons else kept).append(inside)
        if reasons:
            dropped.append(f"A group of {size} pieces is no concept: {', '.join(reasons)}.")
    member = np.full(len(e), -1)
    for number, inside in enumerate(kept):
        member[inside] = number
    means = [unit(e[inside].mean(axis=0)) for inside in (*kept, *left)]
    every = np.array(means).reshape(-1, e.shape[1])
    return Clusters(member, every[: len(kept)], every, silhouettes, tuple(dropped))


def unit(vector: np.ndarray) -> np.ndarray:
    """The vector at length 1; nothing stays nothing."""
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12))
