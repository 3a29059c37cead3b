"""Whether each method's explanation of an answer depends on what the model has learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from backend.explanation import Comparison, Reinitialised, Request
from backend.tokens.explanation import Target, TokenExplanation
from backend.tokens.reinitialised import stages
from components import sanity
from components.compare import Item
from components.figures import labels
from components.plain import plain

SLOW = frozenset({"shap_partition", "integrated_gradients", "leave_one_out", "key_masking"})
"""Methods of many passes a prompt."""


def panel(
    opened: Comparison, continuation: TokenExplanation, done: Sequence[Item], prefix: str
) -> None:
    """Explain models that have forgotten what they learned, and another answer."""
    ranked = [item for item in done if item.explainer.role == "attribution"]
    sanity.panel(ranked, Forgetting(continuation), opened.key(), prefix)


class Forgetting:
    """The same answer, by a model that has forgotten."""

    model = "model"
    other_what = "other answer"

    def __init__(self, continuation: TokenExplanation) -> None:
        self.continuation = continuation
        self.stages = stages(int(continuation.values["facts"]["layers"]))

    def costly(self, item: Item) -> bool:
        return any(one.explainer in SLOW for one in (item.request, *item.request.members))

    def forgotten(self, item: Item, depth: int, seed: int) -> Request:
        drawn = Reinitialised(depth=depth, seed=seed)
        return item.request.of_model(item.request.model.model_copy(update={"reinitialised": drawn}))

    def other(self, item: Item) -> Request:
        """Of the answer with its first explained token replaced by the most probable other one."""
        target = Target.model_validate(item.request.target)
        ids = list(self.continuation.values["ids"])
        place = self._place(item)
        ids[place] = self._instead(place)["id"]
        changed = target.model_copy(update={"ids": tuple(ids)})
        return item.request.moved(item.request.input, changed.model_dump(mode="json"))

    def other_name(self, item: Item) -> str:
        text = labels.visible(str(self._instead(self._place(item))["text"]))
        return plain(f"“{text}” in place of its first explained token")

    def controls(self, prefix: str) -> Mapping[str, str]:
        return {}

    def control(self, item: Item, column: str) -> Request | None:
        return None

    def _place(self, item: Item) -> int:
        """The first explained token, counted within the answer."""
        span = Target.model_validate(item.request.target).span
        return span[0] if span else 0

    def _instead(self, place: int) -> Mapping[str, str | int]:
        now = self.continuation.values["ids"][place]
        others = self.continuation.values["alternatives"][place]
        found: Mapping[str, str | int] = next(one for one in others if one["id"] != now)
        return found
