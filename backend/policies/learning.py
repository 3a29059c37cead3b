"""Learning the causal graph: a learner, how surely over bootstraps, and how large effects are."""

from __future__ import annotations

import dataclasses

import numpy as np

from backend.explainer import Progress
from backend.policies import fitted
from backend.policies.learner_names import Learner
from backend.policies.learners import LEARNERS
from backend.policies.structure import Structure
from backend.policies.telling import part_of
from backend.policies.transitions import Transitions

ROWS = 400
"""Rows that mean effects are taken over."""


def learn(
    transitions: Transitions,
    learner: Learner = "loco",
    bootstraps: int = 10,
    seed: int = 0,
    progress: Progress = lambda *_: None,
) -> Structure:
    """The causal graph of transitions.

    Args:
        bootstraps: how often it is learned anew from groups of rows drawn with replacement.
    """
    method, generator = LEARNERS[learner], np.random.default_rng([seed, 1])
    progress(0, bootstraps + 1, "learning the causal graph")
    found = method(transitions, seed, part_of(progress, 0, bootstraps + 1))
    effects = [mean_effects(transitions, found.present, seed)]
    seen = []
    for number in range(bootstraps):
        progress(number + 1, bootstraps + 1, "learning it again from a bootstrap")
        drawn = transitions.resampled(generator)
        drawn = dataclasses.replace(drawn, still=transitions.still, flat=transitions.flat)
        told = part_of(progress, number + 1, bootstraps + 1)
        seen.append(method(drawn, seed, told).present)
        effects.append(mean_effects(drawn, found.present, seed))
    present = found.present
    support = np.mean(seen, axis=0) if seen else present.astype(np.float64)
    low, high = np.percentile(np.array(effects), (2.5, 97.5), axis=0)
    return Structure(
        source_names=transitions.source_names,
        target_names=transitions.target_names,
        learner=learner,
        present=present,
        tested=found.tested,
        strength=found.strength,
        p_values=found.p_values,
        support=support,
        effects=effects[0],
        low=low,
        high=high,
        notes=transitions.notes,
    )


def mean_effects(transitions: Transitions, present: np.ndarray, seed: int) -> np.ndarray:
    """[S + 1, S + 1]: mean effect of moving each source on each target, along the edges only."""
    model = fitted.fit(transitions, present, seed)
    rows = np.flatnonzero(transitions.held)
    rows = np.random.default_rng([seed, 2]).permutation(rows)[:ROWS]
    found = shifted(model, transitions, transitions.states[rows], transitions.actions[rows])
    return np.where(present, found.mean(axis=0), 0.0)


def shifted(
    model: fitted.Fitted, transitions: Transitions, states: np.ndarray, actions: np.ndarray
) -> np.ndarray:
    """[N, S + 1, S + 1]: what moving each source does to each target, in every row.

    A numeric source goes up by one standard deviation, a binary one from 0 to 1, a categorical one
    to its next value, and the action from that of the least to that of the most effect. Of a
    categorical target the effect is half the difference of its probabilities, added up.
    """
    spread, columns = transitions.spread(), transitions.columns()
    before = model.change(states, actions)
    found = np.zeros((len(states), len(columns), len(columns)))
    for i, variable in enumerate(transitions.variables):
        moved, rest = states.copy(), states
        if variable.kind == "numeric":
            moved[:, i] += spread[i]
        elif variable.kind == "binary":
            rest = states.copy()
            rest[:, i], moved[:, i] = 0, 1
        else:
            moved[:, i] = (moved[:, i] + 1) % len(variable.levels)
        base = before if rest is states else model.change(rest, actions)
        apart = model.change(moved, actions) - base
        for j, part in enumerate(columns):
            found[:, i, j] = _size(apart[:, part])
        if variable.kind != "categorical":  # the variable itself is carried along
            found[:, i, i] += moved[:, i] - rest[:, i]
    every = np.stack(
        [
            model.change(states, np.full(len(states), a))
            for a in range(len(transitions.action_names))
        ]
    )
    for j, part in enumerate(columns):
        if part.stop - part.start == 1:
            own = every[:, :, part.start]
            found[:, -1, j] = own[-1] - own[0] if len(own) == 2 else np.ptp(own, axis=0)
        else:
            found[:, -1, j] = np.ptp(every[:, :, part], axis=0).sum(axis=1) / 2
    return found


def _size(apart: np.ndarray) -> np.ndarray:
    one: np.ndarray = apart[:, 0] if apart.shape[1] == 1 else np.abs(apart).sum(axis=1) / 2
    return one
