"""Fit the mixture of `backend.concepts.mixture` by stochastic gradients.

1. Scale every concept's logits to mean 0 and deviation 1; L only moves by a constant.
2. Start. `k-means++`: means and variances of k-means clusters, variances shrunk towards the global
   one by a quarter, read-outs at the clusters' log-odds. `published`: K / classes means for each
   true class, drawn about the class's mean, global variances, random read-outs.
3. Adam on batches, the rate falling to nothing along half a cosine. Variances stay above
   max(1e-4, 1 % of the global variance), the gradient's norm below 10.
4. From several starts, the fit with the lowest L.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np

from backend.concepts.mixture import (
    Concepts,
    Parameters,
    gradient,
    objective,
)

Start = Literal["k-means++", "published"]
LEAST_VARIANCE, LEAST_SHARE = 1e-4, 0.01
LONGEST_GRADIENT = 10.0
RATE = 0.05
BATCHES = 5
"""Steps an epoch."""
FEWEST_IN_BATCH = 64
MOST_FOR_START = 4000
"""Samples k-means looks at."""
SHRUNK = 0.25


@dataclasses.dataclass(frozen=True)
class Settings:
    """How a mixture is fitted."""

    components: int
    weight: float = 10.0
    """lambda."""
    start: Start = "k-means++"
    restarts: int = 1
    epochs: int = 60


@dataclasses.dataclass(frozen=True)
class Fit:
    """A fitted mixture; `history` [epochs + 1] is L at the start and after each epoch."""

    parameters: Parameters
    history: np.ndarray

    @property
    def objective(self) -> float:
        """L at the end."""
        return float(self.history[-1])


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra in one thread.

    In several, the sums of a k-means cluster come in any order, and equal seeds would differ; and
    these matrices are so small that threads cost more than they save.
    """
    import sklearn.cluster  # noqa: F401  # only libraries that are loaded can be limited
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


def fit(
    data: Concepts,
    labels: np.ndarray,
    settings: Settings,
    generator: np.random.Generator,
    step: Callable[[], None] = lambda: None,
) -> Fit:
    """The best of `settings.restarts` fits.

    Args:
        labels: [n] true classes, for the published start.
        step: called before each of `restarts * epochs` epochs; what it raises ends the fit.
    """
    centre, spread = data.logits.mean(axis=0), data.logits.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    scaled = dataclasses.replace(data, logits=(data.logits - centre) / spread)
    floor = np.maximum(LEAST_VARIANCE / spread**2, LEAST_SHARE)
    fits = []
    for _ in range(settings.restarts):
        at = start(scaled, labels, settings, generator)
        at["variances"] = np.maximum(at["variances"], floor)
        fits.append(Fit(at, _descend(at, scaled, floor, settings, generator, step)))
    best = min(fits, key=lambda fit: fit.objective)
    at = best.parameters
    at["means"] = at["means"] * spread + centre
    at["variances"] = at["variances"] * spread**2
    return Fit(at, best.history + np.log(spread).sum())


