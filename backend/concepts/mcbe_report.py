"""Take a trained mixture apart: arrays, values, and what they say in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from backend.concepts.experts import Mixture, classes
from backend.concepts.explanation import ConceptExplanation, ConceptTable
from backend.concepts.mcbe_data import Prepared
from backend.concepts.mcbe_verdicts import verdicts
from backend.concepts.polynomial import Polynomial
from backend.concepts.routing import routing_tree
from backend.concepts.symbolic import Formulas

if TYPE_CHECKING:
    from backend.concepts.mcbe import MixtureParameters

STILL = 1e-3
"""Standard deviation of its logits below which an expert counts as a constant."""

Trained = Mixture | Formulas


def report(
    table: ConceptTable,
    prepared: Prepared,
    mixtures: dict[int, Trained],
    parameters: MixtureParameters,
    seed: int,
) -> ConceptExplanation:
    """The explanation: the last mixture in full, the others by their numbers."""
    mixture = list(mixtures.values())[-1]
    data, held_out = prepared.data, prepared.held_out
    chosen, every = mixture.choices(data.inputs), mixture.outputs(data.concepts)
    outputs = every[np.arange(len(data)), chosen]
    arrays = {
        "held_out": held_out,
        "choices": chosen.astype(np.int32),
        "predictions": classes(outputs).astype(np.int32),
        "outputs": outputs.astype(np.float32),
        **_experts(every, chosen, prepared),
        **_front(mixtures, prepared),
    }
    if isinstance(mixture, Mixture):
        arrays["weights"] = mixture.weights.astype(np.float32)
        arrays["biases"] = mixture.biases.astype(np.float32)
    values = {
        "kind": "experts",
        "view": "experts",
        **parameters.model_dump(mode="json", include={"form", "concepts", "explain", "selector"}),
        "concept_names": list(prepared.concept_names),
        "class_names": list(prepared.class_names),
        "output_names": list(prepared.output_names),
        "samples": len(data),
        "held_out": int(held_out.sum()),
        **_accuracies(table, prepared, parameters, outputs),
        **_frozen(every, chosen, prepared),
        "complexity": mixture.complexity,
        "complexity_unit": _unit(mixture),
        "gain": mixture.gain if isinstance(mixture, Formulas) else None,
        "formulas": _formulas(mixture, prepared),
        "says": _says(every, chosen, prepared),
        "tree": _tree(prepared, chosen, parameters.depth, seed),
    }
    values["verdicts"] = verdicts(arrays, values)
    return ConceptExplanation(arrays=arrays, values=values, notes=_notes(prepared), unit="logit")


def _experts(every: np.ndarray, chosen: np.ndarray, prepared: Prepared) -> dict[str, np.ndarray]:
    """Usage, accuracy and constancy of each expert."""
    count = every.shape[1]
    right = classes(every) == prepared.data.labels[:, None]
    mine = (chosen[:, None] == np.arange(count)) & prepared.held_out[:, None]
    got = mine.sum(axis=0)
    accuracy = np.full(count, np.nan)
    np.divide((right & mine).sum(axis=0), got, out=accuracy, where=got > 0)
    return {
        "usage": (np.bincount(chosen, minlength=count) / len(chosen)).astype(np.float32),
        "expert_accuracy": accuracy.astype(np.float32),
        "constant": every.std(axis=0).max(axis=-1) < STILL,
    }


def _front(mixtures: dict[int, Trained], prepared: Prepared) -> dict[str, np.ndarray]:
    judges = prepared.data.rows(prepared.held_out)
    accuracy = []
    for mixture in mixtures.values():
        chosen = mixture.choices(judges.inputs)
        outputs = mixture.outputs(judges.concepts)[np.arange(len(judges)), chosen]
        accuracy.append(np.mean(classes(outputs) == judges.labels))
    found = list(mixtures.values())
    return {
        "front/experts": np.array(list(mixtures), dtype=np.int32),
        "front/complexity": np.array([m.complexity for m in found], dtype=np.int32),
        "front/accuracy": np.array(accuracy, dtype=np.float32),
        "front/objective": np.array([m.objective for m in found], dtype=np.float32),
    }


def _accuracies(
    table: ConceptTable, prepared: Prepared, parameters: MixtureParameters, outputs: np.ndarray
) -> dict[str, float | None]:
    """Shares of the held-out samples."""
    rows = prepared.held_out
    wanted = prepared.data.labels[rows]
    largest = np.bincount(prepared.training.labels).argmax()
    right = table.arrays["predictions"][rows] == wanted
    found = (table.arrays["logits"][rows] > 0) == (table.arrays["concepts"][rows] > 0)
    return {
        "accuracy": float(np.mean(classes(outputs[rows]) == wanted)),
        "chance": float(np.mean(wanted == largest)),
        "model_accuracy": float(right.mean()) if parameters.explain == "labels" else None,
        "concept_accuracy": float(found.mean()),
    }


def _frozen(every: np.ndarray, chosen: np.ndarray, prepared: Prepared) -> dict[str, Any]:
    """The most used expert, and held-out accuracy when it gets every sample."""
    rows, most = prepared.held_out, int(np.bincount(chosen).argmax())
    alone = classes(every[rows, most]) == prepared.data.labels[rows]
    return {"most_used": most, "frozen_accuracy": float(alone.mean())}


def _says(every: np.ndarray, chosen: np.ndarray, prepared: Prepared) -> list[str | None]:
    """The one class an expert gives to all samples it gets."""
    found: list[str | None] = []
    for m in range(every.shape[1]):
        said = np.unique(classes(every[chosen == m, m]))
        found.append(prepared.class_names[said[0]] if len(said) == 1 else None)
    return found


def _unit(mixture: Trained) -> str:
    return "weights that are not zero" if isinstance(mixture, Mixture) else "nodes of the formulas"


def _formulas(mixture: Trained, prepared: Prepared) -> list[list[dict[str, Any]]]:
    names = prepared.concept_names
    every = linear(mixture) if isinstance(mixture, Mixture) else mixture.formulas
    return [
        [
            {
                "text": formula.text(names),
                "latex": formula.latex(names),
                "expression": formula.expression(),
                "size": formula.size,
            }
            for formula in expert
        ]
        for expert in every
    ]


def linear(mixture: Mixture) -> tuple[tuple[Polynomial, ...], ...]:
    """A linear mixture's experts as formulas of their logits: weights that are left, and bias."""
    k = mixture.weights.shape[-1]
    nothing = np.zeros((1, k), dtype=np.int64)

    def formula(weights: np.ndarray, bias: float) -> Polynomial:
        kept = np.flatnonzero(weights)
        powers = np.concatenate([np.eye(k, dtype=np.int64)[kept], nothing])
        return Polynomial(powers, np.append(weights[kept], bias))

    return tuple(
        tuple(formula(w, float(b)) for w, b in zip(weights, biases, strict=True))
        for weights, biases in zip(mixture.weights, mixture.biases, strict=True)
    )


def _tree(prepared: Prepared, chosen: np.ndarray, depth: int, seed: int) -> dict[str, Any] | None:
    if len(np.unique(chosen[~prepared.held_out])) < 2:
        return None
    tree = routing_tree(
        prepared.data.concepts,
        chosen,
        prepared.held_out,
        prepared.concept_names,
        depth=depth,
        binary=prepared.binary,
        seed=seed,
    )
    return tree.value()


def _notes(prepared: Prepared) -> tuple[str, ...]:
    seen = "the embedding" if prepared.embedded else "the concept logits, as there is no embedding"
    return (
        f"The selector sees {seen}; the experts see concepts alone.",
        "Concepts are detached: nothing here could change them to fit the label.",
        f"Accuracies are over {int(prepared.held_out.sum()):,} held-out samples of "
        f"{len(prepared.data):,}.",
    )
