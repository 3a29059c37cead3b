"""Transitions as the learners read them: which rows, which are held out, what can be tested."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from backend.errors import InputError
from backend.policies.explanation import Experience, Variable

ACTION, REWARD = "action", "reward"
FEWEST = 50
"""Transitions below which nothing is learned."""
BLOCKS = 20
"""Into so many groups of whole episodes the rows are put; the bootstrap draws groups."""
FEWEST_EPISODES = 6
"""With fewer, stretches of consecutive steps take the place of episodes."""
FEWEST_OTHER = 10
"""Rows that must hold another value than the most frequent one."""
SMALLEST_SPREAD = 1e-4
"""Standard deviation over the largest magnitude, below which a variable does not move."""


@dataclasses.dataclass(frozen=True, eq=False)
class Transitions:
    """N transitions of S state variables. Sources: the variables, then the action (index S).

    Targets: the variables after the action, then the reward (index S).

    Attributes:
        states: [N, S] float64. actions: [N] int64.
        outcomes: [N, S + 1] float64, next states and reward.
        episodes: [N] int64. rows: [N] int64, which transition of the experience.
        blocks: [N] int64, group of whole episodes. held_out: [N] bool, whole blocks.
        notes: sentences on what was left out and what cannot be tested.
    """

    states: np.ndarray
    actions: np.ndarray
    outcomes: np.ndarray
    episodes: np.ndarray
    rows: np.ndarray
    blocks: np.ndarray
    held_out: np.ndarray
    variables: tuple[Variable, ...]
    action_names: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def source_names(self) -> tuple[str, ...]:
        """Names of the S + 1 sources."""
        return (*(variable.name for variable in self.variables), ACTION)

    @property
    def target_names(self) -> tuple[str, ...]:
        """Names of the S + 1 targets."""
        return (*(variable.name for variable in self.variables), REWARD)

    @property
    def sources(self) -> np.ndarray:
        """[N, S + 1] float64: states, then the number of the action."""
        return np.column_stack([self.states, self.actions])

    @property
    def numeric(self) -> np.ndarray:
        """[S + 1] bool: targets that are numbers."""
        return np.array([*(v.kind == "numeric" for v in self.variables), True])

    @property
    def changes(self) -> np.ndarray:
        """[N, S + 1] float64: numeric variables less their value before; the others, and the
        reward, as they are."""
        before = np.column_stack([self.states, np.zeros(len(self))])
        return self.outcomes - before * self.numeric

    @property
    def spread(self) -> np.ndarray:
        """[S + 1] float64: standard deviation of each source."""
        deviations: np.ndarray = self.sources.std(axis=0)
        return deviations

    @property
    def testable(self) -> np.ndarray:
        """[S + 1] bool: sources that move enough for their effects to be told."""
        return np.array([_moves(column) for column in self.sources.T])

    @property
    def varies(self) -> np.ndarray:
        """[S + 1] bool: targets that are not always the same."""
        return np.array([_moves(column, fewest=2) for column in self.outcomes.T])

    @property
    def tested(self) -> np.ndarray:
        """[S + 1, S + 1] bool: pairs of source and target that data can speak about."""
        return np.outer(self.testable, self.varies)

    def take(self, rows: np.ndarray) -> Transitions:
        """These rows alone, by index or as a mask; rows may come several times."""
        return dataclasses.replace(
            self,
            **{
                name: getattr(self, name)[rows]
                for name in (
                    "states", "actions", "outcomes", "episodes", "rows", "blocks", "held_out"
                )
            },
        )  # fmt: skip

    def weights(self, generator: np.random.Generator) -> np.ndarray:
        """[blocks] int64: how often a bootstrap draws each block, held-out ones among themselves."""
        count = int(self.blocks.max()) + 1
        held = np.zeros(count, dtype=bool)
        held[self.blocks[self.held_out]] = True
        drawn = np.zeros(count, dtype=np.int64)
        for part in (np.flatnonzero(held), np.flatnonzero(~held)):
            chosen = generator.choice(part, len(part))
            drawn += np.bincount(chosen, minlength=count)
        return drawn

    def drawn(self, weights: np.ndarray) -> Transitions:
        """The rows of each block as often as `weights` says."""
        return self.take(np.repeat(np.arange(len(self)), weights[self.blocks]))


def prepare(experience: Experience, *, held_out: float = 0.3, seed: int = 0) -> Transitions:
    """The transitions of an experience, split by episode.

    Raises:
        InputError: too few are usable.
    """
    arrays = experience.arrays
    if not len(experience):
        raise InputError("There are no transitions.", todo="Collect some, or upload a table.")
    keep, notes = _usable(experience)
    rows = np.flatnonzero(keep)
    if len(rows) < FEWEST:
        raise InputError(
            f"There are {len(rows)} usable transitions, too few to tell effects from chance.",
            todo=f"Bring at least {FEWEST}; some thousands are better.",
        )
    generator = np.random.default_rng(seed)
    episodes = arrays["episodes"][rows].astype(np.int64)
    blocks, few = _blocks(episodes, generator)
    if few:
        notes.append(
            f"There are only {few} episodes, so stretches of consecutive steps were held out; "
            "errors may look smaller than in a new episode."
        )
    count = int(blocks.max()) + 1
    held = generator.permutation(count)[: max(2, round(held_out * count))]
    found = Transitions(
        states=arrays["states"][rows].astype(np.float64),
        actions=arrays["actions"][rows].astype(np.int64),
        outcomes=np.column_stack([arrays["next_states"][rows], arrays["rewards"][rows]]).astype(
            np.float64
        ),
        episodes=episodes,
        rows=rows,
        blocks=blocks,
        held_out=np.isin(blocks, held),
        variables=experience.variables,
        action_names=experience.action_names,
    )
    return dataclasses.replace(found, notes=(*notes, *_untestable(found)))


def _usable(experience: Experience) -> tuple[np.ndarray, list[str]]:
    """[T] bool, and what was left out: rows that are not finite, and states of a reset."""
    arrays, notes = experience.arrays, []
    finite = (
        np.isfinite(arrays["states"]).all(axis=1)
        & np.isfinite(arrays["next_states"]).all(axis=1)
        & np.isfinite(arrays["rewards"])
    )
    if lost := int((~finite).sum()):
        notes.append(f"{lost} transitions with a missing or infinite number were left out.")
    last = np.flatnonzero(np.diff(arrays["episodes"]) != 0)
    reset = (arrays["next_states"][last] == arrays["states"][last + 1]).all(axis=1)
    if len(last) > 1 and reset.mean() > 0.9 and len(np.unique(arrays["states"][last + 1], axis=0)) > 1:
        finite[last[reset]] = False
        notes.append(
            f"After the last step of {int(reset.sum())} episodes stands the first state of the "
            "next one; these steps were left out, for a reset is no effect of an action."
        )
    return finite, notes


def _blocks(episodes: np.ndarray, generator: np.random.Generator) -> tuple[np.ndarray, int]:
    """[N] int64: the block of each row; and the number of episodes where they are too few."""
    names, codes, sizes = np.unique(episodes, return_inverse=True, return_counts=True)
    if len(names) < FEWEST_EPISODES:
        return np.arange(len(episodes)) * BLOCKS // len(episodes), len(names)
    count = min(BLOCKS, len(names))
    order = generator.permutation(len(names))
    order = order[np.argsort(-sizes[order], kind="stable")]
    filled, block = np.zeros(count), np.zeros(len(names), dtype=np.int64)
    for episode in order:
        block[episode] = filled.argmin()
        filled[block[episode]] += sizes[episode]
    return block[codes], 0


def _moves(column: np.ndarray, fewest: int = FEWEST_OTHER) -> bool:
    values, counts = np.unique(column, return_counts=True)
    if len(values) < 2 or len(column) - counts.max() < fewest:
        return False
    return bool(column.std() > SMALLEST_SPREAD * np.abs(column).max())


def _untestable(found: Transitions) -> list[str]:
    """A sentence for each source that does not move, and each target that is always the same."""
    notes = []
    for i, name in enumerate(found.source_names[:-1]):
        if not found.testable[i]:
            notes.append(f"{name} hardly moves ({_range(found.states[:, i])}), so its effects "
                         "cannot be told.")  # fmt: skip
    if not found.testable[-1]:
        taken = np.bincount(found.actions, minlength=len(found.action_names))
        name = found.action_names[int(taken.argmax())]
        notes.append(
            f"{name} was taken in {taken.max()} of {len(found)} transitions, so the effects of "
            "the action cannot be told. Collect with exploration."
        )
    for j, name in enumerate(found.target_names):
        if not found.varies[j]:
            notes.append(
                f"{name} is always {found.outcomes[0, j]:.4g} after a step, so it has no causes "
                "to be found."
            )
    return notes


def _range(column: np.ndarray) -> str:
    low, high = column.min(), column.max()
    return f"always {low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"


def names_of(indices: Sequence[int], names: Sequence[str]) -> list[str]:
    """The names at these indices."""
    return [names[int(i)] for i in indices]
