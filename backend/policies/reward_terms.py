"""The terms that an environment's reward is the sum of, where it has several.

From the source of gymnasium: `box2d/lunar_lander.py` (the change of a shaping function, less fuel;
at the end 100 in place of all) and `toy_text/taxi.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

LANDER = ("distance", "speed", "tilt", "legs down", "fuel", "landed or crashed")
TAXI = ("time", "delivery", "illegal stops")
TERMS: Mapping[str, tuple[str, ...]] = {"lunarlander": LANDER, "taxi": TAXI}
"""Names of the terms, by environment."""
DELIVERED, ILLEGAL = 20, -10
MAIN_ENGINE, SIDE_ENGINE = 0.3, 0.03
"""What a step of an engine costs."""


def terms(
    environment: str,
    states: np.ndarray,
    actions: np.ndarray,
    rewards: np.ndarray,
    next_states: np.ndarray,
    terminated: np.ndarray,
) -> np.ndarray:
    """[N, C] float64, the terms of each transition; they sum to its reward.

    Args:
        states, next_states: [N, S]. actions, rewards, terminated: [N].

    Raises:
        KeyError: the reward of this environment has no terms.
    """
    rewards = rewards.astype(np.float64)
    if environment == "taxi":
        delivered, illegal = rewards == DELIVERED, rewards == ILLEGAL
        time = ~(delivered | illegal)
        return np.stack([rewards * time, rewards * delivered, rewards * illegal], axis=1)
    if environment != "lunarlander":
        raise KeyError(environment)
    gained = _shaping(next_states) - _shaping(states)
    cost = np.array([0, SIDE_ENGINE, MAIN_ENGINE, SIDE_ENGINE])[actions]
    found = np.column_stack([gained, -cost, np.zeros(len(rewards))])
    ended = terminated.astype(bool)
    found[ended] = 0
    found[ended, -1] = rewards[ended]
    return found


def _shaping(states: np.ndarray) -> np.ndarray:
    """[N, 4]: what the lander's place, speed, angle and legs are worth."""
    s = states.astype(np.float64)
    return np.column_stack(
        [
            -100 * np.hypot(s[:, 0], s[:, 1]),
            -100 * np.hypot(s[:, 2], s[:, 3]),
            -100 * np.abs(s[:, 4]),
            10 * (s[:, 6] + s[:, 7]),
        ]
    )
