"""The tables of numbers on a concept explanation's card."""

from __future__ import annotations

import numpy as np

from backend.card import Table
from backend.concepts.decision import class_name, concept_name
from backend.concepts.explanation import ConceptExplanation, ConceptTable

TOP = 15
KEYWORDS = 5


def tables(explanation: ConceptExplanation, table: ConceptTable) -> list[Table]:
    """The strongest concepts of a decision, or the slices in their order; else none."""
    kind = explanation.values.get("kind")
    if kind == "decision":
        return [_decided(explanation), _concepts(explanation)]
    return [_slices(explanation, table)] if kind == "slices" else []


def _decided(explanation: ConceptExplanation) -> Table:
    values = explanation.values
    names = values["class_names"]
    against = values["against"]
    rows: list[tuple[str, object]] = [
        ("sample", values["sample"]),
        ("explained class", class_name(names, values["label"])),
        ("against", "–" if against is None else class_name(names, against)),
        ("predicted class", class_name(names, values["prediction"])),
        ("true class", class_name(names, values["truth"])),
        ("probability", f"{values['probability']:.4g}"),
        (f"output ({values.get('output_unit', explanation.unit)})", f"{values['output']:.4g}"),
    ]
    if values["baseline_output"] is not None:
        rows += [
            ("output at the reference", f"{values['baseline_output']:.4g}"),
            ("sum of the scores", f"{values['sum']:.4g}"),
            ("gap", f"{values['completeness_gap']:.2g}"),
        ]
    return Table("Decision", ("", ""), rows)


def _concepts(explanation: ConceptExplanation) -> Table:
    scores = explanation.arrays["scores"].astype(np.float64)
    concepts = explanation.values["concepts"]
    order = np.argsort(np.where(np.isnan(scores), np.inf, -np.abs(scores)), kind="stable")[:TOP]
    total = float(np.nansum(np.abs(scores))) or 1.0
    rows = [
        (
            concepts[j]["name"],
            f"{concepts[j]['probability']:.3g}",
            concepts[j]["true"],
            f"{scores[j]:.4g}",
            f"{abs(scores[j]) / total:.1%}",
        )
        for j in order.tolist()
    ]
    header = ("concept", "predicted", "true", "score", "share")
    return Table(f"Strongest concepts ({explanation.unit})", header, rows)


def _slices(explanation: ConceptExplanation, table: ConceptTable) -> Table:
    rows = [
        (
            number,
            found["size"],
            f"{found['score']:.4g}",
            ", ".join(
                concept_name(table.concept_names, word["concept"])
                + (" (mispredicted)" if word["mispredicted"] else "")
                for word in found["keywords"][:KEYWORDS]
            )
            or "–",
        )
        for number, found in enumerate(explanation.values["slices"])
    ]
    return Table("Slices", ("slice", "errors", "score", "keywords"), rows)
