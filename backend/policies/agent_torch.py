"""An agent as a torch module, for gradients. Imports torch: workers only."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from backend.policies.agent import Agent


class AgentModule(nn.Module):
    """From coded and scaled states [N, in] (see `Agent.inputs`) to outputs [N, A], in float64."""

    def __init__(self, agent: Agent) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for number in range(agent.depth):
            if number:
                layers.append(nn.Tanh() if agent.network.activation == "tanh" else nn.ReLU())
            weight = torch.from_numpy(agent.weights[f"{number}.weight"]).double()
            linear = nn.Linear(weight.shape[1], weight.shape[0], dtype=torch.float64)
            bias = torch.from_numpy(agent.weights[f"{number}.bias"]).double()
            linear.load_state_dict({"weight": weight, "bias": bias})
            layers.append(linear)
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.layers(x)
        return found


class Margin(nn.Module):
    """[N]: the output of one action less that of another, what explainers of a choice explain."""

    def __init__(self, agent: Agent, action: int, instead: int) -> None:
        super().__init__()
        self.module = AgentModule(agent)
        self.action, self.instead = action, instead

    def forward(self, x: Tensor) -> Tensor:
        found = self.module(x)
        margin: Tensor = found[:, self.action] - found[:, self.instead]
        return margin


def inputs(agent: Agent, states: np.ndarray) -> Tensor:
    """[N, in] float64 of states [N, S]."""
    return torch.from_numpy(agent.inputs(states))
