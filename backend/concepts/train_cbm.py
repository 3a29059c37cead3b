"""The preparation of every explanation of a bundled data set: train a model, keep its table."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget, Recipe
from backend.concepts.head import Head
from backend.concepts.samples import Data, Samples
from backend.errors import InputError
from backend.explainer import Explainer, Reference, Run
from backend.threads import one_thread

if TYPE_CHECKING:
    from backend.concepts.encoder import Weights


class TrainCbm(Explainer):
    """Trains a concept bottleneck model and keeps what it says about the validation samples.

    Result: kind "table", read by `backend.concepts.plan.table_of`.

    Arrays: those of a `ConceptTable`, and encoder/<name>: the encoder's weights, float32.

    Values:
        The table's fields, by name. Its `origin` holds:
        example: id of the example. recipe: how the model was trained.
        task_accuracy, training_task_accuracy: share of samples whose class is right.
        concept_accuracy, training_concept_accuracy: the same for each concept.
        training_samples: how many.
        group_errors: for each known group, [wrongly predicted samples, samples].
    """

    id = "train_cbm"
    title = "Train a concept bottleneck model"
    family = "concepts"
    role = "preparation"
    reference = Reference(
        authors="Koh, Nguyen, Tang, Mussmann, Pierson, Kim, Liang",
        title="Concept Bottleneck Models",
        year=2020,
        link="https://arxiv.org/abs/2007.04612",
    )
    how_to_read = (
        "The model first predicts concepts with names and then, from them alone, the class. The "
        "table holds its predictions for samples it was not trained on."
    )
    libraries = ("torch", "numpy")

    def explain(
        self, model: Any, input: ConceptTable, target: ConceptTarget, parameters: Any, run: Run
    ) -> ConceptExplanation:
        """Train by the target's recipe, or by the default one where it has none.

        Raises:
            InputError: the chosen entry has no data to train on.
        """
        recipe = target.recipe or Recipe()
        if recipe.labels == "shuffled" and model.data(recipe.seed) is None:
            raise InputError("This example is not trained, so no labels can be shuffled.")
        if (given := model.table(recipe.seed)) is not None:
            origin = {"example": model.id, "recipe": recipe.model_dump(mode="json")}
            return explanation(dataclasses.replace(given, origin=given.origin | origin), {})
        data = model.data(recipe.seed)
        if data is None:
            raise InputError(
                "There is nothing to train here: this entry stands for predictions of your own.",
                todo="Bring a table with concepts and predictions, or choose a bundled data set.",
            )
        from backend.concepts.cbm import train

        with one_thread():
            weights = train(data.training, len(data.class_names), recipe, run)
            return explanation(table(data, weights, recipe, model.id), weights)


def explanation(found: ConceptTable, weights: Weights) -> ConceptExplanation:
    """A table as an explanation, with the weights of the encoder behind it."""
    arrays, values = found.parts()
    kept = {name: w.numpy() for name, w in weights.items() if name.startswith("encoder/")}
    return ConceptExplanation(arrays={**arrays, **kept}, values={"kind": "table", **values})


def table(data: Data, weights: Weights, recipe: Recipe, name: str) -> ConceptTable:
    """What a trained model says about the validation samples.

    Predictions and logits are computed by `Head` from what the table holds, so that whoever sets a
    concept in the table and asks the head again starts from the same numbers.
    """
    samples = data.validation
    found = _predicted(data, samples, weights, recipe)
    before = _predicted(data, data.training, weights, recipe)
    arrays = dict(found.arrays)
    if samples.pictures:
        arrays["images"] = samples.inputs
    if data.group_names:
        arrays["groups"] = samples.groups
    origin: dict[str, Any] = {
        "example": name,
        "recipe": recipe.model_dump(mode="json"),
        "task_accuracy": _task_accuracy(found),
        "training_task_accuracy": _task_accuracy(before),
        "concept_accuracy": _concept_accuracy(found),
        "training_concept_accuracy": _concept_accuracy(before),
        "training_samples": len(before),
        "group_errors": _group_errors(samples.groups, found, data.group_names),
    }
    return dataclasses.replace(found, arrays=arrays, origin=origin)


def _predicted(data: Data, samples: Samples, weights: Weights, recipe: Recipe) -> ConceptTable:
    from backend.concepts import encoder

    embedding, logits = encoder.encode(weights, encoder.tensor(samples.inputs))
    heads = {name: w.numpy() for name, w in weights.items() if name.startswith("head/")}
    found = ConceptTable(
        arrays={
            "logits": logits.numpy(),
            "concepts": samples.concepts,
            "labels": samples.labels,
            "embedding": embedding.numpy(),
            **heads,
        },
        title=data.title,
        concept_names=data.concept_names,
        class_names=data.class_names,
        group_names=data.group_names,
        planted=data.planted,
        exclusive=data.exclusive,
        bottleneck=recipe.bottleneck,
        references=samples.references,
    )
    head, inputs = Head.of(heads), found.head_inputs()
    assert head is not None  # noqa: S101  it was just put there
    found.arrays["task_logits"] = head.logits(inputs).astype(np.float32)
    found.arrays["predictions"] = head.predictions(inputs).astype(np.int32)
    return found


def _task_accuracy(found: ConceptTable) -> float:
    return float((found.arrays["labels"] == found.arrays["predictions"]).mean())


def _concept_accuracy(found: ConceptTable) -> list[float]:
    right = (found.arrays["logits"] > 0) == (found.arrays["concepts"] == 1)
    return [float(share) for share in right.mean(axis=0)]


def _group_errors(
    groups: np.ndarray, found: ConceptTable, names: tuple[str, ...]
) -> dict[str, list[int]]:
    wrong = np.bincount(groups[found.errors] + 1, minlength=len(names) + 1)[1:]
    every = np.bincount(groups + 1, minlength=len(names) + 1)[1:]
    return {name: [int(wrong[i]), int(every[i])] for i, name in enumerate(names)}
