"""Guess from their names which column is what."""

from __future__ import annotations

import re

import numpy as np

from backend.concepts.columns import ClassColumn, ConceptColumns, Mapping, Scale
from backend.tables.frame import Frame

LABEL = (
    "label",
    "labels",
    "y",
    "y_true",
    "true_label",
    "target",
    "class",
    "true_class",
    "gt_label",
)
PREDICTION = (
    "prediction", "predictions", "y_pred", "y_hat", "yhat", "pred", "predicted", "predicted_label",
    "pred_label", "label_pred", "predicted_class", "pred_class",
)  # fmt: skip
GROUP = ("group", "groups", "place", "environment", "env", "subgroup", "domain")
REFERENCE = (
    "image", "images", "path", "file", "filename", "file_name", "image_path", "img", "img_path",
    "reference", "text", "id", "name", "index",
)  # fmt: skip
CLASS_LOGIT = ("logit_class_", "task_logit_", "class_logit_", "score_class_", "score_")
CLASS_PROBABILITY = ("prob_class_", "task_prob_", "class_prob_", "p_class_")
LOGIT = ("concept_logit_", "pred_logit_", "logit_", "logits_")
PROBABILITY = ("concept_prob_", "pred_prob_", "probability_", "prob_", "p_")
PREDICTED = ("pred_concept_", "concept_pred_", "predicted_", "pred_", "c_pred_", "c_hat_", "score_")
TRUE = (
    "true_concept_", "concept_true_", "true_", "truth_", "gt_", "c_true_", "concept_", "attribute_",
    "attr_", "c_",
)  # fmt: skip
LOGIT_ENDS = ("_logit", "_logits")
PROBABILITY_ENDS = ("_prob", "_probability", "_p")
PREDICTED_ENDS = ("_pred", "_predicted", "_hat", "_score")
TRUE_ENDS = ("_true", "_gt", "_truth", "_label")
SUM_SLACK = 1e-3
_JOINTS = " \t_.-:/"


def guess(frame: Frame) -> Mapping:
    """What the names of the columns say, and where they leave it open, their values.

    Whatever it does not find stays empty: `tabular.build` says what is missing.
    """
    if frame.roles:
        return _told(frame)
    return _Guess(frame).mapping()


def _told(frame: Frame) -> Mapping:
    """The mapping of a file that says itself what its columns are."""
    by: dict[str, dict[str, str]] = {}
    for column, (role, name) in frame.roles.items():
        by.setdefault(role, {})[name] = column
    scale: Scale = "logit" if "logit" in by else "probability"
    return Mapping(
        concepts=tuple(
            ConceptColumns(name=name, predicted=column, truth=by["truth"][name])
            for name, column in by.get(scale, {}).items()
        ),
        scale=scale,
        label=by.get("label", {}).get(""),
        prediction=by.get("prediction", {}).get(""),
        classes=tuple(ClassColumn(name=n, column=c) for n, c in by.get("class", {}).items()),
        group=by.get("group", {}).get(""),
        reference=by.get("reference", {}).get(""),
        reasons={column: f"the array's name: {role}" for column, (role, _) in frame.roles.items()},
    )


def plain(name: str) -> str:
    """A column's name as names are compared."""
    return re.sub(r"[\s.\-:/]+", "_", name.strip()).lower()


def _stem(name: str, starts: tuple[str, ...], ends: tuple[str, ...] = ()) -> tuple[str, str] | None:
    """A name without the longest of these beginnings or endings, and which; None without any."""
    low, written = plain(name), name.strip()
    for start in sorted(starts, key=len, reverse=True):
        if low.startswith(start) and (stem := written[len(start) :].strip(_JOINTS)):
            return stem, f"{start}…"
    for end in sorted(ends, key=len, reverse=True):
        if low.endswith(end) and (stem := written[: -len(end)].strip(_JOINTS)):
            return stem, f"…{end}"
    return None


