"""A bootstrap of an experience: whole episodes drawn with replacement."""

from __future__ import annotations

import dataclasses

import numpy as np

from backend.policies.explanation import PREFIX, Experience
from backend.policies.transitions import grouped

_OF_EPISODES = ("seeds", "starts", "collecting")
"""What an origin tells of episodes, which are others now."""


def bootstrapped(experience: Experience, seed: int) -> Experience:
    """As many episodes as there are, drawn with replacement; of few long ones, blocks of steps.

    Each drawn one counts as an episode of its own. The agent stays.
    """
    arrays = experience.arrays
    found = grouped(arrays["episodes"], arrays["steps"])
    kinds = np.unique(found)
    drawn = np.random.default_rng([seed, 13]).choice(kinds, len(kinds))
    rows = [np.flatnonzero(found == kind) for kind in drawn]
    picked = np.concatenate(rows)
    made = {n: a if n.startswith(PREFIX) else a[picked] for n, a in arrays.items()}
    made["episodes"] = np.repeat(np.arange(len(rows)), [len(r) for r in rows]).astype(np.int32)
    origin = {k: v for k, v in experience.origin.items() if k not in _OF_EPISODES}
    return dataclasses.replace(experience, arrays=made, origin=origin | {"bootstrap": seed})
