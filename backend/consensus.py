"""The consensus of several explanations of one input: the mean of their rankings.

1. Each explanation's scores become ranks, equal scores sharing the mean of theirs, scaled so that
   the lowest position has 0 and the highest 1. Units and signs no longer matter, only the order.
2. A position's score is the mean of its scaled ranks over the explanations that have it.
3. Its disagreement is their standard deviation: 0 where all put it at one place, at most 0.5.

Methods that agree can be wrong together: the consensus is scored like any of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from backend.agreement import scaled_ranks
from backend.cost import OF_MEMBERS, PARTS
from backend.errors import InputError
from backend.explainer import Explainer, Family, Reference, Run
from backend.explanation import Choice, Explanation, Request

ID = "consensus"
FEWEST = 2
"""Explanations without which there is nothing to agree on."""
UNIT = "mean rank"
SMALLEST = 1e-18
"""Variance below which ranks differ by rounding alone."""
TWO_OTHERS = "Choose at least two further explainers that rank; their rankings are averaged."


class Consensus(Explainer):
    """The mean ranking of a request's members; a family says how it is told.

    Arrays, beside those of the family's attributions: disagreement, as long as scores.

    Values, beside those: members, the ids of the explainers in the order of the request, and
    members_cost, what these took (`backend.cost`).
    """

    id = ID
    title = "Consensus"
    reference = Reference(
        authors="Rieger, Hansen",
        title="Aggregating explanation methods for stable and robust explainability",
        year=2019,
        link="https://arxiv.org/abs/1903.00519",
    )
    how_to_read = (
        "The mean rank over the other chosen methods: 1 where all of them put it first, 0 where "
        "all put it last. Methods that agree can be wrong together, so look at its faithfulness."
    )
    libraries: ClassVar[tuple[str, ...]] = ("numpy",)

    def explain(
        self, model: Any, input: Any, target: Any, parameters: Any, run: Run
    ) -> Explanation:
        """Average the rankings of the members.

        Raises:
            InputError: there are fewer than two, or they rank different things.
        """
        if len(run.members) < FEWEST:
            raise InputError("A consensus is of other explanations.", todo=TWO_OTHERS)
        run.progress(0, 1, "averaging rankings")
        rows = [one.arrays["scores"] for one in run.members]
        if len({row.shape for row in rows}) > 1:
            raise InputError("The explanations rank different things, so they have no consensus.")
        scores, apart = consensus(rows)
        arrays = {"scores": scores, "disagreement": apart}
        values = {
            "members": [one.source().request.explainer for one in run.members],
            OF_MEMBERS: {
                part: sum(getattr(one.source(), part) for one in run.members) for part in PARTS
            },
        }
        return self.told(input, target, run, arrays, values)

    @abstractmethod
    def told(
        self,
        input: Any,
        target: Any,
        run: Run,
        arrays: dict[str, np.ndarray],
        values: dict[str, Any],
    ) -> Explanation:
        """The family's explanation with these scores.

        Args:
            arrays: scores and disagreement [N] float32.
            values: what is to be told beside the family's own.
        """


def consensus(scores: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Mean scaled rank and its standard deviation over M explanations.

    Args:
        scores: M arrays [N], higher is more; NaN where an explanation has no score.

    Returns:
        [N] float32 each; NaN where no explanation has a score.
    """
    scaled = np.stack([scaled_ranks(row) for row in scores])
    there = np.isfinite(scaled)
    counts = there.sum(axis=0)
    filled = np.where(there, scaled, 0.0)
    with np.errstate(invalid="ignore"):
        mean = filled.sum(axis=0) / counts
        squares = (np.where(there, scaled - mean, 0.0) ** 2).sum(axis=0) / counts
    apart = np.where(squares > SMALLEST, np.sqrt(squares), 0.0)
    apart[~there.any(axis=0)] = np.nan
    return mean.astype(np.float32), apart.astype(np.float32)


def joined(requests: Sequence[Request]) -> tuple[Request, ...]:
    """The requests, a consensus among them with the other attributions but controls as members."""
    from backend.catalogue import find

    ranked = [one for one in requests if one.explainer != ID and find(one).role == "attribution"]
    others = tuple(one for one in ranked if not find(one).control)
    return tuple(
        one.model_copy(update={"members": others}) if one.explainer == ID else one
        for one in requests
    )


def check(choices: Sequence[Choice], family: Family) -> None:
    """Refuse a consensus of too few others, before anything is computed.

    Raises:
        InputError: there are fewer than two of them.
    """
    known = [family.find(one.explainer) for one in choices]
    others = [one for one in known if one.role == "attribution" and not one.control]
    if any(one.id == ID for one in others) and len(others) - 1 < FEWEST:
        raise InputError("A consensus is of other explanations.", ID, TWO_OTHERS)


def needed(choices: Sequence[Choice], explainer: str) -> tuple[Choice, ...]:
    """The choices without which an explainer's request cannot be made again: of most it alone."""
    return tuple(one for one in choices if explainer in (ID, one.explainer))
