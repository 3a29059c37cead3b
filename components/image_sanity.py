"""Whether each method's map depends on what the classifier has learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from backend.explanation import Comparison, Reinitialised, Request
from backend.images.explanation import ImageExplanation, ImageTarget
from components import sanity
from components.compare import Item
from components.plain import plain

SLOW = frozenset(
    {
        "conex",
        "integrated_gradients",
        "occlusion",
        "rise",
        "lime",
        "kernel_shap",
        "score_cam",
        "consensus",
    }
)
"""Methods of many passes a picture."""


def panel(opened: Comparison, done: Sequence[Item], prefix: str) -> None:
    """Explain classifiers that have forgotten what they learned, and another class."""
    values = cast(ImageExplanation, done[0].explanation).values
    sanity.panel(done, Forgetting(values["stages"]), opened.key(), prefix)


class Forgetting:
    """The same picture and class, by a classifier that has forgotten."""

    model = "classifier"
    other_what = "other class"

    def __init__(self, stages: Sequence[str]) -> None:
        self.stages = tuple(stages)

    def costly(self, item: Item) -> bool:
        return item.request.explainer in SLOW

    def forgotten(self, item: Item, depth: int, seed: int) -> Request:
        drawn = Reinitialised(depth=depth, seed=seed)
        model = item.request.model.model_copy(update={"reinitialised": drawn})
        return self._of(item, self._values(item)["label"]).of_model(model)

    def other(self, item: Item) -> Request:
        return self._of(item, self._other(item))

    def other_name(self, item: Item) -> str:
        return plain(self._values(item)["class_names"][str(self._other(item))])

    def controls(self, prefix: str) -> Mapping[str, str]:
        return {}

    def control(self, item: Item, column: str) -> Request | None:
        return None

    def _other(self, item: Item) -> int:
        """The most probable class but the explained one."""
        values = self._values(item)
        return next(int(label) for label, _ in values["top"] if label != values["label"])

    def _of(self, item: Item, label: int) -> Request:
        target = ImageTarget.model_validate(item.request.target)
        asked = target.model_copy(update={"label": int(label)})
        return item.request.moved(item.request.input, asked.model_dump(mode="json"))

    def _values(self, item: Item) -> Mapping[str, Any]:
        return cast(ImageExplanation, item.explanation).values
