"""Which transitions show an edge of a causal graph most."""

from __future__ import annotations

import numpy as np

from backend.policies.explanation import Experience


def supporting(experience: Experience, source: int, target: int, effect: float) -> np.ndarray:
    """[T] numbers of transitions, those first that show an edge most.

    A transition counts by how far its source and the change of its target are from their means,
    multiplied, in the effect's direction. Of a source without an order (the action, a categorical
    variable) the mean change under its value stands for it.

    Args:
        source: number of a state variable, or of the action after the last one. target: likewise,
            or of the reward.
        effect: its sign is the direction; of a source without an order it does not matter.
    """
    arrays, count = experience.arrays, len(experience.variables)
    change = _change(experience, target)
    apart = change - change.mean(axis=0)
    ordered = source < count and experience.variables[source].kind != "categorical"
    if ordered:
        from_mean = arrays["states"][:, source].astype(np.float64)
        from_mean = (from_mean - from_mean.mean())[:, None] * (1 if effect >= 0 else -1)
    else:
        values = arrays["actions"] if source == count else arrays["states"][:, source]
        kinds, which = np.unique(values, return_inverse=True)
        means = np.stack([apart[which == kind].mean(axis=0) for kind in range(len(kinds))])
        from_mean = means[which]
    return np.argsort(-(from_mean * apart).sum(axis=1), kind="stable")


def _change(experience: Experience, target: int) -> np.ndarray:
    """[T, k] of the target: its change, or of a categorical one column a value it then has."""
    arrays = experience.arrays
    if target == len(experience.variables):
        return arrays["rewards"].astype(np.float64)[:, None]
    after = arrays["next_states"][:, target].astype(np.float64)
    if experience.variables[target].kind == "categorical":
        return np.asarray(after[:, None] == np.unique(after), dtype=np.float64)
    return np.asarray((after - arrays["states"][:, target])[:, None])
