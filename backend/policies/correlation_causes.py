"""How each state variable goes along with the action over the whole experience: no cause."""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.explainer import Explainer, Run
from backend.policies.explained import explained
from backend.policies.explanation import Experience, PolicyExplanation, PolicyTarget
from backend.policies.moment import moment


class CorrelationCauses(Explainer):
    """|Pearson correlation| of each variable with taking the action, over all transitions.

    Of a categorical variable the largest over its values.
    """

    id = "correlation_causes"
    title = "Correlation"
    family = "policies"
    how_to_read = (
        "How closely the variable goes along with the action over all transitions. It is the same "
        "in every state, and says nothing of causes: a method should beat it."
    )
    libraries = ("numpy",)

    def explain(
        self, model: Any, input: Experience, target: PolicyTarget, parameters: Any, run: Run
    ) -> PolicyExplanation:
        """Correlate.

        Raises:
            InputError: there is no such moment.
        """
        at, arrays = moment(input, target), input.arrays
        taken = (arrays["actions"] == at.action).astype(np.float64)
        scores = np.zeros(len(at.state))
        for i, variable in enumerate(input.variables):
            column = arrays["states"][:, i].astype(np.float64)
            parts = [column]
            if variable.kind == "categorical":
                values = range(len(variable.levels))
                parts = [(column == value).astype(np.float64) for value in values]
            scores[i] = max(_correlation(part, taken) for part in parts)
        return explained(input, at, scores, unit="correlation")


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a**2).sum() * (b**2).sum()))
    return abs(float((a * b).sum())) / size if size > 0 else 0.0
