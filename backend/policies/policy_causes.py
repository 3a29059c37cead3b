"""What moves the agent's choice: interventions on one state variable at a time.

1. Variable i is drawn anew from the visited states, the others stay: how far the distribution over
   actions moves (Kullback-Leibler divergence, in nats) is its effect.
2. The sufficient set: the fewest variables that keep the action in 95 % of draws while all others
   are drawn anew together, found by adding the one that keeps it best, then dropping what is not
   needed.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from backend.policies.acting import Acting

DRAWS = 400
KEPT = 0.95
LEAST = 1e-3
"""Probability that none is taken to fall under: a value-based agent gives zeros."""


@dataclasses.dataclass(frozen=True, eq=False)
class Causes:
    """Attributes:
    effect, low, high: [S], mean divergence and its 95 % interval (of the mean, by bootstrap).
    sufficient: numbers of variables, the most important first. share: of draws that keep the
        action with them alone.
    """

    effect: np.ndarray
    low: np.ndarray
    high: np.ndarray
    sufficient: tuple[int, ...]
    share: float


def causes(
    agent: Acting,
    state: np.ndarray,
    action: int,
    visited: np.ndarray,
    generator: np.random.Generator,
    draws: int = DRAWS,
) -> Causes:
    """The causes of a choice.

    Args:
        state: [S]. visited: [N, S] states that values are drawn from.
    """
    pool = visited[generator.integers(len(visited), size=draws)]
    before = _floored(agent.probabilities(state[None]))[0]
    effects = np.zeros((len(state), draws))
    for i in range(len(state)):
        moved = np.repeat(state[None], draws, axis=0)
        moved[:, i] = pool[:, i]
        after = _floored(agent.probabilities(moved))
        effects[i] = np.maximum((before * np.log(before / after)).sum(axis=1), 0)
    means = effects.mean(axis=1)
    again = generator.integers(draws, size=(200, draws))
    low, high = np.percentile(effects[:, again].mean(axis=2), (2.5, 97.5), axis=1)
    chosen, share = sufficient(agent, state, action, pool, means)
    return Causes(means, low, high, chosen, share)


def sufficient(
    agent: Acting, state: np.ndarray, action: int, pool: np.ndarray, effect: np.ndarray
) -> tuple[tuple[int, ...], float]:
    """The fewest variables that keep the action, and the share of draws in which they do.

    Args:
        pool: [D, S], what the others are drawn from. effect: [S], decides between equals.
    """
    chosen: list[int] = []
    share = kept_share(agent, state, action, pool, chosen)
    while share < KEPT and len(chosen) < len(state):
        options = [i for i in range(len(state)) if i not in chosen]
        shares = [kept_share(agent, state, action, pool, [*chosen, i]) for i in options]
        best = max(range(len(options)), key=lambda k: (shares[k], effect[options[k]]))
        chosen.append(options[best])
        share = shares[best]
    for i in sorted(chosen, key=lambda k: effect[k]):
        left = [k for k in chosen if k != i]
        without = kept_share(agent, state, action, pool, left)
        if without >= KEPT:
            chosen, share = left, without
    return tuple(sorted(chosen, key=lambda k: -effect[k])), share


def kept_share(
    agent: Acting, state: np.ndarray, action: int, pool: np.ndarray, held: list[int]
) -> float:
    """Share of draws [D, S] in which the action stays while `held` variables keep their values."""
    moved = pool.copy()
    moved[:, held] = state[held]
    return float((agent.act(moved) == action).mean())


def _floored(probabilities: np.ndarray) -> np.ndarray:
    raised = np.maximum(probabilities, LEAST)
    shares: np.ndarray = raised / raised.sum(axis=1, keepdims=True)
    return shares
