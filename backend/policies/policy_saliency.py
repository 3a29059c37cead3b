"""Saliency of a policy: how steeply the choice changes with each state variable."""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.bundle import Bundle
from backend.explainer import Explainer, Reference, Run
from backend.policies import gradients
from backend.policies.explained import explained
from backend.policies.explanation import Experience, PolicyExplanation, PolicyTarget
from backend.policies.moment import moment


class PolicySaliency(Explainer):
    """|d(margin) / dx_i| times the standard deviation of x_i over the visited states.

    The margin is the output of the action less that of the other one.
    """

    id = "policy_saliency"
    title = "Saliency"
    family = "policies"
    reference = Reference(
        authors="Simonyan, Vedaldi, Zisserman",
        title="Deep Inside Convolutional Networks",
        year=2013,
        link="https://arxiv.org/abs/1312.6034",
    )
    how_to_read = (
        "How much a move of the variable by one standard deviation would move the margin between "
        "the two actions, if it went on as steeply as here. It has no sign."
    )
    libraries = ("torch", "numpy")

    def supports(self, config: dict[str, Any], input: Bundle) -> str | None:
        return gradients.refusal(input) if isinstance(input, Experience) else None

    def explain(
        self, model: Any, input: Experience, target: PolicyTarget, parameters: Any, run: Run
    ) -> PolicyExplanation:
        """Take the gradient.

        Raises:
            InputError: there is no such moment, or no agent is known.
        """
        import torch

        from backend.policies.agent_torch import Margin, inputs

        agent, at = gradients.differentiable(input), moment(input, target)
        x = inputs(agent, at.state[None]).requires_grad_()
        [slope] = torch.autograd.grad(Margin(agent, at.action, at.instead)(x).sum(), x)
        run.count(forward=1, backward=1)
        size = np.abs(slope[0].numpy()) * gradients.spread(agent, input.arrays["states"])
        scores = gradients.per_variable(agent, size)
        return explained(input, at, scores, unit=gradients.unit(agent))
