"""The consensus of several attributions of one choice."""

from __future__ import annotations

from typing import Any

import numpy as np

from backend import consensus
from backend.explainer import Run
from backend.policies.explained import explained
from backend.policies.explanation import Experience, PolicyExplanation, PolicyTarget
from backend.policies.moment import moment


class PolicyConsensus(consensus.Consensus):
    """Mean ranking of state variables.

    Arrays and values as `backend.policies.explained` and `backend.consensus.Consensus` have them.
    """

    family = "policies"

    def told(
        self,
        input: Experience,
        target: PolicyTarget,
        run: Run,
        arrays: dict[str, np.ndarray],
        values: dict[str, Any],
    ) -> PolicyExplanation:
        at = moment(input, target)
        return explained(
            input, at, arrays["scores"], unit=consensus.UNIT, arrays=arrays, values=values
        )
