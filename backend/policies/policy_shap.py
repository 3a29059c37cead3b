"""Shapley values of a policy's choice, by shap, exact over all coalitions of variables.

Lundberg & Lee, "A Unified Approach to Interpreting Model Predictions", NIPS 2017.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.policies.agent import agent_of
from backend.policies.explained import explained
from backend.policies.explanation import Experience, PolicyExplanation, PolicyTarget
from backend.policies.gradients import unit
from backend.policies.moment import moment

MOST_EXACT = 11
"""Variables up to which every coalition is tried."""
ORDERS = 20


class PolicyShapParameters(Frozen):
    """What stands for absent variables."""

    rows: Annotated[int, Field(ge=1, le=1000)] = Field(
        100, title="Background", description="Visited states that stand for absent variables."
    )


class PolicyShap(Explainer):
    """Each variable's fair share of how far the choice is from that in the visited states.

    Of a known agent the margin between the two actions is explained, else the probability of the
    action by a stand-in. Values beside those of `explained`: output, baseline_output, sum, rows,
    exact.
    """

    id = "policy_shap"
    title = "Shapley values (shap)"
    family = "policies"
    reference = Reference(
        authors="Lundberg, Lee",
        title="A Unified Approach to Interpreting Model Predictions",
        year=2017,
        link="https://arxiv.org/abs/1705.07874",
    )
    how_to_read = (
        "Each variable's fair share of the difference between the choice here and the mean over "
        "visited states. Positive: it speaks for the action. The bars add up to the difference."
    )
    libraries = ("shap", "numpy", "scikit-learn")
    uses_seed = True
    Parameters = PolicyShapParameters

    def explain(
        self, model: Any, input: Experience, target: PolicyTarget, parameters: Any, run: Run
    ) -> PolicyExplanation:
        """Share it out.

        Raises:
            InputError: there is no such moment.
        """
        from shap.explainers import ExactExplainer, PermutationExplainer

        from backend.numpy_state import numpy_state
        from backend.policies.acting import acting
        from backend.threads import one_thread

        at = moment(input, target)
        states = input.arrays["states"].astype(np.float64)
        count = min(parameters.rows, len(states))
        background = states[run.numpy_generator().choice(len(states), count, replace=False)]
        agent, (player, notes) = agent_of(input), acting(input, run.seed)

        def value(x: np.ndarray) -> np.ndarray:
            if agent is not None:
                found = agent.outputs(x)
                return np.asarray(found[:, at.action] - found[:, at.instead])
            return np.asarray(player.probabilities(x)[:, at.action])

        def worth(members: np.ndarray) -> np.ndarray:
            run.progress(0, 1, "trying coalitions of variables")
            run.count(forward=len(members) * len(background))
            mixed = np.where(members[:, None].astype(bool), at.state, background)
            flat = mixed.reshape(-1, len(at.state))
            return np.asarray(value(flat).reshape(len(members), -1).mean(axis=1))

        exact = len(at.state) <= MOST_EXACT
        size = len(at.state)
        with one_thread(), numpy_state():
            masker: Any = _Masker(size)
            if exact:
                explainer, most = ExactExplainer(worth, masker), 2**size
            else:
                explainer = PermutationExplainer(worth, masker, seed=run.seed)
                most = ORDERS * (2 * size + 1)
            told = explainer(np.ones((1, size)), max_evals=most, batch_size=2048, silent=True)
        scores = told.values[0].astype(np.float64)
        output = float(value(at.state[None].astype(np.float64))[0])
        base = float(value(background).mean())
        values = {"output": output, "baseline_output": base, "sum": float(scores.sum()),
                  "rows": count, "exact": exact}  # fmt: skip
        measured = "probability" if agent is None else unit(agent)
        return explained(input, at, scores, unit=measured, values=values, notes=notes)


class _Masker:
    """Hands shap's masks on as they are; shap reads these names."""

    immutable_outputs = True

    def __init__(self, players: int) -> None:
        self.shape = (1, players)

    def __call__(self, mask: np.ndarray, _row: np.ndarray) -> np.ndarray:
        return mask[None].copy()
