"""The tables of numbers on a graph explanation's card."""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.card import Table
from backend.graphs.explanation import GraphExplanation
from backend.graphs.naming import class_name, edge_names

TOP = 15


def tables(explanation: GraphExplanation) -> list[Table]:
    """What was decided, the scales where there are any, and the strongest edges."""
    if explanation.values.get("kind") != "edges":
        return []
    found = [_decided(explanation.values)]
    if "scales" in explanation.values:
        found.append(_scales(explanation.values["scales"]))
    return [*found, _edges(explanation)]


def _decided(values: dict[str, Any]) -> Table:
    rows: list[tuple[str, object]] = [
        ("graph", f"{values['graph']} {values['graph_name']}".strip()),
        ("nodes, edges", f"{values['nodes']:,}, {values['edges']:,}"),
        ("explained class", class_name(values, values["label"])),
        ("predicted class", class_name(values, values["predicted"])),
        ("true class", class_name(values, values["true"])),
        ("probability", f"{values['probability']:.4g}"),
    ]
    if values["node"] is not None:
        rows.insert(1, ("node", values["node"]))
    return Table("Decision", ("", ""), rows)


def _scales(scales: list[dict[str, Any]]) -> Table:
    rows = [
        (
            f"{scale['budget']:.0%}",
            scale["edges"],
            f"{scale['kept']:.4g}",
            f"{scale['lost']:.4g}",
        )
        for scale in scales
    ]
    header = ("budget", "key edges", "probability, key part alone", "probability without it")
    return Table("Scales", header, rows)


def _edges(explanation: GraphExplanation) -> Table:
    scores = explanation.arrays["scores"].astype(np.float64)
    names = edge_names(explanation)
    total = float(np.abs(scores).sum()) or 1.0
    truth = explanation.arrays.get("truth")
    rows = [
        (
            names[i],
            f"{scores[i]:.4g}",
            f"{abs(scores[i]) / total:.1%}",
            "–" if truth is None else ("yes" if truth[i] else "no"),
        )
        for i in np.argsort(-np.abs(scores), kind="stable")[:TOP].tolist()
    ]
    title = f"Strongest edges ({explanation.values['unit']})"
    return Table(title, ("edge", "score", "share", "known reason"), rows)
