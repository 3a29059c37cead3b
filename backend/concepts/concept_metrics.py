"""Faithfulness of a ranking of concepts: curves in, numbers out.

With k concepts, `deletion` starts at the sample and sets concepts to the reference from the most
important to the least; `insertion` starts at the reference and sets concepts to the sample's
values in the same order (Petsiuk, Das & Saenko, "RISE", BMVC 2018, with concepts for pixels). p is
the probability of the explained class.

Comprehensiveness and sufficiency are those of DeYoung et al., "ERASER", ACL 2020, averaged over 1,
5, 10, 20 and 50 % of the concepts, at least one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from backend.metric import Metric

LEVELS = (1, 5, 10, 20, 50)
"""Percentages of the concepts that comprehensiveness and sufficiency average over."""
MOST_POINTS = 200
"""Steps of a curve; with more concepts, several go at once."""
SPREAD = (2.5, 97.5)
"""Percentiles over the draws between which a random ranking's metric lies."""

METRICS: tuple[Metric, ...] = (
    Metric(
        "deletion_auc",
        "Deletion area",
        False,
        "Area under the probability of the class while concepts are set to the reference, the most "
        "important first. Small: the first ones to go carried the decision.",
    ),
    Metric(
        "insertion_auc",
        "Insertion area",
        True,
        "Area under the probability of the class while concepts are set to the sample's values, "
        "the most important first, from the reference on. Large: the first ones make the decision.",
    ),
    Metric(
        "insertion_gap",
        "Insertion - deletion",
        True,
        "Area between the two curves. Random rankings have zero on average; negative is a ranking "
        "upside down.",
    ),
    Metric(
        "deletion_logit",
        "Deletion area, logit",
        False,
        "The same area under the explained logit, which goes on falling where the probability is "
        "already zero or still one.",
    ),
    Metric(
        "insertion_logit",
        "Insertion area, logit",
        True,
        "The same area under the explained logit, from the reference on.",
    ),
    Metric(
        "comprehensiveness",
        "Comprehensiveness",
        True,
        "How far the probability falls when the top concepts are set to the reference: p(sample) - "
        "p(without the top q %), mean over q = 1, 5, 10, 20, 50. At least one concept is set.",
    ),
    Metric(
        "sufficiency",
        "Sufficiency",
        False,
        "How far the probability falls when only the top concepts keep their values: p(sample) - "
        "p(only the top q %), mean over q = 1, 5, 10, 20, 50. Near zero: they suffice.",
    ),
)


def ranking(scores: np.ndarray) -> np.ndarray:
    """Indices [k] from the highest score to the lowest; ties in order, NaN last."""
    return np.argsort(np.where(np.isnan(scores), np.inf, -scores), kind="stable")


def counts(k: int) -> np.ndarray:
    """Concepts changed at each point of a curve, [points] from 0 to k, evenly."""
    return np.unique(np.linspace(0, k, min(k, MOST_POINTS) + 1).round().astype(int))


def changed(
    start: np.ndarray, stop: np.ndarray, order: np.ndarray, at: Sequence[int] | np.ndarray
) -> np.ndarray:
    """[points, k] rows on the way from `start` to `stop`.

    Args:
        order: [k] indices, the first to change first.
        at: how many have changed in each row.
    """
    place = np.empty(len(order), dtype=int)
    place[order] = np.arange(len(order))
    return np.where(place < np.asarray(at)[:, None], stop, start)


def level_counts(k: int) -> list[int]:
    """How many of k concepts each of `LEVELS` is: rounded up, at least one."""
    return [max(1, -(-k * percent // 100)) for percent in LEVELS]


def area(curve: np.ndarray, fractions: np.ndarray) -> float:
    """Trapezoid area of a curve [points] over fractions [points] from 0 to 1."""
    return float(np.trapezoid(curve, fractions))


@dataclasses.dataclass(frozen=True, eq=False)
class Curves:
    """What one ranking does to the class.

    Attributes:
        fractions: [points] share of the concepts changed. deletion, insertion: [points]
            probabilities; deletion_logit, insertion_logit: [points] logits.
        without, only: [levels] probabilities without the top concepts, and with them alone.
    """

    fractions: np.ndarray
    deletion: np.ndarray
    insertion: np.ndarray
    deletion_logit: np.ndarray
    insertion_logit: np.ndarray
    without: np.ndarray
    only: np.ndarray

    def metrics(self) -> dict[str, float]:
        """Every metric of `METRICS`."""
        areas = {
            name: area(getattr(self, name), self.fractions)
            for name in ("deletion", "insertion", "deletion_logit", "insertion_logit")
        }
        full = self.deletion[0]
        return {
            "deletion_auc": areas["deletion"],
            "insertion_auc": areas["insertion"],
            "insertion_gap": areas["insertion"] - areas["deletion"],
            "deletion_logit": areas["deletion_logit"],
            "insertion_logit": areas["insertion_logit"],
            "comprehensiveness": float(np.mean(full - self.without)),
            "sufficiency": float(np.mean(full - self.only)),
        }
