"""A system whose equations are known, and agents that act in it."""

from __future__ import annotations

import dataclasses

import numpy as np

from backend.policies.explanation import PREFIX, Experience, Network, Variable
from backend.policies.structure import Structure
from backend.policies.transitions import ACTION, REWARD, Transitions

NAMES = ("drive", "shadow", "level", "gauge", "fixed")
DRIVE, SHADOW, LEVEL, GAUGE, FIXED = range(5)
ACTED = 5
"""Row of the action among the sources."""
PAID = 5
"""Column of the reward among the targets."""
VARIABLES = tuple(Variable(name=name) for name in NAMES)
ACTIONS = ("lower", "raise")
EDGES = {
    "drive": ("drive",),
    # Both drives of the pair are pushed by the same hidden hand: neither moves the other.
    "shadow": ("shadow",),
    "level": ("level", "drive", ACTION),
    "gauge": ("gauge", "level"),
    "fixed": (),
    REWARD: ("level",),
}
STILL_AT = 2.0
NOISE = 0.1
KEPT = 0.7
PULL, LIFT, LEAK = 0.3, 0.4, 0.2
"""What the drive, the action and the level itself do to the level in a step."""


def truth() -> np.ndarray:
    """[6, 6] uint8, sources by targets: 1 where the equations have an edge."""
    sources, targets = (*NAMES, ACTION), (*NAMES, REWARD)
    return np.array([[s in EDGES[t] for t in targets] for s in sources], dtype=np.uint8)


def gauged(gauge: np.ndarray, level: np.ndarray, linear: bool) -> np.ndarray:
    """What the gauge shows next, but for noise."""
    return 0.6 * gauge + (0.5 * level if linear else 0.4 * level**2 - 0.2 * level)


def world(
    episodes: int = 40, length: int = 50, seed: int = 0, linear: bool = False, known: bool = True
) -> Experience:
    """Transitions of the agent that lifts the level where it is low, three in ten at random.

    Args:
        linear: whether all equations are straight lines; else the gauge shows a square.
        known: whether the agent's weights come along.
    """
    generator = np.random.default_rng([seed, 11])
    state = np.zeros((episodes, 5))
    state[:, [DRIVE, SHADOW]] = generator.normal(size=(episodes, 1))
    state[:, LEVEL], state[:, FIXED] = generator.normal(size=episodes), STILL_AT
    states, after, actions, rewards, explored = [], [], [], [], []
    for _ in range(length):
        noise = generator.normal(size=(5, episodes)) * NOISE
        random = generator.random(episodes) < 0.3
        action = np.where(random, generator.integers(2, size=episodes), state[:, LEVEL] < 0)
        drive, shadow, level, gauge, _ = state.T
        hidden = generator.normal(size=episodes) * 0.4
        following = np.stack(
            [
                KEPT * drive + hidden + 3 * noise[0],
                KEPT * shadow + hidden + 3 * noise[1],
                level + PULL * drive + LIFT * (2 * action - 1) - LEAK * level + noise[2],
                gauged(gauge, level, linear) + noise[3],
                state[:, FIXED],
            ],
            axis=1,
        )
        states.append(state)
        after.append(following)
        actions.append(action)
        rewards.append(1 - level + noise[4])
        explored.append(random)
        state = following
    last = np.tile(np.arange(length) == length - 1, episodes)
    arrays = {
        "states": np.stack(states, axis=1).reshape(-1, 5).astype(np.float32),
        "actions": np.stack(actions, axis=1).reshape(-1).astype(np.int32),
        "rewards": np.stack(rewards, axis=1).reshape(-1).astype(np.float32),
        "next_states": np.stack(after, axis=1).reshape(-1, 5).astype(np.float32),
        "terminated": np.zeros(episodes * length, dtype=np.uint8),
        "truncated": last.astype(np.uint8),
        "episodes": np.repeat(np.arange(episodes), length).astype(np.int32),
        "steps": np.tile(np.arange(length), episodes).astype(np.int32),
        "explored": np.stack(explored, axis=1).reshape(-1).astype(np.uint8),
    }
    found = Experience(arrays=arrays, title="made", variables=VARIABLES, action_names=ACTIONS)
    return acted(found, [0, 0, -4, 0, 0]) if known else found


def straight(rows: int = 400, seed: int = 0) -> Experience:
    """Independent states and what follows them by straight lines, almost without noise."""
    generator = np.random.default_rng([seed, 12])
    states = generator.normal(size=(rows, 3))
    actions = generator.integers(2, size=rows)
    first, second, third = states.T
    after = np.stack([first + second, second + 0.7 * (2 * actions - 1), 0.5 * third + first], 1)
    after += generator.normal(size=after.shape) * 0.05
    every = np.arange(rows)
    arrays = {
        "states": states.astype(np.float32),
        "actions": actions.astype(np.int32),
        "rewards": (third + generator.normal(size=rows) * 0.3).astype(np.float32),
        "next_states": after.astype(np.float32),
        "terminated": np.zeros(rows, dtype=np.uint8),
        "truncated": np.ones(rows, dtype=np.uint8),
        "episodes": every.astype(np.int32),
        "steps": np.zeros(rows, dtype=np.int32),
        "explored": np.ones(rows, dtype=np.uint8),
    }
    variables = tuple(Variable(name=name) for name in ("first", "second", "third"))
    return Experience(arrays=arrays, title="lines", variables=variables, action_names=ACTIONS)


STRAIGHT = np.array([[1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 0, 0]], dtype=np.uint8)
"""The edges of `straight`: three variables and the action by three variables and the reward."""


def acted(experience: Experience, weights: list[float], bias: float = 0.0) -> Experience:
    """With a linear agent of two actions: the log odds of the second are weights @ state + bias."""
    matrix = np.stack([np.zeros(len(weights)), weights]).astype(np.float32)
    own = {PREFIX + "0.weight": matrix, PREFIX + "0.bias": np.array([0, bias], dtype=np.float32)}
    return dataclasses.replace(
        experience, arrays={**experience.arrays, **own}, network=Network(head="logits")
    )


def structure(transitions: Transitions, present: np.ndarray) -> Structure:
    """A graph of given edges, as if it were learned."""
    zeros = np.zeros(present.shape)
    return Structure(
        source_names=transitions.source_names,
        target_names=transitions.target_names,
        learner="loco",
        present=present.astype(bool),
        tested=np.ones(present.shape, dtype=bool),
        strength=zeros,
        p_values=zeros,
        support=np.ones(present.shape),
        effects=zeros,
        low=zeros,
        high=zeros,
    )