def _descend(
    at: Parameters,
    data: Concepts,
    floor: np.ndarray,
    settings: Settings,
    generator: np.random.Generator,
    step: Callable[[], None],
) -> np.ndarray:
    """Move the parameters in place; the history of L."""
    size = max(FEWEST_IN_BATCH, -(-len(data) // BATCHES))
    adam = Adam(at, settings.epochs * -(-len(data) // size))
    history = [objective(at, data, settings.weight)]
    for _ in range(settings.epochs):
        step()
        order = generator.permutation(len(data))
        for first in range(0, len(data), size):
            adam.move(gradient(at, data.take(order[first : first + size]), settings.weight))
            np.maximum(at["variances"], floor, out=at["variances"])
        history.append(objective(at, data, settings.weight))
    return np.array(history)


class Adam:
    """Kingma & Ba 2015, with log-variances in the place of variances and a clipped gradient."""

    def __init__(self, at: Parameters, steps: int) -> None:
        self.at, self.steps, self.done = at, steps, 0
        self.mean = {name: np.zeros_like(value) for name, value in at.items()}
        self.square = {name: np.zeros_like(value) for name, value in at.items()}

    def move(self, slope: Parameters) -> None:
        """One step against the slope."""
        slope = {**slope, "variances": slope["variances"] * self.at["variances"]}
        length = np.sqrt(sum(float((g * g).sum()) for g in slope.values()))
        rate = RATE * 0.5 * (1 + np.cos(np.pi * self.done / self.steps))
        self.done += 1
        for name, g in slope.items():
            if length > LONGEST_GRADIENT:
                g = g * (LONGEST_GRADIENT / length)
            self.mean[name] += 0.1 * (g - self.mean[name])
            self.square[name] += 0.001 * (g * g - self.square[name])
            mean = self.mean[name] / (1 - 0.9**self.done)
            square = self.square[name] / (1 - 0.999**self.done)
            change = rate * mean / (np.sqrt(square) + 1e-8)
            if name == "variances":
                self.at[name] *= np.exp(-change)
            else:
                self.at[name] -= change


def start(
    data: Concepts, labels: np.ndarray, settings: Settings, generator: np.random.Generator
) -> Parameters:
    """The parameters a fit starts from, step 2 of the module."""
    d, K = data.logits.shape[1], settings.components
    if settings.start == "published":
        bound = 1 / np.sqrt(K)
        drawn = {
            f"{name}_{part}": generator.uniform(-bound, bound, shape)
            for name in ("true", "predicted")
            for part, shape in (("weight", (K, d)), ("bias", (d,)))
        }
        return {
            "weights": np.zeros(K),
            "means": _drawn_means(data.logits, labels, K, generator),
            "variances": np.tile(data.logits.var(axis=0), (K, 1)),
            **drawn,
        }
    return _of_clusters(data, _clusters(data.logits, K, generator), K)


def _drawn_means(
    x: np.ndarray, labels: np.ndarray, K: int, generator: np.random.Generator
) -> np.ndarray:
    """[K, d]: equally many about each class's mean, the rest about the mean of all."""
    classes = np.unique(labels)
    each = K // len(classes)
    about = [x[labels == c] for c in classes for _ in range(each)]
    about += [x] * (K - len(about))
    return np.array([generator.normal(rows.mean(axis=0), rows.std(axis=0)) for rows in about])


def _clusters(x: np.ndarray, K: int, generator: np.random.Generator) -> np.ndarray:
    """[n] the k-means cluster of each row."""
    from sklearn.cluster import KMeans

    few = x
    if len(x) > MOST_FOR_START:
        few = x[generator.choice(len(x), MOST_FOR_START, replace=False)]
    K = min(K, len(np.unique(few, axis=0)))
    seed = int(generator.integers(2**31))
    with one_thread():
        found = KMeans(K, init="k-means++", n_init=10, random_state=seed).fit(few)
        return np.asarray(found.predict(x))


def _of_clusters(data: Concepts, cluster: np.ndarray, K: int) -> Parameters:
    """Parameters that say of each component what its cluster is like."""
    member = (cluster[:, None] == np.arange(K)).astype(float)
    size = member.sum(axis=0)
    whole = data.logits.var(axis=0)
    share = member / np.maximum(size, 1.0)
    means = share.T @ data.logits
    inside = share.T @ data.logits**2 - means**2
    found = {
        "weights": np.log(size + 1.0),
        "means": means,
        "variances": inside + SHRUNK * whole,
    }
    for name in ("true", "predicted"):
        target = getattr(data, name)
        rate = (member.T @ target + target.mean(axis=0)) / (size[:, None] + 1.0)
        rate = np.clip(rate, 1e-3, 1 - 1e-3)
        found[f"{name}_weight"] = np.log(rate / (1 - rate))
        found[f"{name}_bias"] = np.zeros(target.shape[1])
    return found
