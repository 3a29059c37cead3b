"""A linear head on a classifier's frozen features: fitted, and tried on pictures left out.

Features are what the classifier's own last linear layer reads, [D] a picture; of DINOv2 its class
token beside the mean of its patches.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from backend.errors import InputError, ModelError, shown
from backend.images.crops import crops
from backend.images.explanation import Photos

STRENGTH = 0.01
"""Inverse weight of the penalty, on features brought to mean 0 and deviation 1."""
MOST_FOLDS = 5
FEWEST = 2
"""Pictures of a class, so that one can be left out."""
_FLOOR = 1e-6


def fit_head(
    features: np.ndarray, labels: np.ndarray, strength: float = STRENGTH
) -> tuple[np.ndarray, np.ndarray]:
    """Logistic regression, every class counting alike: logits are features @ weight.T + bias.

    Args:
        features: [N, D]. labels: [N] int, 0 to K - 1, each of which occurs; K is two or more.

    Returns:
        weight [K, D], bias [K], float32.
    """
    from sklearn.linear_model import LogisticRegression

    middle, spread = features.mean(axis=0), features.std(axis=0) + _FLOOR
    model = LogisticRegression(C=strength, class_weight="balanced", max_iter=1000)
    model.fit((features - middle) / spread, labels)
    weight, bias = model.coef_, model.intercept_
    if len(weight) == 1:  # two classes: half the logit for the one, as much against the other
        weight, bias = np.concatenate([-weight, weight]) / 2, np.concatenate([-bias, bias]) / 2
    weight = weight / spread
    return weight.astype(np.float32), (bias - weight @ middle).astype(np.float32)


def left_out(
    features: np.ndarray,
    labels: np.ndarray,
    pictures: np.ndarray,
    strength: float = STRENGTH,
    folds: int | None = None,
) -> np.ndarray:
    """[P] int: the class of each picture by a head that saw none of its views.

    Args:
        features: [N, D] of views; labels: [N]; pictures: [N] int, 0 to P - 1, of which picture.
            A picture's first view is judged.
        folds: that the pictures of each class are dealt to in turn; as many as the rarest class
            has pictures, at most `MOST_FOLDS`, where None.
    """
    firsts = np.unique(pictures, return_index=True)[1]
    kinds = labels[firsts]
    count = folds or fold_count(kinds)
    turn = np.empty(len(kinds), dtype=int)
    for kind in np.unique(kinds):
        own = np.flatnonzero(kinds == kind)
        turn[own] = np.arange(len(own)) % count
    found = np.empty(len(kinds), dtype=int)
    for fold in range(count):
        learned = turn[pictures] != fold
        weight, bias = fit_head(features[learned], labels[learned], strength)
        judged = turn == fold
        found[judged] = (features[firsts[judged]] @ weight.T + bias).argmax(axis=1)
    return found


def fold_count(kinds: np.ndarray) -> int:
    """Folds for pictures of these classes [P]."""
    return int(min(MOST_FOLDS, np.unique(kinds, return_counts=True)[1].min()))


def classes(folders: Sequence[str]) -> tuple[str, ...]:
    """Folders that pictures lie in, in the order of the alphabet: the classes of a head."""
    return tuple(sorted(set(folders)))


def check(photos: Photos) -> None:
    """Refuse a set that no head can be fitted on and tried with.

    Raises:
        InputError: a picture is in no folder, there is one folder alone, or one picture in one.
    """
    if "" in photos.folders:
        stray = photos.names[photos.folders.index("")]
        raise InputError(
            "This picture is in no folder, so its class is not known.",
            stray,
            "Bring a zip that has a folder for each class.",
        )
    found = classes(photos.folders)
    if len(found) < 2:
        raise InputError(
            f"All pictures are in one folder, '{shown(found[0])}'.",
            todo="Bring a zip of two or more folders, one for each class.",
        )
    for name in found:
        if photos.folders.count(name) < FEWEST:
            raise InputError(
                "There is only one picture in this folder.",
                shown(name),
                f"Bring {FEWEST} or more of each class, so that one can be left out and judged.",
            )


@dataclasses.dataclass(frozen=True, eq=False)
class Views:
    """Parts of a set's pictures, as a model sees them.

    Attributes:
        seen: N of [h, w, 3] uint8, those of a picture together, the whole picture first.
        labels: [N] int, the class by `classes`. pictures: [N] int, of which picture.
    """

    seen: list[np.ndarray]
    labels: np.ndarray
    pictures: np.ndarray

    @classmethod
    def of(
        cls, photos: Photos, each: int, seed: int, see: Callable[[np.ndarray], np.ndarray]
    ) -> Views:
        """`each` views of every picture, drawn by the seed; `see` makes ready for the model."""
        generator = np.random.default_rng(seed)
        seen = [
            see(part)
            for number in range(len(photos))
            for part in crops(photos.image(number), each, generator)
        ]
        names = classes(photos.folders)
        kinds = np.array([names.index(folder) for folder in photos.folders])
        return cls(seen, np.repeat(kinds, each), np.repeat(np.arange(len(photos)), each))


def last_layer(module: Any) -> tuple[str, Any]:
    """Name and layer that the logits of a classifier of transformers come out of.

    Raises:
        ModelError: they come out of no single linear layer.
    """
    from torch import nn

    top = getattr(module, "classifier", None)
    if isinstance(top, nn.Module) and hasattr(module, "config"):
        linear = [(n, part) for n, part in top.named_modules() if isinstance(part, nn.Linear)]
        if len(linear) == 1:
            [(name, layer)] = linear
            return f"classifier.{name}" if name else "classifier", layer
    raise ModelError(
        "A head can be fitted to classifiers of transformers that end in one linear layer, as "
        f"dinov2-small does; {type(module).__name__} does not."
    )


def embed(
    model: Any, seen: Sequence[np.ndarray], told: Callable[[int], None] = lambda _: None
) -> np.ndarray:
    """[N, D] float64: features of pictures as the model sees them.

    Args:
        model: a `backend.images.models.Classifier`.
        seen: N of [h, w, 3] uint8.
        told: is called with how many are done.

    Raises:
        ModelError: the classifier ends in no single linear layer.
    """
    import torch

    _, layer = last_layer(model.module)
    found: list[np.ndarray] = []

    def keep(_layer: Any, args: Any) -> None:
        found.append(args[0].flatten(1).double().cpu().numpy())

    handle = layer.register_forward_pre_hook(keep)
    try:
        for start in range(0, len(seen), model.at_once):
            told(start)
            batch = [model.tensor(one) for one in seen[start : start + model.at_once]]
            with torch.no_grad():
                model.logits(torch.cat(batch))
    finally:
        handle.remove()
    return np.concatenate(found)
