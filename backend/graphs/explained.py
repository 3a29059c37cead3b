"""Scores of edges as an explanation: with all that its drawing, files and scores need."""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.bundle import Arrays
from backend.errors import InputError
from backend.graphs.classifier import Classifier, probabilities
from backend.graphs.explanation import GraphExplanation, GraphSet, GraphTarget
from backend.graphs.layout import positions
from backend.graphs.molecules import BOND_NAMES
from backend.graphs.part import Part


class Decision:
    """What is explained: a part, the GNN, and the class whose probability is in question.

    Raises:
        InputError: there is no such graph, node or class, or no GNN.
    """

    def __init__(self, graphs: GraphSet, target: GraphTarget, device: str = "cpu") -> None:
        self.graphs, self.target = graphs, target
        self.classifier = Classifier.of(graphs, device)
        self.part = Part.of(graphs, target)
        self.logits: np.ndarray = self.classifier.cut(self.part, np.ones((1, len(self.part))))[0]
        """[classes] float64, of the part with all its edges."""
        self.predicted = int(self.logits.argmax())
        self.label = self.predicted if target.label is None else target.label
        if self.label >= len(self.logits):
            raise InputError(
                f"There is no class {self.label}.",
                "label",
                f"The GNN tells {len(self.logits)} classes apart, counted from 0.",
            )

    @property
    def probability(self) -> float:
        """Of the explained class."""
        return float(probabilities(self.logits)[self.label])


def explained(
    decision: Decision,
    scores: np.ndarray,
    *,
    node_scores: np.ndarray | None = None,
    signed: bool = False,
    unit: str = "",
    arrays: Arrays | None = None,
    values: dict[str, Any] | None = None,
    notes: tuple[str, ...] = (),
) -> GraphExplanation:
    """The explanation of kind "edges".

    Values: kind, task, graph, node (within the graph, or None), target (within the part, or None),
    label, predicted, true (or None), probability, class_names, node_names (of the part),
    graph_name, title, directed, molecule, signed (whether a negative score speaks against the
    class), unit, nodes and edges of the whole graph, and what `values` adds.

    Args:
        scores: [e]. node_scores: [n]; by default the largest score (by size) of a node's edges.
        unit: what one unit of a score is.
        arrays: more arrays, e.g. masks and key.
    """
    part, graphs = decision.part, decision.graphs
    scores = np.asarray(scores, dtype=np.float32)
    if scores.shape != (len(part),):
        raise ValueError(f"scores of shape {scores.shape} for {len(part)} edges")
    found: Arrays = {
        "scores": scores,
        "node_scores": _of_nodes(part, scores) if node_scores is None else node_scores,
        "edges": part.edges.astype(np.int32),
        "node_ids": part.node_ids.astype(np.int32),
        "edge_ids": part.edge_ids.astype(np.int32),
        "positions": positions(part),
        **(arrays or {}),
    }
    found["node_scores"] = np.asarray(found["node_scores"], dtype=np.float32)
    if part.truth is not None:
        found["truth"] = part.truth.astype(np.uint8)
    if graphs.molecules and part.edge_attr is not None:
        columns = [graphs.edge_feature_names.index(name) for name in BOND_NAMES]
        found["bonds"] = part.edge_attr[:, columns].argmax(axis=1).astype(np.int8)
    return GraphExplanation(
        arrays=found,
        values={**_values(decision), "signed": signed, "unit": unit, **(values or {})},
        notes=notes,
    )


def _values(decision: Decision) -> dict[str, Any]:
    part, graphs = decision.part, decision.graphs
    node = None if part.node is None else int(part.node_ids[part.node])
    truth = int(graphs.arrays["labels"][part.item]) if "labels" in graphs.arrays else -1
    names = part.graph.node_names
    return {
        "kind": "edges",
        "title": graphs.title,
        "task": graphs.task,
        "graph": part.graph.number,
        "graph_name": graphs.graph_names[part.graph.number] if graphs.graph_names else "",
        "node": node,
        "target": part.node,
        "label": decision.label,
        "predicted": decision.predicted,
        "true": truth if truth >= 0 else None,
        "probability": decision.probability,
        "class_names": list(graphs.class_names),
        "node_names": [names[i] for i in part.node_ids] if names else [],
        "directed": graphs.directed,
        "molecule": graphs.molecules,
        "nodes": len(part.graph.x),
        "edges": len(part.graph.edges),
    }


def _of_nodes(part: Part, scores: np.ndarray) -> np.ndarray:
    """[n] the score of largest size among a node's edges; 0 for a node without edges."""
    found = np.zeros(len(part.node_ids), dtype=np.float32)
    ends = np.concatenate([part.edges[:, 1], part.edges[:, 0]])
    twice = np.concatenate([scores, scores])
    order = np.argsort(np.abs(twice), kind="stable")
    found[ends[order]] = twice[order]  # The last one written is the largest.
    return found
