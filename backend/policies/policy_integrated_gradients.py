"""Integrated gradients of a policy, by captum.

Sundararajan, Taly & Yan, "Axiomatic Attribution for Deep Networks", ICML 2017.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from backend.bundle import Bundle
from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.policies import gradients
from backend.policies.explained import explained
from backend.policies.explanation import Experience, PolicyExplanation, PolicyTarget
from backend.policies.moment import moment

LOOSE = 0.02
"""A completeness gap above this share of the difference is warned of."""


class PolicyIntegratedGradientsParameters(Frozen):
    """How finely the way from the reference is walked."""

    steps: Annotated[int, Field(ge=8, le=2000)] = Field(
        128, title="Steps", description="Points on the way from the mean visited state."
    )


class PolicyIntegratedGradients(Explainer):
    """Each variable's share of the margin's difference from that of the mean visited state.

    Values beside those of `explained`: output and baseline_output (the margin here and there), sum,
    completeness_gap.
    """

    id = "policy_integrated_gradients"
    title = "Integrated gradients (captum)"
    family = "policies"
    reference = Reference(
        authors="Sundararajan, Taly, Yan",
        title="Axiomatic Attribution for Deep Networks",
        year=2017,
        link="https://arxiv.org/abs/1703.01365",
    )
    how_to_read = (
        "The bars add up to how far the margin between the two actions is from that of the mean "
        "visited state. Positive: the variable speaks for the action."
    )
    libraries = ("torch", "captum", "numpy")
    Parameters = PolicyIntegratedGradientsParameters

    def supports(self, config: dict[str, Any], input: Bundle) -> str | None:
        return gradients.refusal(input) if isinstance(input, Experience) else None

    def explain(
        self, model: Any, input: Experience, target: PolicyTarget, parameters: Any, run: Run
    ) -> PolicyExplanation:
        """Integrate.

        Raises:
            InputError: there is no such moment, or no agent is known.
        """
        import torch
        from captum.attr import IntegratedGradients

        from backend.policies.agent_torch import Margin, inputs

        agent, at = gradients.differentiable(input), moment(input, target)
        margin = Margin(agent, at.action, at.instead)
        x = inputs(agent, at.state[None])
        middle = torch.from_numpy(agent.inputs(input.arrays["states"]).mean(axis=0))[None]
        found = IntegratedGradients(margin).attribute(x, middle, n_steps=parameters.steps)
        run.count(forward=parameters.steps, backward=parameters.steps)
        scores = gradients.per_variable(agent, found[0].detach().numpy())
        with torch.no_grad():
            output, base = float(margin(x)), float(margin(middle))
        gap = float(scores.sum()) - (output - base)
        notes: tuple[str, ...] = ()
        if abs(gap) > LOOSE * max(abs(output - base), 1e-9):
            notes = (f"The bars miss the whole difference by {gap:.3g}: more steps come closer.",)
        values = {"output": output, "baseline_output": base, "sum": float(np.sum(scores)),
                  "completeness_gap": gap}  # fmt: skip
        return explained(input, at, scores, unit=gradients.unit(agent), values=values, notes=notes)
