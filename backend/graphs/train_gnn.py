"""The preparation of every explanation of a bundled data set: train a GNN, keep it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from backend.errors import InputError
from backend.explainer import Explainer, Reference, Run
from backend.graphs.explanation import (
    TEST,
    TRAIN,
    VALIDATION,
    GraphExplanation,
    GraphSet,
    GraphTarget,
    Recipe,
    prefixed,
)
from backend.graphs.recipes import resolved
from backend.threads import one_thread


class TrainGnn(Explainer):
    """Trains a GNN and keeps it with the graphs it was trained and tested on.

    Result: kind "set", read by `backend.graphs.plan.set_of`.

    Arrays: those of a `GraphSet`.

    Values: the set's fields, by name. Its `origin` holds:
        example: id of the data set. recipe: how the GNN was asked for. training: every setting.
        accuracy: share of right answers among training, validation and test items.
    """

    id = "train_gnn"
    title = "Train a graph neural network"
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
            InputError: the chosen entry has no data to train on.
        """
        recipe = target.recipe or Recipe()
        data = model.data(recipe.seed)
        if data is None:
            raise InputError(
                "There is nothing to train here: this entry stands for a GNN of your own.",
                todo="Bring its weights, or choose a bundled data set.",
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
