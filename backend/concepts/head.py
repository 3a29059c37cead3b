"""The label head of a concept bottleneck model: from concepts to classes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np


@dataclasses.dataclass(frozen=True)
class Head:
    """Linear layers with ReLU between them.

    `weights[i]` is [out, in], `biases[i]` is [out], float64. The last layer has one output for two
    classes (the logit of class 1), else one a class.
    """

    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray]) -> Head | None:
        """The head among the arrays of a table, or None."""
        weights: list[np.ndarray] = []
        biases: list[np.ndarray] = []
        while f"head/{len(weights)}/weight" in arrays:
            name = f"head/{len(weights)}"
            weights.append(arrays[f"{name}/weight"].astype(np.float64))
            biases.append(arrays[f"{name}/bias"].astype(np.float64))
        return cls(tuple(weights), tuple(biases)) if weights else None

    def arrays(self) -> dict[str, np.ndarray]:
        """The head as a table holds it."""
        found = {}
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            found[f"head/{i}/weight"] = weight.astype(np.float32)
            found[f"head/{i}/bias"] = bias.astype(np.float32)
        return found

    @property
    def linear(self) -> bool:
        """Whether the head is one linear layer, so that contributions of concepts are exact."""
        return len(self.weights) == 1

    @property
    def classes(self) -> int:
        """How many classes it tells apart."""
        return max(2, len(self.biases[-1]))

    def outputs(self, inputs: np.ndarray) -> np.ndarray:
        """[..., q] raw outputs of inputs [..., k]; q is 1 for two classes."""
        x = np.asarray(inputs, dtype=np.float64)
        last = len(self.weights) - 1
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = x @ weight.T + bias
            if i < last:
                x = np.maximum(x, 0.0)
        return x

    def logits(self, inputs: np.ndarray) -> np.ndarray:
        """[..., m] class logits of inputs [..., k]; for one output z they are (0, z)."""
        z = self.outputs(inputs)
        return np.concatenate([np.zeros_like(z), z], axis=-1) if z.shape[-1] == 1 else z

    def probabilities(self, inputs: np.ndarray) -> np.ndarray:
        """[..., m] class probabilities of inputs [..., k]."""
        z = self.logits(inputs)
        e = np.exp(z - z.max(axis=-1, keepdims=True))
        return np.asarray(e / e.sum(axis=-1, keepdims=True))

    def predictions(self, inputs: np.ndarray) -> np.ndarray:
        """[...] predicted classes of inputs [..., k]; a tie is the lower class."""
        return np.asarray(self.logits(inputs).argmax(axis=-1))
