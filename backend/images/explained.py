"""What every explainer of a picture starts from, and how it tells what it found.

Imports torch: only workers import this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from backend.errors import InputError
from backend.explainer import Run
from backend.images.explanation import ImageExplanation, ImageTarget, Photos
from backend.images.models import Classifier

TOP = 5
"""Classes listed, the most probable first."""


class Decision:
    """One picture and the explained class.

    Attributes:
        seen: [h, w, 3] uint8. x: [1, 3, h, w] float32, normalised. logits: [C] float64.

    Raises:
        InputError: there is no such picture or class.
    """

    def __init__(self, model: Classifier, photos: Photos, target: ImageTarget, run: Run) -> None:
        self.model, self.photos, self.target, self.run = model, photos, target, run
        self.seen = model.seen(photos, target)
        self.x = model.tensor(self.seen)
        with torch.no_grad():
            self.logits = model.logits(self.x)[0].double().cpu().numpy()
        run.count(forward=1)
        self.predicted = int(self.logits.argmax())
        self.label = self.predicted if target.label is None else target.label
        if self.label >= len(self.logits):
            raise InputError(
                f"There is no class {self.label}.",
                "label",
                f"The model tells {len(self.logits)} classes apart, counted from 0.",
            )

    @property
    def probabilities(self) -> np.ndarray:
        """[C] float64."""
        powers = np.exp(self.logits - self.logits.max())
        return np.asarray(powers / powers.sum())

    @property
    def probability(self) -> float:
        """Of the explained class."""
        return float(self.probabilities[self.label])

    def mask(self) -> np.ndarray | None:
        """[h, w] uint8: where the known object is, as the model sees the picture."""
        given = self.photos.mask(self.target.image)
        return None if given is None else self.model.preprocessing.mask(given)

    def logit(self, x: Tensor) -> Tensor:
        """[B] logits of the explained class; gradients flow. Counts the passes."""
        self.run.count(forward=len(x))
        return self.model.logits(x)[:, self.label]

    def told(self, x: Tensor) -> Tensor:
        """[B] probabilities of the explained class, without gradients. Counts the passes."""
        self.run.count(forward=len(x))
        with torch.no_grad():
            return self.model.logits(x).softmax(dim=1)[:, self.label]

    def each(
        self,
        items: Sequence[Any],
        picture: Callable[[Any], Tensor],
        what: str,
        *,
        of: str = "logit",
        before: int = 0,
        total: int = 0,
    ) -> np.ndarray:
        """[n] float64: the explained logit, or probability, of a changed picture an item.

        Args:
            picture: an item -> [3, h, w] or [1, 3, h, w], made when it is needed.
            of: "logit" or "probability".
            before, total: see `Run.batches`.
        """

        def work(part: Sequence[Any]) -> list[float]:
            x = torch.cat([picture(item).reshape(1, *self.x.shape[1:]) for item in part])
            with torch.no_grad():
                found = self.logit(x) if of == "logit" else self.told(x)
            numbers: list[float] = found.double().cpu().tolist()
            return numbers

        found = self.run.batches(items, self.model.at_once, work, what, before=before, total=total)
        return np.array(found, dtype=np.float64)


def explained(
    decision: Decision,
    scores: np.ndarray,
    *,
    unit: str,
    signed: bool = False,
    values: dict[str, Any] | None = None,
    notes: tuple[str, ...] = (),
    arrays: dict[str, np.ndarray] | None = None,
) -> ImageExplanation:
    """The explanation of kind "map".

    Values: kind, those of `about`, and what `values` adds.

    Args:
        scores: [h, w] at the model's input.
    """
    model = decision.model
    scores = np.asarray(scores, dtype=np.float32)
    if scores.shape != model.shape:
        raise ValueError(f"scores of shape {scores.shape} for pictures of {model.shape}")
    found = {"scores": scores, "seen": decision.seen, **(arrays or {})}
    if (mask := decision.mask()) is not None:
        found["mask"] = mask
    if not np.isfinite(scores).all():
        raise ValueError("a score is not finite")
    if not scores.any():
        notes = (*notes, "Every score is zero: the method finds nothing for this class.")
    return ImageExplanation(
        arrays=found,
        values={"kind": "map", **about(decision), **(values or {})},
        notes=notes,
        unit=unit,
        signed=signed,
    )


def about(decision: Decision) -> dict[str, Any]:
    """What is known of a decision, whatever explains it.

    picture (its name), image, label, predicted, probability, class_names (of the explained, the
    predicted and the most probable classes, by number as text), top (number and probability of the
    most probable classes), preprocessing (in words), remarks (of reading), architecture, stages
    (that can be re-initialised), height and width of the picture as brought.
    """
    model, i = decision.model, decision.target.image
    probable = np.argsort(-decision.probabilities, kind="stable")[:TOP]
    named = {decision.label, decision.predicted, *probable.tolist()}
    height, width = decision.photos.image(i).shape[:2]
    return {
        "picture": decision.photos.names[i],
        "image": i,
        "label": decision.label,
        "predicted": decision.predicted,
        "probability": decision.probability,
        "class_names": {str(c): model.names[c] for c in sorted(named)},
        "top": [[int(c), float(decision.probabilities[c])] for c in probable],
        "preprocessing": model.preprocessing.words(),
        "remarks": list(decision.photos.remarks[i]),
        "architecture": model.architecture,
        "stages": list(model.stages),
        "height": height,
        "width": width,
    }


def enlarged(maps: Tensor, shape: tuple[int, int]) -> np.ndarray:
    """[h, w] float64 of a map [gh, gw], bilinear, corners not aligned (as CAM papers do)."""
    grown = torch.nn.functional.interpolate(
        maps[None, None].double(), size=shape, mode="bilinear", align_corners=False
    )
    return np.asarray(grown[0, 0].cpu().numpy())
