"""States near a moment in which the agent would have done something else.

After DiCE (Mothilal, Sharma & Tan, FAT* 2020), as CausalXRL uses it:

1. From visited states in which the agent takes the other action, the nearest ones are picked one by
   one, each as far as may be from those picked already.
2. Each is simplified: every variable goes back to the moment's value where the action stays the
   other one, the smallest change first.
3. One that changes all that another does, and no less, is dropped.
4. A variable's importance is the share of those left that change it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from backend.policies.acting import Acting
from backend.policies.explanation import Variable

WANTED = 40
DIVERSE = 0.5
"""Weight of being apart from those picked already against being near the moment."""
MOST_VISITED = 5000


@dataclasses.dataclass(frozen=True, eq=False)
class Counterfactuals:
    """Attributes:
    states: [C, S]. changed: [C, S] bool, which variables differ from the moment's.
    importance: [S], the share that change a variable; zeros where there is none.
    """

    states: np.ndarray
    changed: np.ndarray
    importance: np.ndarray


def counterfactual_states(
    agent: Acting,
    state: np.ndarray,
    action: int,
    visited: np.ndarray,
    variables: Sequence[Variable],
    generator: np.random.Generator,
    wanted: int = WANTED,
) -> Counterfactuals:
    """States in which the agent takes `action`; none where it never does in those visited.

    Args:
        state: [S]. visited: [N, S].
    """
    pool = generator.permutation(visited)[:MOST_VISITED].astype(np.float64)
    pool = pool[agent.act(pool) == action]
    size = len(state)
    if not len(pool):
        return Counterfactuals(np.zeros((0, size)), np.zeros((0, size), dtype=bool), np.zeros(size))
    spread = np.array(
        [s if v.kind == "numeric" and s > 0 else 1.0
         for s, v in zip(visited.std(axis=0), variables, strict=True)]
    )  # fmt: skip
    picked = _picked(pool, state, spread, wanted)
    simple = np.unique(
        np.stack([_simplified(agent, one, state, action, spread) for one in picked]), axis=0
    )
    changed = np.abs(simple - state) > 1e-9
    kept = _undominated(simple, changed, state, spread)
    simple, changed = simple[kept], changed[kept]
    return Counterfactuals(simple, changed, changed.mean(axis=0))


def _picked(pool: np.ndarray, state: np.ndarray, spread: np.ndarray, wanted: int) -> np.ndarray:
    near = np.abs((pool - state) / spread).sum(axis=1)
    order = np.argsort(near, kind="stable")[: 20 * wanted]
    pool, near = pool[order] / spread, near[order]
    apart, chosen = np.full(len(pool), np.inf), [0]
    while len(chosen) < min(wanted, len(pool)):
        apart = np.minimum(apart, np.abs(pool - pool[chosen[-1]]).sum(axis=1))
        worth = DIVERSE * apart - near
        worth[chosen] = -np.inf
        chosen.append(int(worth.argmax()))
    found: np.ndarray = pool[chosen] * spread
    return found


def _simplified(
    agent: Acting, found: np.ndarray, state: np.ndarray, action: int, spread: np.ndarray
) -> np.ndarray:
    found = found.copy()
    for i in np.argsort(np.abs((found - state) / spread), kind="stable"):
        tried = found.copy()
        tried[i] = state[i]
        if agent.act(tried[None])[0] == action:
            found = tried
    return found


def _undominated(
    states: np.ndarray, changed: np.ndarray, state: np.ndarray, spread: np.ndarray
) -> np.ndarray:
    """Numbers of those for which no other changes a part of the same, each by no more."""
    moves = np.abs(states - state) / spread
    kept = []
    for number in range(len(states)):
        smaller = (moves <= moves[number] + 1e-12).all(axis=1)
        less = smaller & (moves < moves[number] - 1e-12).any(axis=1)
        fewer = (changed <= changed[number]).all(axis=1)
        if not (less & fewer).any():
            kept.append(number)
    return np.array(kept, dtype=int)
