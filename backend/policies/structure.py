"""A causal graph between two moments: which sources move which targets, and how surely."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from backend.bundle import Arrays
from backend.policies.explanation import PolicyExplanation

PREFIX = "graph/"
SURE = 0.9
"""Share of bootstraps that an edge must be present in, to be drawn whole."""
_ARRAYS = ("present", "tested", "strength", "p_values", "support", "effects", "low", "high")


@dataclasses.dataclass(frozen=True, eq=False)
class Structure:
    """Edges from S + 1 sources (the action last) to S + 1 targets (the reward last).

    Attributes, [S + 1, S + 1] each, sources by targets:
        present: bool. tested: bool; what could not be tested is not present.
        strength: how much the learner holds of the edge; of leave-one-out the log error ratio.
        p_values: 1 where there is no test.
        support: share of the bootstraps in which the edge is present; that of the graph itself
            where there were none.
        effects, low, high: mean effect on the target, in its unit, of moving the source up by one
            standard deviation (a binary one from 0 to 1; of the action, the largest difference that
            it makes), with its 95 % interval over bootstraps. 0 where there is no edge.
    """

    source_names: tuple[str, ...]
    target_names: tuple[str, ...]
    learner: str
    present: np.ndarray
    tested: np.ndarray
    strength: np.ndarray
    p_values: np.ndarray
    support: np.ndarray
    effects: np.ndarray
    low: np.ndarray
    high: np.ndarray
    notes: tuple[str, ...] = ()

    def to_arrays(self) -> Arrays:
        """The matrices by name, `graph/present` and so on."""
        return {
            PREFIX + name: (
                getattr(self, name).astype(np.uint8)
                if getattr(self, name).dtype == bool
                else getattr(self, name).astype(np.float32)
            )
            for name in _ARRAYS
        }

    def to_values(self) -> dict[str, Any]:
        """What else there is to tell."""
        return {
            "source_names": list(self.source_names),
            "target_names": list(self.target_names),
            "learner": self.learner,
        }

    @classmethod
    def from_explanation(cls, found: PolicyExplanation) -> Structure:
        """The structure that an explanation holds.

        Raises:
            KeyError: it holds none.
        """
        arrays: dict[str, Any] = {name: found.arrays[PREFIX + name] for name in _ARRAYS}
        for name in ("present", "tested"):
            arrays[name] = arrays[name].astype(bool)
        return cls(
            source_names=tuple(found.values["source_names"]),
            target_names=tuple(found.values["target_names"]),
            learner=str(found.values["learner"]),
            notes=tuple(found.notes),
            **arrays,
        )

    def parents(self, target: int) -> np.ndarray:
        """Numbers of the sources of a target."""
        return np.flatnonzero(self.present[:, target])
