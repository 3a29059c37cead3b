"""The nouns of the Policies family: Variable, Experience, PolicyTarget, PolicyExplanation."""

from __future__ import annotations

import dataclasses
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, JsonValue

from backend.bundle import Arrays, Bundle
from backend.explanation import Explanation, Frozen

PREFIX = "agent/"
"""In front of the names of the agent's weights among the arrays of an experience."""


class Variable(Frozen):
    """One state variable, as its environment or its table names it."""

    name: Annotated[str, Field(min_length=1, max_length=80)]
    unit: Annotated[str, Field(max_length=20)] = ""
    kind: Literal["numeric", "binary", "categorical"] = "numeric"
    levels: tuple[str, ...] = ()
    """Names of the values 0, 1, ... of a categorical variable."""


class Network(Frozen):
    """A multilayer perceptron from state to one number for each action.

    Its weights are `<layer>.weight` [out, in] and `<layer>.bias` [out] for layer 0, 1, ...; before
    the first one the state is coded: categorical variables one-hot where `one_hot`, then less
    `shift` and divided by `scale` where those are among the weights ([in] each).
    """

    activation: Literal["tanh", "relu"] = "tanh"
    head: Literal["logits", "values"] = "logits"
    """`logits`: a softmax gives the probability of each action. `values`: what each action is worth
    (Q); the action of the highest value is taken."""
    one_hot: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Experience(Bundle):
    """An agent's transitions, and where it is known the agent that made them.

    Arrays (T transitions, ordered by episode and step; S state variables):
        states: [T, S] float32. Before the action, each in its own unit.
        actions: [T] int32. Number of the action that was taken.
        rewards: [T] float32.
        next_states: [T, S] float32. After the action; of the last step of an episode the state it
            ended in, never that of a reset.
        terminated: [T] uint8. 1 where the environment itself ended the episode by this step.
        truncated: [T] uint8. 1 where a limit of time, or the end of the data, cut it off.
        episodes: [T] int32. steps: [T] int32, from 0 in each episode.
        explored: [T] uint8. 1 where the action was drawn at random, not chosen by the agent.
        agent/<name>: float32, optional. The agent's weights, see `Network`.

    One of no transitions stands for "none yet", with the weights of an agent or without.
    """

    arrays: Arrays
    title: str = ""
    environment: str = ""
    """Id in `backend.policies.environments`, or "" where none is known."""
    variables: tuple[Variable, ...] = ()
    action_names: tuple[str, ...] = ()
    network: Network | None = None
    """None where there is no agent."""
    origin: dict[str, JsonValue] = dataclasses.field(default_factory=dict)
    """How it came to be: how the agent was trained, how the transitions were collected, or what was
    assumed of a file."""

    @classmethod
    def none(cls) -> Experience:
        """No transitions and no agent."""
        return cls(arrays={})

    def label(self) -> str:
        return self.title

    def __len__(self) -> int:
        return len(self.arrays["actions"]) if "actions" in self.arrays else 0

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the state variables."""
        return tuple(variable.name for variable in self.variables)

    def weights(self) -> Arrays:
        """The agent's weights by their own names; none where there is no agent."""
        return {
            name.removeprefix(PREFIX): array
            for name, array in self.arrays.items()
            if name.startswith(PREFIX)
        }

    def row(self, episode: int, step: int) -> int:
        """Which transition is this step of this episode.

        Raises:
            IndexError: there is no such step.
        """
        found = np.flatnonzero(
            (self.arrays["episodes"] == episode) & (self.arrays["steps"] == step)
        )
        if not len(found):
            raise IndexError(f"there is no step {step} of episode {episode}")
        return int(found[0])


class Collecting(Frozen):
    """How transitions are collected."""

    HEADING: ClassVar = "How experience is collected"

    mode: Literal["on_policy", "exploratory", "random", "mixed", "wide"] = Field(
        "mixed",
        title="Actions",
        description="on_policy: the agent's own. exploratory: three in ten at random. random: all "
        "at random. wide: as exploratory, from start states spread widely, where the environment "
        "can be set. mixed: a third each on_policy, exploratory and random.",
    )
    transitions: Annotated[int, Field(ge=100, le=200_000)] = Field(
        20_000, title="Transitions", description="Steps in all; the last episode may be cut off."
    )
    seed: Annotated[int, Field(ge=0, lt=2**32)] = Field(
        0, title="Seed", description="Decides start states and random actions."
    )


class Training(Frozen):
    """How an agent is trained where none comes with its environment."""

    HEADING: ClassVar = "How the agent is trained"

    share: Annotated[float, Field(ge=0.02, le=10)] = Field(
        1.0,
        title="Length",
        description="Times as many steps as the environment's own recipe takes.",
    )
    seed: Annotated[int, Field(ge=0, lt=2**32)] = Field(
        0, title="Seed", description="Decides first weights, start states and exploration."
    )


class PolicyTarget(Frozen):
    """What is explained: one moment, and the action that was or was not taken there.

    Pages and the command line start with `collecting`, ask the steps `train_agent` and `collect`
    for the experience, and put that in the place of the input; explainers need only the rest.
    """

    training: Training | None = None
    """None where the agent comes with the environment or with the experience."""
    collecting: Collecting | None = None
    episode: Annotated[int, Field(ge=0)] | None = None
    """None is the first one."""
    step: Annotated[int, Field(ge=0)] | None = None
    """None is where the agent is most decided in the middle half of the episode."""
    state: tuple[float, ...] | None = None
    """A state set by hand, in place of that of the moment."""
    action: Annotated[int, Field(ge=0)] | None = None
    """Which action; None is the one the agent takes."""
    instead: Annotated[int, Field(ge=0)] | None = None
    """The action it is contrasted with; None is the agent's second choice."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class PolicyExplanation(Explanation):
    """What an explainer found at one moment, or a step in an experience.

    `values["kind"]` says which of these it is.

    "variables": scores: [S] float32, how much each state variable speaks for the action.
    "experience" (steps `train_agent`, `collect`): arrays and fields of an `Experience`.
    "graph" (step `learn_graph`): the causal graph, see `backend.policies.structure`.
    "score": numbers about a subject.
    """