class _Guess:
    """One guess, growing; a column has at most one place in it."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.free = dict.fromkeys(frame.columns)
        self.reasons: dict[str, str] = {}

    def mapping(self) -> Mapping:
        label = self._whole(LABEL, "label")
        prediction = self._whole(PREDICTION, "predicted label")
        concepts, scale = self._concepts()
        classes, class_scale = self._classes(label)
        group = self._whole(GROUP, "known group")
        reference = self._whole(REFERENCE, "name of the sample")
        for column in self.free:
            self.reasons.setdefault(column, "not used: its name says nothing that is known")
        return Mapping(
            concepts=concepts,
            scale=scale,
            label=label,
            prediction=prediction,
            classes=classes,
            class_scale=class_scale,
            group=group,
            reference=reference,
            reasons=self.reasons,
        )

    def _take(self, column: str, why: str) -> None:
        self.reasons[column] = why
        self.free.pop(column, None)

    def _whole(self, names: tuple[str, ...], what: str) -> str | None:
        """The free column that has one of these names, the earlier name first."""
        by = {plain(column): column for column in reversed(self.free)}
        found = next((by[name] for name in names if name in by), None)
        if found is not None:
            self._take(found, f"{what}: by its name")
        return found

    def _stems(
        self, starts: tuple[str, ...], ends: tuple[str, ...]
    ) -> dict[str, tuple[str, str, str]]:
        """Free columns by compared stem: (column, stem as written, what was stripped)."""
        found: dict[str, tuple[str, str, str]] = {}
        for column in self.free:
            stem = _stem(column, starts, ends)
            if stem is not None:
                found.setdefault(plain(stem[0]), (column, *stem))
        return found

    def _concepts(self) -> tuple[tuple[ConceptColumns, ...], Scale]:
        """The pairs of predicted and true columns; logits before probabilities where both are."""
        bare = {plain(column): column for column in reversed(self.free)}
        truths = self._stems(TRUE, TRUE_ENDS)
        kinds = {
            "logit": self._stems(LOGIT, LOGIT_ENDS),
            "probability": self._stems(PROBABILITY, PROBABILITY_ENDS),
            "predicted": self._stems(PREDICTED, PREDICTED_ENDS),
            "bare": {stem: (bare[stem], bare[stem], "") for stem in truths if stem in bare},
        }
        pairs = {
            kind: [
                (stem, *found, truth)
                for stem, found in stems.items()
                if (truth := truths[stem][0] if stem in truths else bare.get(stem)) is not None
            ]
            for kind, stems in kinds.items()
        }
        # The first kind wins a draw, and a stray match of names does not win over a whole table.
        best = max(pairs, key=lambda kind: len(pairs[kind]))
        for kind in ("logit", "probability", "predicted"):
            paired = {column for _, column, *_ in pairs[kind]}
            for column, *_ in kinds[kind].values():
                why = "the concept has another column" if column in paired else "no true concept"
                self.reasons.setdefault(column, f"not used: {why}")
        order = {column: i for i, column in enumerate(self.frame.columns)}
        concepts = []
        for _, column, name, cut, truth in sorted(pairs[best], key=lambda pair: order[pair[1]]):
            why = f"'{cut}' and the true column '{truth}'" if cut else f"the true column '{truth}'"
            self._take(column, f"predicted concept '{name}': by {why}")
            self._take(truth, f"true concept '{name}': by its name")
            concepts.append(ConceptColumns(name=name, predicted=column, truth=truth))
        return tuple(concepts), self._scale(best, [concept.predicted for concept in concepts])

    def _scale(self, kind: str, columns: list[str]) -> Scale:
        """What predicted columns hold; where their names leave it open, values outside decide."""
        if kind == "logit":
            return "logit"
        if kind == "probability":
            return "probability"
        numbers = [self.frame.columns[c] for c in columns if self.frame.numeric(c)]
        outside = any(np.nanmin(n, initial=0) < 0 or np.nanmax(n, initial=0) > 1 for n in numbers)
        return "logit" if outside else "probability"

    def _classes(self, label: str | None) -> tuple[tuple[ClassColumn, ...], Scale]:
        """The columns of the classes' scores; rows that sum to one are probabilities."""
        found = self._stems(CLASS_LOGIT, ()) or self._stems(CLASS_PROBABILITY, ())
        if len(found) < 2 and label is not None:
            found = self._by_values(label)
        if len(found) < 2:
            return (), "logit"
        for column, name, cut in found.values():
            self._take(column, f"score of class '{name}': by '{cut}'")
        columns = [column for column, *_ in found.values()]
        scale: Scale = "logit"
        if all(map(self.frame.numeric, columns)):
            scores = np.stack([self.frame.columns[column] for column in columns])
            if (scores >= 0).all() and (abs(scores.sum(axis=0) - 1) < SUM_SLACK).all():
                scale = "probability"
        return tuple(ClassColumn(name=n, column=c) for c, n, _ in found.values()), scale

    def _by_values(self, label: str) -> dict[str, tuple[str, str, str]]:
        """Free columns named after the values of the label, as in prob_cat and prob_dog."""
        cells = self.frame.columns[label]
        if self.frame.numeric(label):
            return {}
        values = {plain(word) for word in set(cells.tolist())}
        stems = self._stems(LOGIT + PROBABILITY, LOGIT_ENDS + PROBABILITY_ENDS)
        return {stem: found for stem, found in stems.items() if stem in values}
