"""What explainers by concepts rest on, put into the store."""

from __future__ import annotations

from backend.engine.engine import Engine
from backend.explanation import Comparison
from backend.images.explanation import ImageExplanation, Photos
from backend.images.plan import Grounds
from backend.images.pools import pool


def grounds(
    engine: Engine, comparison: Comparison, photos: Photos, classes: ImageExplanation
) -> Grounds:
    """The grounds of explaining pictures.

    Args:
        classes: what `Classify` found in them.

    Raises:
        InputError: the package of a bundled photo is not installed.
    """
    return Grounds(
        pool=engine.put_input(pool(photos, comparison.model, engine.settings), comparison.family),
        none=engine.put_input(Photos.none(), comparison.family),
        labels=classes.arrays["labels"].tolist(),
    )
