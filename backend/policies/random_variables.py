"""Random scores: the control that any explainer should beat."""

from __future__ import annotations

from typing import Any

from backend.explainer import Explainer, Run
from backend.policies.explained import explained
from backend.policies.explanation import Experience, PolicyExplanation, PolicyTarget
from backend.policies.moment import moment


class RandomVariables(Explainer):
    """A number drawn uniformly for each state variable."""

    id = "random_variables"
    title = "Random"
    family = "policies"
    how_to_read = "Numbers drawn at random: they know nothing of the agent."
    libraries = ("numpy",)
    uses_seed = True
    control = True

    def explain(
        self, model: Any, input: Experience, target: PolicyTarget, parameters: Any, run: Run
    ) -> PolicyExplanation:
        """Draw.

        Raises:
            InputError: there is no such moment.
        """
        at = moment(input, target)
        return explained(input, at, run.numpy_generator().random(len(at.state)))
