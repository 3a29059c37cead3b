"""An agent as numpy: from states to the probability of each action."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence

import numpy as np

from backend.bundle import Arrays
from backend.errors import InputError
from backend.policies.coding import coded, width
from backend.policies.explanation import Experience, Network, Variable

GREEDY = 1e-6
"""Values that are closer than this share the action."""


@dataclasses.dataclass(frozen=True, eq=False)
class Agent:
    """A multilayer perceptron on the state; see `Network` for what its weights are."""

    network: Network
    weights: Mapping[str, np.ndarray]
    variables: Sequence[Variable]

    @property
    def depth(self) -> int:
        """Number of linear layers."""
        return sum(name.endswith(".weight") for name in self.weights)

    def inputs(self, states: np.ndarray) -> np.ndarray:
        """[N, in] float64: what the first layer reads of states [N, S]."""
        x = coded(states, self.variables) if self.network.one_hot else states.astype(np.float64)
        if "shift" in self.weights:
            x = x - self.weights["shift"]
        if "scale" in self.weights:
            x = x / self.weights["scale"]
        read: np.ndarray = np.asarray(x)
        return read

    def outputs(self, states: np.ndarray) -> np.ndarray:
        """[N, A] float64: logits or values of the actions in states [N, S]."""
        x = self.inputs(states)
        for layer in range(self.depth):
            if layer:
                x = np.tanh(x) if self.network.activation == "tanh" else np.maximum(x, 0)
            x = x @ self.weights[f"{layer}.weight"].T.astype(np.float64)
            x = x + self.weights[f"{layer}.bias"]
        outputs: np.ndarray = np.asarray(x)
        return outputs

    def probabilities(self, states: np.ndarray) -> np.ndarray:
        """[N, A] float64 of states [N, S]: a softmax of logits; of values all on the highest."""
        found = self.outputs(states)
        top = found.max(axis=1, keepdims=True)
        if self.network.head == "values":
            best = (found >= top - GREEDY).astype(np.float64)
            return np.asarray(best / best.sum(axis=1, keepdims=True))
        weights = np.exp(found - top)
        shares: np.ndarray = weights / weights.sum(axis=1, keepdims=True)
        return shares

    def act(self, states: np.ndarray) -> np.ndarray:
        """[N] int32: the action of the highest output in states [N, S]."""
        return np.asarray(self.outputs(states).argmax(axis=1), dtype=np.int32)


def agent_of(experience: Experience) -> Agent | None:
    """The agent that made an experience; None where it is not known."""
    if experience.network is None:
        return None
    return Agent(experience.network, experience.weights(), experience.variables)


def checked(
    network: Network, weights: Arrays, variables: Sequence[Variable], actions: int
) -> Arrays:
    """The weights in float32, if they are of such a network.

    Raises:
        InputError: a layer is missing, or does not fit the next, the state or the actions.
    """
    count = sum(re.fullmatch(r"\d+\.weight", name) is not None for name in weights)
    expected = {f"{n}.{kind}" for n in range(count) for kind in ("weight", "bias")}
    extra = set(weights) - expected - {"shift", "scale"}
    if not count or expected - set(weights) or extra:
        found = ", ".join(sorted(weights)[:8]) or "none"
        raise InputError(
            f"The weights are named {found}.",
            todo="A policy needs 0.weight, 0.bias, 1.weight, 1.bias, ... and may have shift and "
            "scale.",
        )
    enters = width(variables) if network.one_hot else len(variables)
    for layer in range(count):
        weight, bias = weights[f"{layer}.weight"], weights[f"{layer}.bias"]
        if weight.ndim != 2 or weight.shape[1] != enters or bias.shape != weight.shape[:1]:
            raise InputError(
                f"It is {list(weight.shape)} with a bias of {list(bias.shape)}, and {enters} "
                "numbers enter it.",
                f"{layer}.weight",
                "A weight is [out, in], and its bias [out].",
            )
        enters = len(weight)
    if enters != actions:
        raise InputError(f"The policy has {enters} outputs, and there are {actions} actions.")
    if not all(np.isfinite(array).all() for array in weights.values()):
        raise InputError("A weight of the policy is not finite.")
    if "scale" in weights and (weights["scale"] <= 0).any():
        raise InputError("They must be above 0.", "scale")
    return {name: array.astype(np.float32) for name, array in weights.items()}
