"""What gradient explainers of a policy share: whom they can explain, and back to variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.errors import InputError
from backend.policies.agent import Agent, agent_of
from backend.policies.coding import columns
from backend.policies.explanation import Experience

NO_AGENT = (
    "No agent is known here, so there are no gradients: bring its weights, or choose an explainer "
    "that reads what it did."
)


def refusal(experience: Experience) -> str | None:
    """Why there are no gradients, or None."""
    return NO_AGENT if len(experience) and experience.network is None else None


def differentiable(experience: Experience) -> Agent:
    """The agent.

    Raises:
        InputError: none is known.
    """
    agent = agent_of(experience)
    if agent is None:
        raise InputError(NO_AGENT)
    return agent


def per_variable(agent: Agent, found: np.ndarray) -> np.ndarray:
    """[S]: numbers of inputs [in] added up over the columns of each state variable."""
    if not agent.network.one_hot:
        return found
    return np.array([found[part].sum() for part in columns(agent.variables)])


def unit(agent: Agent) -> str:
    """What the margin between two actions is measured in."""
    return "logit" if agent.network.head == "logits" else "value"


def spread(agent: Agent, states: np.ndarray) -> np.ndarray:
    """[in]: standard deviation of each input over visited states [N, S]."""
    found: Any = agent.inputs(states).std(axis=0)
    return np.asarray(found)
