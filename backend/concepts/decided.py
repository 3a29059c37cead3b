"""The explanation of one sample's decision, with all a figure needs to show it."""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.concepts.decision import Decision, class_name, concept_name
from backend.concepts.explanation import ConceptExplanation
from backend.concepts.surrogate import FAITHFUL
from backend.explainer import Run


def decided(
    decision: Decision,
    scores: np.ndarray,
    run: Run,
    *,
    base: float | None,
    values: dict[str, Any] | None = None,
    notes: tuple[str, ...] = (),
) -> ConceptExplanation:
    """The explanation that gives each concept a score.

    `values`: kind "decision"; sample; label, against, prediction, truth (classes; `against` is None
    for one logit alone); output (the explained logit), baseline_output, sum (of the scores),
    completeness_gap (sum - (output - baseline_output)); probability of the explained class;
    fidelity of a stand-in for the head, else None; concepts, one dict each: name, input (what the
    head reads), baseline, probability, predicted and true (0 or 1); class_names.

    Args:
        scores: [k], in units of the explained logit.
        base: the explained logit of the reference; None where scores are not meant to add up, and
            `baseline_output` and `completeness_gap` are None.
        values: what else the method has to tell.
    """
    table, i = decision.table, decision.sample
    output, total = float(decision.value(decision.x)), float(np.sum(scores))
    return ConceptExplanation(
        arrays={"scores": scores.astype(np.float32)},
        values={
            "kind": "decision",
            "sample": i,
            "label": decision.label,
            "against": decision.against,
            "prediction": int(table.arrays["predictions"][i]),
            "truth": int(table.arrays["labels"][i]),
            "output": output,
            "baseline_output": base,
            "sum": total,
            "completeness_gap": None if base is None else total - (output - base),
            "probability": float(decision.probability(decision.x)),
            "fidelity": decision.fidelity,
            "concepts": _concepts(decision),
            "class_names": list(table.class_names),
            **(values or {}),
        },
        notes=(*remarks(decision, run), *notes),
        unit=decision.unit,
    )


def remarks(decision: Decision, run: Run) -> tuple[str, ...]:
    """What a person must know about the head before believing what is said of it."""
    notes = []
    if decision.fidelity is not None:
        notes.append(
            "The table has no label head: a linear one fitted to the predictions stands in and "
            f"repeats {decision.fidelity:.1%} of them."
        )
        if decision.fidelity < FAITHFUL:
            run.warn(
                f"The stand-in for the label head repeats only {decision.fidelity:.1%} of the "
                "predictions: what it says of concepts may not be the model's reasons."
            )
    said = int(decision.head.predictions(decision.x))
    given = int(decision.table.arrays["predictions"][decision.sample])
    if said != given:
        names = decision.table.class_names
        notes.append(
            f"The label head predicts {class_name(names, said)} for this sample; the table says "
            f"{class_name(names, given)}."
        )
    return tuple(notes)


def _concepts(decision: Decision) -> list[dict[str, Any]]:
    table, i = decision.table, decision.sample
    probabilities = table.probabilities[i]
    return [
        {
            "name": concept_name(table.concept_names, j),
            "input": float(decision.x[j]),
            "baseline": float(decision.baseline[j]),
            "probability": float(probabilities[j]),
            "predicted": int(table.arrays["logits"][i, j] > 0),
            "true": int(table.arrays["concepts"][i, j]),
        }
        for j in range(len(decision.x))
    ]
