"""The preparation of an environment: let its agent act and keep what it experiences."""

from __future__ import annotations

import dataclasses
from typing import Any

from backend.errors import InputError
from backend.explainer import Explainer, Run
from backend.policies.agent import Agent, agent_of
from backend.policies.collected import explanation
from backend.policies.environment import OWN, find
from backend.policies.explanation import Collecting, Experience, PolicyExplanation, PolicyTarget


class Collect(Explainer):
    """Collects transitions as the target's `collecting` says.

    The agent is that of the input where it holds one, else the one that comes with the environment.
    Result: kind "experience".
    """

    id = "collect"
    title = "Collect experience"
    family = "policies"
    role = "preparation"
    how_to_read = "Every step an agent takes: the state, its action, the reward, the state after."
    libraries = ("gymnasium", "numpy")

    def explain(
        self, model: Any, input: Experience, target: PolicyTarget, parameters: Any, run: Run
    ) -> PolicyExplanation:
        """Collect.

        Raises:
            InputError: there is no environment to act in, or the agent is of another one.
        """
        if model.environment == OWN:
            raise InputError(
                "There is no environment to act in: this is a table of trajectories.",
                todo="Choose an environment, or explain the table as it is.",
            )
        from backend.policies.collecting import collect

        environment = find(model.environment)
        if input.environment not in ("", environment.id):
            raise InputError(f"The agent is of {input.environment}, not of {environment.id}.")
        agent, origin = agent_of(input), input.origin.get("agent")
        if agent is None and model.network is not None:
            agent = Agent(model.network, model.weights, environment.variables)
            origin = model.origin
        asked = target.collecting or Collecting()
        found = collect(environment, agent, asked, run.progress)
        notes: tuple[str, ...] = ()
        if agent is None:
            notes = ("There is no agent: all actions are drawn at random.",)
        if asked.mode == "wide" and not environment.settable:
            notes += (
                f"{environment.title} cannot be put into a state: it starts as it always does.",
            )
        found = dataclasses.replace(found, origin=found.origin | {"agent": origin})
        return explanation(found, notes)
