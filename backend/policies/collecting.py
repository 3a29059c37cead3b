"""Collecting transitions in a true environment. Imports gymnasium through `world`: workers only.

States are never those of a reset: the last transition of an episode keeps the state it ended in.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from backend.bundle import Arrays
from backend.explainer import Progress
from backend.policies.agent import Agent
from backend.policies.environment import Environment
from backend.policies.explanation import PREFIX, Collecting, Experience, Network
from backend.policies.world import World

EXPLORING = 0.3
"""Share of random actions where the agent explores."""
REPORT_EVERY = 200
_SHARES: dict[str, tuple[tuple[float, bool], ...]] = {
    "on_policy": ((0.0, False),),
    "exploratory": ((EXPLORING, False),),
    "random": ((1.0, False),),
    "wide": ((EXPLORING, True),),
    "mixed": ((0.0, False), (EXPLORING, False), (1.0, False)),
}
"""(share of random actions, whether start states are spread) of each part of the transitions."""


@dataclasses.dataclass
class _Log:
    """Transitions, one list a column."""

    rows: list[tuple[Any, ...]] = dataclasses.field(default_factory=list)
    seeds: list[int] = dataclasses.field(default_factory=list)
    starts: list[list[float] | None] = dataclasses.field(default_factory=list)

    def arrays(self, variables: int) -> Arrays:
        kinds = (np.float32, np.int32, np.float32, np.float32) + (np.uint8,) * 2 + (np.int32,) * 2
        names = ("states", "actions", "rewards", "next_states", "terminated", "truncated",
                 "episodes", "steps", "explored")  # fmt: skip
        columns = zip(*self.rows, strict=True)
        found = {
            name: np.array(column, dtype=kind)
            for name, column, kind in zip(names, columns, (*kinds, np.uint8), strict=True)
        }
        assert found["states"].shape[1] == variables  # noqa: S101
        return found


def collect(
    environment: Environment, agent: Agent | None, asked: Collecting, progress: Progress
) -> Experience:
    """Transitions of an agent, or where there is none of random actions alone.

    `origin["seeds"]` and `origin["starts"]` (a state where one was set, else None) say how each
    episode began, so that it can be played again.
    """
    generator = np.random.default_rng(asked.seed)
    log = _Log()
    parts = ((1.0, False),) if agent is None else _SHARES[asked.mode]
    with World(environment) as world:
        spread = _spread(environment, generator)
        ends = np.linspace(0, asked.transitions, len(parts) + 1).astype(int)[1:]
        for (share, wide), end in zip(parts, ends, strict=True):
            while len(log.rows) < end:
                start = spread() if wide and environment.settable else None
                _episode(world, agent, share, start, int(end), generator, log, asked, progress)
    origin: dict[str, Any] = {
        "collecting": asked.model_dump(mode="json"),
        "seeds": list(log.seeds),
        "starts": list(log.starts),
    }
    weights = {} if agent is None else {PREFIX + n: a for n, a in agent.weights.items()}
    network: Network | None = None if agent is None else agent.network
    return Experience(
        arrays={**log.arrays(len(environment.variables)), **weights},
        title=environment.title,
        environment=environment.id,
        variables=environment.variables,
        action_names=environment.action_names,
        network=network,
        origin=origin,
    )


def _episode(
    world: World,
    agent: Agent | None,
    share: float,
    start: np.ndarray | None,
    end: int,
    generator: np.random.Generator,
    log: _Log,
    asked: Collecting,
    progress: Progress,
) -> None:
    environment, number = world.environment, len(log.seeds)
    seed = int(generator.integers(2**31))
    log.seeds.append(seed)
    log.starts.append(None if start is None else [float(value) for value in start])
    state = world.reset(seed) if start is None else world.set_state(start)
    for step in range(environment.limit):
        if len(log.rows) % REPORT_EVERY == 0:
            progress(len(log.rows), asked.transitions, "collecting transitions")
        explored = agent is None or generator.random() < share
        if explored or agent is None:
            action = int(generator.integers(len(environment.action_names)))
        else:
            action = int(agent.act(state[None])[0])
        outcome = world.step(action)
        full = len(log.rows) + 1 >= end
        cut = not outcome.terminated and (
            outcome.truncated or step + 1 == environment.limit or full
        )
        log.rows.append((state, action, outcome.reward, outcome.state, outcome.terminated, cut,
                         number, step, explored))  # fmt: skip
        state = outcome.state
        if outcome.terminated or cut or full:
            return


def _spread(environment: Environment, generator: np.random.Generator) -> Callable[[], np.ndarray]:
    """Draws start states spread widely over those that the environment knows."""
    wide = {
        "cartpole": ([-1.5, -2, -0.15, -2], [1.5, 2, 0.15, 2]),
        "mountaincar": ([-1.1, -0.06], [0.4, 0.06]),
    }

    def draw() -> np.ndarray:
        if environment.id == "acrobot":
            one, two = generator.uniform(-np.pi, np.pi, 2)
            speed = generator.uniform((-4, -8), (4, 8))
            found = [np.cos(one), np.sin(one), np.cos(two), np.sin(two), *speed]
        elif environment.id in wide:
            found = list(generator.uniform(*wide[environment.id]))
        else:
            found = [generator.integers(len(v.levels)) for v in environment.variables]
        return np.array(found, dtype=np.float32)

    return draw


def replay(
    experience: Experience, environment: Environment, episode: int, pictures: bool = False
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """States and pictures of an episode played again from its start, one more than its actions.

    Raises:
        IndexError: there is no such episode.
    """
    arrays = experience.arrays
    rows = np.flatnonzero(arrays["episodes"] == episode)
    starts: Any = experience.origin["starts"]
    seeds: Any = experience.origin["seeds"]
    states, frames = [], []
    with World(environment, pictures) as world:
        start = starts[episode]
        first = world.reset(int(seeds[episode])) if start is None else None
        state = world.set_state(np.array(start)) if first is None else first
        for action in [*arrays["actions"][rows], None]:
            states.append(state)
            if pictures:
                frames.append(world.render())
            if action is not None:
                state = world.step(int(action)).state
    return states, frames
