"""The causal graph from sources at t to targets at t + 1, with what speaks for each edge."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from backend.bundle import Arrays
from backend.policies.explanation import PolicyExplanation

CERTAIN = 0.9
"""Edges present in a smaller share of the bootstraps are drawn dashed."""
FLAGS = ("present", "tested")
NUMBERS = ("strength", "p_values", "support", "effects", "low", "high")


@dataclasses.dataclass(frozen=True, eq=False)
class Structure:
    """Edges {state variables, action} -> {next state variables, reward}; time gives the order.

    All matrices are [S + 1 sources, S + 1 targets]; the action is the last source, the reward the
    last target.

    Attributes:
        present: bool. Whether there is an edge.
        tested: bool. Whether the data could say: the source moves and the target varies.
        strength: how much the learner thinks of the edge; of `loco` the logarithm of the held-out
            error without the source over that with it.
        p_values: of the learner's test, adjusted for the number of pairs; NaN where it has none.
        support: share of the bootstraps over episodes in which the edge is present.
        effects: mean change of the target when the source moves up by one standard deviation, or
            from 0 to 1; of a source of several levels the largest difference between two of them.
        low, high: 95 % interval of `effects` over the bootstraps.
    """

    source_names: tuple[str, ...]
    target_names: tuple[str, ...]
    present: np.ndarray
    tested: np.ndarray
    strength: np.ndarray
    p_values: np.ndarray
    support: np.ndarray
    effects: np.ndarray
    low: np.ndarray
    high: np.ndarray
    learner: str = "loco"
    bootstraps: int = 0
    transitions: int = 0
    notes: tuple[str, ...] = ()

    def parents(self, target: int) -> np.ndarray:
        """Indices of the sources of a target, ascending."""
        return np.flatnonzero(self.present[:, target])

    def children(self, source: int) -> np.ndarray:
        """Indices of the targets of a source, ascending."""
        return np.flatnonzero(self.present[source])

    @property
    def certain(self) -> np.ndarray:
        """[S + 1, S + 1] bool: edges that the bootstraps agree on."""
        return self.present & (self.support >= CERTAIN)

    def to_arrays(self) -> Arrays:
        """The matrices by name: flags as uint8, numbers as float32."""
        return {
            **{name: getattr(self, name).astype(np.uint8) for name in FLAGS},
            **{name: getattr(self, name).astype(np.float32) for name in NUMBERS},
        }

    def to_values(self) -> dict[str, Any]:
        """The rest, as JSON values."""
        return {
            "kind": "graph",
            "source_names": list(self.source_names),
            "target_names": list(self.target_names),
            "learner": self.learner,
            "bootstraps": self.bootstraps,
            "transitions": self.transitions,
            "structure_notes": list(self.notes),
        }

    @classmethod
    def of(cls, arrays: Arrays, values: dict[str, Any], prefix: str = "") -> Structure:
        """Read what `to_arrays` and `to_values` wrote.

        Args:
            prefix: what stands before the names of the arrays, as "graph/".
        """
        return cls(
            source_names=tuple(values["source_names"]),
            target_names=tuple(values["target_names"]),
            learner=values["learner"],
            bootstraps=values["bootstraps"],
            transitions=values["transitions"],
            notes=tuple(values["structure_notes"]),
            **{name: arrays[prefix + name].astype(bool) for name in FLAGS},
            **{name: arrays[prefix + name].astype(np.float64) for name in NUMBERS},
        )

    @classmethod
    def from_explanation(cls, explanation: PolicyExplanation, prefix: str = "") -> Structure:
        """The graph that the step `learn_graph` found, or that another explanation carries."""
        return cls.of(explanation.arrays, explanation.values, prefix)
