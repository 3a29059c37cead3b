"""The first preparation of an environment without an agent: train one."""

from __future__ import annotations

from typing import Any

from backend.errors import InputError
from backend.explainer import Explainer, Reference, Run
from backend.policies.collected import explanation
from backend.policies.environment import OWN, find
from backend.policies.explanation import (
    PREFIX,
    Experience,
    PolicyExplanation,
    PolicyTarget,
    Training,
)


class TrainAgent(Explainer):
    """Trains an agent by the recipe of its environment.

    Result: kind "experience", of no transitions, with the agent's weights; its `origin` says how it
    was trained and the mean and deviation of its return over 20 episodes.
    """

    id = "train_agent"
    title = "Train an agent"
    family = "policies"
    role = "preparation"
    reference = Reference(
        authors="Raffin, Hill, Gleave, Kanervisto, Ernestus, Dormann",
        title="Stable-Baselines3: Reliable Reinforcement Learning Implementations",
        year=2021,
        link="https://jmlr.org/papers/v22/20-1364.html",
    )
    how_to_read = "The agent learns by trying; its mean return says how well it does."
    libraries = ("torch", "stable-baselines3", "gymnasium", "numpy")

    def explain(
        self, model: Any, input: Experience, target: PolicyTarget, parameters: Any, run: Run
    ) -> PolicyExplanation:
        """Train by the target's recipe, or by the default one where it has none.

        Raises:
            InputError: there is no environment to train in.
        """
        if model.environment == OWN:
            raise InputError(
                "There is no environment to train an agent in: this is a table of trajectories.",
                todo="Choose an environment, or explain the table as it is.",
            )
        from backend.policies.training import train

        environment, asked = find(model.environment), target.training or Training()
        steps = max(1, round(environment.steps * asked.share))
        network, weights, origin = train(environment, steps, asked.seed, run.progress)
        found = Experience(
            arrays={PREFIX + name: array for name, array in weights.items()},
            title=environment.title,
            environment=environment.id,
            variables=environment.variables,
            action_names=environment.action_names,
            network=network,
            origin={"agent": origin | {"training": asked.model_dump(mode="json")}},
        )
        return explanation(found)
