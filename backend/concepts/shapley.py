"""Shapley values of concepts: each one's fair share of the logit, over all orders of telling them.

Lundberg & Lee, "A Unified Approach to Interpreting Model Predictions", NIPS 2017:

1. The players are the concepts. The worth of a coalition is the explained logit where its members
   have the sample's values and the others the reference's: a point, or the samples of the table,
   over which the logit is averaged.
2. Up to 12 concepts shap tries all 2^k coalitions. With more it walks random orders of the
   concepts forwards and backwards, which is exact for heads without interactions of three.
3. The scores sum to f(x) - f(reference).
"""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from backend.concepts.decided import decided
from backend.concepts.decision import Decision, DecisionParameters
from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget
from backend.explainer import Explainer, Reference, Run
from backend.numpy_state import numpy_state

MOST_EXACT = 12
"""Concepts up to which every coalition is tried."""
ROWS_AT_ONCE = 16_384
"""Head inputs evaluated together."""


class ShapleyParameters(DecisionParameters):
    """What absent concepts are, and how many orders are walked."""

    absent: Literal["point", "samples"] = Field(
        "samples",
        title="Absent concepts",
        description="`samples`: an absent concept takes its values in samples of the table, and "
        "the logits are averaged; `point`: it takes the value chosen under Compare with.",
    )
    rows: Annotated[int, Field(ge=1, le=1000)] = Field(
        100,
        title="Samples",
        description="Samples of the table that stand for absent concepts, drawn at random.",
    )
    orders: Annotated[int, Field(ge=1, le=1000)] = Field(
        10,
        title="Orders",
        description=f"Random orders of the concepts, with more than {MOST_EXACT} of them.",
    )


class Shapley(Explainer):
    """Shapley values of the concepts, by shap.

    Arrays: scores [k] float32. `values`: see `backend.concepts.decided`, where the baseline of a
    concept is the mean of what stands for it; and coalitions, how many were tried; exact, whether
    those were all; rows, how many points stood for absent concepts.
    """

    id = "shapley"
    title = "Shapley values (shap)"
    family = "concepts"
    reference = Reference(
        authors="Lundberg, Lee",
        title="A Unified Approach to Interpreting Model Predictions",
        year=2017,
        link="https://arxiv.org/abs/1705.07874",
    )
    how_to_read = (
        "Each concept's fair share of how far this sample's logit is from the reference's, with "
        "what concepts do together split between them. Positive: it speaks for the class. The bars "
        "sum to the whole difference."
    )
    libraries = ("shap", "scikit-learn")
    uses_seed = True
    Parameters = ShapleyParameters

    def explain(
        self, model: Any, input: ConceptTable, target: ConceptTarget, parameters: Any, run: Run
    ) -> ConceptExplanation:
        """The shares.

        Raises:
            InputError: there is no such sample or class, or the head does not fit the table.
        """
        decision = Decision.of(input, target, parameters.baseline, parameters.contrast)
        background = decision.baseline[None]
        if parameters.absent == "samples":
            inputs = input.head_inputs()
            count = min(parameters.rows, len(inputs))
            chosen = run.numpy_generator().choice(len(inputs), count, replace=False)
            background = inputs[np.sort(chosen)]
        players = len(decision.x)
        exact = players <= MOST_EXACT
        game = Game(decision, background, run)
        scores = game.shares(exact, parameters.orders, run.seed)
        notes: tuple[str, ...] = ()
        if not exact:
            notes = (
                f"{parameters.orders} random orders of {players} concepts were walked, forwards "
                "and backwards; other orders give slightly other shares.",
            )
        return decided(
            dataclasses.replace(decision, baseline=background.mean(axis=0)),
            scores,
            run,
            base=game.base,
            values={"coalitions": game.tried, "exact": exact, "rows": len(background)},
            notes=notes,
        )


class Game:
    """The worth of coalitions of concepts.

    Args:
        background: [r, k] values of absent concepts.
    """

    def __init__(self, decision: Decision, background: np.ndarray, run: Run) -> None:
        self.decision, self.background, self.run = decision, background, run
        self.tried = 0
        self.base = float(decision.value(background).mean())

    def worth(self, members: np.ndarray) -> np.ndarray:
        """Mean explained logit of coalitions [B, k] bool, [B] float64."""
        rows, (count, k) = len(self.background), members.shape
        step = max(1, ROWS_AT_ONCE // rows)
        found = []
        for first in range(0, count, step):
            self.run.progress(first, count, "trying coalitions of concepts")
            some = members[first : first + step].astype(bool)
            inputs = np.where(some[:, None], self.decision.x, self.background)
            found.append(self.decision.value(inputs.reshape(-1, k)).reshape(-1, rows).mean(axis=1))
        self.tried += count
        self.run.count(forward=count * rows)
        return np.concatenate(found)

    def shares(self, exact: bool, orders: int, seed: int) -> np.ndarray:
        """Shapley values of the concepts, [k] float64."""
        from shap.explainers import ExactExplainer, PermutationExplainer

        k = len(self.decision.x)
        with numpy_state():  # shap seeds it
            if exact:
                explainer, most = ExactExplainer(self.worth, _Masker(k)), 2**k
            else:
                explainer = PermutationExplainer(self.worth, _Masker(k), seed=seed)
                most = orders * (2 * k + 1)
            found = explainer(np.ones((1, k)), max_evals=most, batch_size=4096, silent=True)
        shares: np.ndarray = found.values[0].astype(np.float64)
        return shares


class _Masker:
    """Hands shap's masks to the game as they are; shap reads these names."""

    immutable_outputs = True

    def __init__(self, players: int) -> None:
        self.shape = (1, players)

    def __call__(self, mask: np.ndarray, _row: np.ndarray) -> np.ndarray:
        return mask[None].copy()
