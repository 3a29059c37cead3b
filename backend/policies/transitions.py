"""Transitions made ready for learning: sources, targets, and rows that are held out.

Sources are the state variables and the action; targets are the next state's variables and the
reward. Numeric variables are told by how they change, others by the value they take.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from backend.errors import InputError
from backend.policies.coding import columns
from backend.policies.explanation import Experience, Variable

ACTION, REWARD = "action", "reward"
HELD_OUT = 0.3
"""Share of the transitions that models are tried on."""
FEWEST = 60
"""Transitions that a graph can be learned from."""
STILL = 1e-9
"""A deviation under this, relative to the size of the values, is none."""
RARE = 15
"""Rows that a value of a binary variable or an action needs."""
FAR = 8.0
"""Half-widths from the median beyond which a change counts as no larger."""
BLOCK = 50
"""Transitions that are held out together where there are few episodes."""


@dataclasses.dataclass(frozen=True, eq=False)
class Transitions:
    """N transitions of S state variables and A actions.

    Attributes:
        states, next_states: [N, S] float64. actions: [N] int. rewards: [N] float64.
        terminated: [N] bool, whether the environment ended the episode there.
        follows: [N] bool, whether the row is the step after the row before it.
        groups: [N] int, rows that are drawn together by a bootstrap: episodes or blocks of them.
        held: [N] bool, rows that models are tried on.
        still: [S + 1] bool, sources that never move (or hardly ever, if they have two values).
        flat: [S + 1] bool, targets that never move.
        values: whether `targets` are the values that numeric variables take, not their changes.
        notes: what a person should know of the data.
    """

    variables: tuple[Variable, ...]
    action_names: tuple[str, ...]
    states: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    next_states: np.ndarray
    terminated: np.ndarray
    follows: np.ndarray
    groups: np.ndarray
    held: np.ndarray
    still: np.ndarray
    flat: np.ndarray
    values: bool = False
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def source_names(self) -> tuple[str, ...]:
        return (*(v.name for v in self.variables), ACTION)

    @property
    def target_names(self) -> tuple[str, ...]:
        return (*(v.name for v in self.variables), REWARD)

    @property
    def smooth(self) -> bool:
        """Whether no variable is categorical."""
        return all(variable.kind != "categorical" for variable in self.variables)

    def spread(self) -> np.ndarray:
        """[S] float64: standard deviation of each variable in the rows models learn from."""
        found: np.ndarray = self.states[~self.held].std(axis=0)
        return found

    def targets(self) -> list[np.ndarray]:
        """For each target [N, k] float64: the change, or one column a value of a categorical."""
        found = []
        for j, variable in enumerate(self.variables):
            if variable.kind == "categorical":
                values = np.arange(len(variable.levels))
                found.append((self.next_states[:, j, None] == values).astype(np.float64))
            else:
                before = 0.0 if self.values else self.states[:, j]
                found.append((self.next_states[:, j] - before)[:, None])
        return [*found, self.rewards[:, None]]

    def limited(self, reward: bool = True) -> list[np.ndarray]:
        """`targets`, numeric ones brought within `FAR` half-widths of their median.

        A few crashes or jumps would else be all that a squared error sees. The half-width is half
        of what the middle 68 % of the rows that are not held out span; where that is nothing, a
        target is left as it is.

        Args:
            reward: whether the reward is limited, too.
        """
        found = []
        for j, target in enumerate(self.targets()):
            last = j == len(self.variables)
            if (last and not reward) or (not last and self.variables[j].kind != "numeric"):
                found.append(target)
                continue
            low, middle, high = np.percentile(target[~self.held], (16, 50, 84))
            reach = FAR * (high - low) / 2
            found.append(np.clip(target, middle - reach, middle + reach) if reach > 0 else target)
        return found

    def columns(self) -> tuple[slice, ...]:
        """The columns of each target where `targets` are put beside one another."""
        state = columns(self.variables)
        last = state[-1].stop if state else 0
        return (*state, slice(last, last + 1))

    def rows(self, chosen: np.ndarray) -> Transitions:
        """The transitions of these rows, which may repeat."""
        names = ("states", "actions", "rewards", "next_states", "terminated", "follows",
                 "groups", "held")  # fmt: skip
        return dataclasses.replace(self, **{name: getattr(self, name)[chosen] for name in names})

    def resampled(self, generator: np.random.Generator) -> Transitions:
        """A bootstrap: groups drawn with replacement, held-out ones and others apart."""
        chosen = []
        for held in (False, True):
            there = np.unique(self.groups[self.held == held])
            rows_of = {group: np.flatnonzero(self.groups == group) for group in there}
            drawn = generator.choice(there, len(there))
            chosen += [rows_of[group] for group in drawn]
        return self.rows(np.concatenate(chosen))


def prepare(experience: Experience, seed: int = 0) -> Transitions:
    """An experience as transitions; which rows are held out, the seed decides.

    Raises:
        InputError: there are too few transitions.
    """
    count = len(experience)
    if count < FEWEST:
        raise InputError(
            f"There are {count} transitions, too few to learn a causal graph from.",
            todo=f"Bring or collect {FEWEST} or more; some thousands are good.",
        )
    arrays = experience.arrays
    groups = grouped(arrays["episodes"], arrays["steps"])
    held = _held(groups, seed)
    states = arrays["states"].astype(np.float64)
    after = arrays["next_states"].astype(np.float64)
    actions = arrays["actions"].astype(int)
    rewards = arrays["rewards"].astype(np.float64)
    still = np.array(
        [*(_never(states[~held, j], v) for j, v in enumerate(experience.variables)),
         _one_value(actions[~held])]
    )  # fmt: skip
    moved = [*(after - states).T, rewards]
    kinds = [v.kind == "categorical" for v in experience.variables] + [False]
    flat = np.array(
        [
            not c and _flat(m[~held], np.abs(before).max())
            for m, c, before in zip(moved, kinds, [*states.T, rewards], strict=True)
        ]
    )
    return Transitions(
        variables=experience.variables,
        action_names=experience.action_names,
        states=states,
        actions=actions,
        rewards=rewards,
        next_states=after,
        terminated=arrays["terminated"].astype(bool),
        follows=_follows(arrays["episodes"], arrays["steps"]),
        groups=groups,
        held=held,
        still=still,
        flat=flat,
        notes=tuple(_notes(experience.names, still, flat)),
    )


def _follows(episodes: np.ndarray, steps: np.ndarray) -> np.ndarray:
    same = (np.diff(episodes) == 0) & (np.diff(steps) == 1)
    return np.concatenate([[False], same])


def grouped(episodes: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Episodes where there are enough of them, else blocks of their steps."""
    if len(np.unique(episodes)) >= 20:
        return episodes.astype(int)
    size = max(3, min(BLOCK, len(episodes) // 20))
    keys = np.stack([episodes, steps // size], axis=1)
    found: np.ndarray = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
    return found


def _held(groups: np.ndarray, seed: int) -> np.ndarray:
    """Whole groups, in a random order, until the share is reached."""
    kinds, sizes = np.unique(groups, return_counts=True)
    order = np.random.default_rng(seed).permutation(len(kinds))
    before = np.cumsum(sizes[order]) - sizes[order]
    chosen = kinds[order[before < HELD_OUT * len(groups)]]
    if len(chosen) == len(kinds):
        chosen = chosen[:-1]
    found: np.ndarray = np.isin(groups, chosen)
    return found


def _never(values: np.ndarray, variable: Variable) -> bool:
    if variable.kind == "numeric":
        return _flat(values, np.abs(values).max())
    return _one_value(values)


def _one_value(values: np.ndarray) -> bool:
    """Whether all but a few are equal."""
    counts = np.sort(np.unique(values, return_counts=True)[1])
    return bool(counts[:-1].sum() < RARE)


def _flat(values: np.ndarray, size: float) -> bool:
    return bool(values.std() <= STILL * max(size, 1e-12))


def _notes(names: Sequence[str], still: np.ndarray, flat: np.ndarray) -> list[str]:
    sources, targets = (*names, "the action"), (*names, "the reward")
    found = [
        f"{_capital(sources[i])} hardly ever takes another value here, so what it causes cannot be "
        "tested."
        for i in np.flatnonzero(still)
    ]
    return found + [
        f"{_capital(targets[j])} never changes here, so nothing can be found to cause it."
        for j in np.flatnonzero(flat)
    ]


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]
