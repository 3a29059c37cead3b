"""The score of CausalXRL as the method measures itself: the next action from its causes alone."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from backend.errors import InputError
from backend.explainer import Explainer, Run
from backend.policies.explanation import Experience, PolicyExplanation, PolicyTarget


class CausesFidelity(Explainer):
    """Predicts held-out actions of an experience from their local causes; see `local_fidelity`.

    Values: kind "score"; causes, tree, logistic, always (shares of held-out actions predicted by
    the causes alone, by a decision tree and by logistic regression of all variables, and by the
    most frequent action); named, the mean number of causes; variables, how many there are.
    """

    id = "causes_fidelity"
    title = "Fidelity of the causes"
    family = "policies"
    role = "score"
    how_to_read = "How often the variables that move a choice are enough to tell it."
    libraries = ("numpy", "scikit-learn")
    uses_seed = True

    def explain(
        self, model: Any, input: Experience, target: PolicyTarget, parameters: Any, run: Run
    ) -> PolicyExplanation:
        """Predict.

        Raises:
            InputError: there are too few steps, or the agent always does the same.
        """
        from backend.policies.local_fidelity import local_fidelity
        from backend.policies.transitions import prepare
        from backend.threads import one_thread

        prepare(input, run.seed)  # it refuses an experience of too few transitions
        kept = input.arrays["explored"] == 0
        if len(np.unique(input.arrays["actions"][kept])) < 2:
            raise InputError(
                "The agent does one and the same thing: nothing is left to predict.",
                todo="Collect more, or by other actions.",
            )
        if len(np.unique(input.arrays["episodes"][kept])) < 2:
            raise InputError(
                "The agent's own steps are of one episode: none can be held out.",
                todo="Collect or bring more episodes.",
            )
        with one_thread():
            found = local_fidelity(input, run.seed, run.progress)
        return PolicyExplanation(
            arrays={},
            values={
                "kind": "score",
                **dataclasses.asdict(found),
                "variables": len(input.variables),
            },
        )
