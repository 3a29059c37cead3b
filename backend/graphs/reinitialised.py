"""A set whose GNN has forgotten: its weights drawn anew, from the output down.

Weight matrices are drawn as Glorot and Bengio (2010) do, biases are 0, batch norms are as before
training.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from backend.graphs.architecture import Architecture
from backend.graphs.explanation import GraphSet, prefixed


def layers(architecture: Architecture) -> tuple[str, ...]:
    """Names of what can be drawn anew, one after the other, from the output down."""
    if architecture.kind == "dmpnn":
        return ("output", "readout", "nodes", "steps", "edges")
    convolutions = (f"layer {i}" for i in range(architecture.layers, 0, -1))
    return ("output", "readout", *convolutions)


def reinitialised(graphs: GraphSet, depth: int, seed: int) -> GraphSet:
    """The set with the weights of the first `depth` of `layers` drawn anew.

    A layer has the same new weights at every depth that reaches it. What the trained GNN said of
    the graphs is left out.

    Raises:
        ValueError: the set has no GNN, or fewer layers.
    """
    if graphs.architecture is None:
        raise ValueError("there is no GNN to forget")
    names = layers(graphs.architecture)
    if not 0 <= depth <= len(names):
        raise ValueError(f"a GNN of {len(names)} layers has no {depth}")
    weights = graphs.weights()
    for number, layer in enumerate(names[:depth]):
        generator = np.random.default_rng([seed, number])
        for name in sorted(weights):
            if name.startswith(_prefixes(graphs.architecture, layer)):
                weights[name] = _drawn(name, weights[name].shape, generator)
    arrays = {name: array for name, array in graphs.arrays.items() if name != "logits"}
    return dataclasses.replace(
        graphs,
        arrays=arrays | prefixed(weights),
        origin={"reinitialised": list(names[:depth]), "seed": seed},
    )


def _prefixes(architecture: Architecture, layer: str) -> tuple[str, ...]:
    known = {"output": ("out.",), "readout": ("hidden.",)}
    if layer in known:
        return known[layer]
    if architecture.kind == "dmpnn":
        return ({"nodes": "convs.0.W_o.", "steps": "convs.0.W_h.", "edges": "convs.0.W_i."}[layer],)
    index = int(layer.removeprefix("layer ")) - 1
    return (f"convs.{index}.", f"norms.{index}.")


def _drawn(name: str, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    if len(shape) > 1:
        bound = math.sqrt(6 / (shape[-2] + shape[-1]))
        return generator.uniform(-bound, bound, size=shape).astype(np.float32)
    ones = name.startswith("norms.") and name.endswith((".weight", ".running_var"))
    return np.full(shape, 1.0 if ones else 0.0, dtype=np.float32)
