"""The preparation of every explanation of a bundled entry: a trained GNN with its graphs."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from backend.bundle import Arrays
from backend.errors import InputError
from backend.explainer import Explainer, Reference, Run
from backend.graphs.explanation import (
    TEST,
    TRAIN,
    VALIDATION,
    GraphExplanation,
    GraphSet,
    GraphTarget,
    Pretrained,
    Recipe,
    prefixed,
)
from backend.graphs.recipes import resolved
from backend.threads import one_thread


class TrainGnn(Explainer):
    """Trains a GNN and keeps it with the graphs it was trained and tested on.

    Of networks that came trained it keeps the one that was asked for, with graphs it can be asked
    about; what the GNN says of them is all that is computed.

    Result: kind "set", read by `backend.graphs.plan.set_of`.

    Arrays: those of a `GraphSet`.

    Values: the set's fields, by name. Its `origin` holds:
        example: id of the entry. recipe: how the GNN was asked for.
        Of one that was trained, training: every setting; accuracy: share of right answers among
        training, validation and test items.
    """

    id = "train_gnn"
    title = "Train a graph neural network, or unpack a trained one"
    family = "graphs"
    role = "preparation"
    reference = Reference(
        authors="Fey, Lenssen",
        title="Fast Graph Representation Learning with PyTorch Geometric",
        year=2019,
        link="https://arxiv.org/abs/1903.02428",
    )
    how_to_read = "The GNN is trained on eight in ten graphs or nodes and tested on one in ten."
    libraries = ("torch", "torch_geometric", "networkx", "numpy", "rdkit")

    def explain(
        self, model: Any, input: GraphSet, target: GraphTarget, parameters: Any, run: Run
    ) -> GraphExplanation:
        """Train by the target's recipe, or by the default one where it has none.

        Raises:
            InputError: the chosen entry has no data to train on, or no trained network.
        """
        recipe = target.recipe or Recipe()
        if isinstance(recipe, Pretrained):
            made = unpacked(model, recipe, run)
        else:
            data = model.data(recipe.seed)
            if data is None:
                raise InputError(
                    "There are no labelled graphs here to train on: this entry stands for a GNN "
                    "that is trained already, or for one of your own.",
                    todo="Ask for a trained one's answer, bring weights, or choose a data set.",
                )
            made = trained(data, model.id, recipe, run)
        arrays, values = made.parts()
        return GraphExplanation(arrays=arrays, values={"kind": "set", **values})


def trained(data: GraphSet, name: str, recipe: Recipe, run: Run) -> GraphSet:
    """The set with a GNN trained on it.

    Args:
        name: id of the data set, which decides what the recipe leaves open.
    """
    from backend.graphs.training import train

    settings = resolved(recipe, name)
    with one_thread():
        gnn, logits, split = train(data, settings, run)
    weights = prefixed(
        {key: w.numpy() for key, w in gnn.state_dict().items() if w.is_floating_point()}
    )
    right = logits.argmax(axis=1) == data.arrays["labels"]
    shares = {"training": TRAIN, "validation": VALIDATION, "test": TEST}
    return dataclasses.replace(
        data,
        arrays={**data.arrays, **weights, "logits": logits.astype(np.float32), "split": split},
        architecture=gnn.architecture,
        origin={
            **data.origin,
            "example": name,
            "recipe": recipe.model_dump(mode="json"),
            "training": settings.model_dump(mode="json"),
            "accuracy": {
                part: float(right[split == value].mean()) if (split == value).any() else None
                for part, value in shares.items()
            },
        },
    )


def unpacked(model: Any, asked: Pretrained, run: Run) -> GraphSet:
    """The set with a network that came trained, and what it says of the graphs.

    Raises:
        InputError: none came trained with this entry.
    """
    from backend.graphs.classifier import Classifier
    from backend.graphs.training import AT_ONCE

    data: GraphSet | None = model.network(asked)
    if data is None:
        raise InputError(
            "No trained network comes with this entry.",
            todo="Choose how one is trained, or another entry.",
        )
    classifier = Classifier.of(data, run.device)
    found = run.batches(
        range(len(data)),
        AT_ONCE,
        lambda numbers: list(classifier.whole(data, numbers)),
        "asking the network about each graph",
    )
    run.count(forward=len(data))
    logits = np.stack(found).astype(np.float32)
    return dataclasses.replace(
        data,
        arrays={**data.arrays, "logits": logits, **_reasons(data, logits)},
        origin={**data.origin, "example": model.id, "recipe": asked.model_dump(mode="json")},
    )


def _reasons(data: GraphSet, logits: np.ndarray) -> Arrays:
    """The known reasons that are left: they speak for the last class, where the network says it."""
    said = logits.argmax(axis=1) == logits.shape[1] - 1
    counts = {"node_motifs": "node_counts", "edge_motifs": "edge_counts"}
    return {
        name: np.where(np.repeat(said, data.arrays[count]), data.arrays[name], 0)
        for name, count in counts.items()
        if name in data.arrays
    }
