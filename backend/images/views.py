"""The pictures that a class's concepts are found in: of few pictures, several views each."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from backend.errors import InputError
from backend.explainer import Run
from backend.images.classify import probabilities
from backend.images.explanation import Photos

LIKELIEST = 3
"""Pictures taken where the model takes none for the class."""
FEWEST = 2
"""Pictures of other classes that are needed."""
WANTED, FROM_ONE = 24, 12
"""Views aimed at, and of one picture at most; of other classes half as many will do."""
SMALLEST = 0.5
"""Of the sides, of a cut-out."""
KEPT = 0.5
"""Share of its picture's probability that a view has to keep."""
BY_PICTURE = 4
"""Pictures of the class from which on some can be held out whole."""
HELD_OUT = 0.3


@dataclasses.dataclass(frozen=True, eq=False)
class Views:
    """V views: pictures of the class first, then others.

    Attributes:
        pictures: [V, h, w, 3] uint8, as the model sees them.
        source: [V] which picture of the set each is cut from.
        of_class: [V] bool. held_out: [V] bool, not used to find concepts.
        whole: [V] bool, the picture as it is, not a cut-out.
        by_picture: whether pictures are held out whole, or only views of one that is used too.
    """

    pictures: np.ndarray
    source: np.ndarray
    of_class: np.ndarray
    held_out: np.ndarray
    whole: np.ndarray
    by_picture: bool
    few: str = ""
    """What is to be known where the model takes no picture for the class."""

    def __len__(self) -> int:
        return len(self.pictures)


def views(model: Any, photos: Photos, label: int, most: int, run: Run) -> Views:
    """Views of the pictures that the model takes for a class, and of others.

    Args:
        most: pictures of the class at most, those it is surest of; and of others.

    Raises:
        InputError: there are too few pictures of other classes.
    """
    seen = [model.preprocessing.seen(photos.image(i)) for i in range(len(photos))]
    chances = probabilities(model, seen, run)
    is_class = chances.argmax(axis=1) == label
    mine = np.flatnonzero(is_class)
    mine = mine[np.argsort(-chances[mine, label], kind="stable")][:most]
    generator = run.numpy_generator()
    others = generator.permutation(np.flatnonzero(~is_class))[:most]
    name = model.names[label]
    few = ""
    if not len(mine):
        mine = np.argsort(-chances[:, label], kind="stable")[:LIKELIEST]
        others = np.setdiff1d(others, mine)
        few = (
            f"The model takes none of these pictures for '{name}': its concepts are found in the "
            f"{len(mine)} where it is likeliest (p up to {chances[mine[0], label]:.2g})."
        )
    if len(others) < FEWEST:
        raise InputError(
            f"The model takes all but {len(others)} of these pictures for '{name}'; concepts are "
            "told from what is in pictures of other classes.",
            "concept pictures",
            "Bring pictures of other classes too.",
        )
    found = _cut(model, photos, seen, label, (mine, others), most, run)
    return dataclasses.replace(found, few=few)


def _cut(
    model: Any,
    photos: Photos,
    seen: list[np.ndarray],
    label: int,
    chosen: tuple[np.ndarray, np.ndarray],
    most: int,
    run: Run,
) -> Views:
    generator = run.numpy_generator()
    wanted = min(most, WANTED)
    rows: list[tuple[np.ndarray, int, bool, bool]] = []
    for is_class, sources in zip((True, False), chosen, strict=True):
        aim = wanted if is_class else wanted // 2
        each = min(FROM_ONE, -(-aim // len(sources)))
        for i in sources.tolist():
            cut = [_view(model, photos.image(i), generator) for _ in range(each - 1)]
            if is_class and cut:
                first, *told = probabilities(model, [seen[i], *cut], run)[:, label]
                cut = [v for v, p in zip(cut, told, strict=True) if p >= KEPT * first]
            rows.append((seen[i], i, is_class, True))
            rows += [(view, i, is_class, False) for view in cut]
    pictures, source, of_class, whole = (np.array(column) for column in zip(*rows, strict=True))
    held_out = np.zeros(len(rows), dtype=bool)
    by_picture = min(map(len, chosen)) >= BY_PICTURE
    for is_class in (True, False):
        here = np.flatnonzero(of_class == is_class)
        if by_picture:
            known = generator.permutation(np.unique(source[here]))
            out = known[: round(HELD_OUT * len(known))]
            held_out[here] = np.isin(source[here], out)
        else:  # The pictures themselves are learned from; some of their cut-outs are not.
            spare = here[~whole[here]]
            held_out[generator.permutation(spare)[: round(HELD_OUT * len(here))]] = True
    return Views(
        pictures=pictures,
        source=source,
        of_class=of_class,
        held_out=held_out,
        whole=whole,
        by_picture=by_picture,
    )


def _view(model: Any, image: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """A random cut-out of a picture [h, w, 3], perhaps mirrored, as the model sees it."""
    tall, wide = image.shape[:2]
    share = generator.uniform(SMALLEST, 1.0)
    rows, columns = max(1, round(share * tall)), max(1, round(share * wide))
    top = int(generator.integers(tall - rows + 1))
    left = int(generator.integers(wide - columns + 1))
    part = image[top : top + rows, left : left + columns]
    if generator.random() < 0.5:
        part = part[:, ::-1]
    return np.asarray(model.preprocessing.seen(np.ascontiguousarray(part)))
