"""Edge occlusion: what the class's probability loses when one edge is deleted.

Of parallel edges one is deleted, the others stay. A GCN and a GAT put a loop of their own at each
node whether the graph has one or not, so deleting a graph's self-loop loses nothing there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.explainer import Explainer, Reference, Run
from backend.graphs.explanation import GraphExplanation, GraphSet, GraphTarget

ROWS = 256
"""Copies of the graph built at once, at most."""


class EdgeOcclusion(Explainer):
    """Probability of the class, less its probability without the edge.

    Arrays: scores [e] float32, see `backend.graphs.explained`.
    """

    id = "edge_occlusion"
    title = "Edge occlusion"
    family = "graphs"
    reference = Reference(
        authors="Zeiler, Fergus",
        title="Visualizing and Understanding Convolutional Networks",
        year=2014,
        link="https://arxiv.org/abs/1311.2901",
    )
    how_to_read = (
        "How much probability the class loses when this one edge is deleted, degrees computed "
        "anew. Edges that stand in for each other each look unimportant."
    )
    libraries = ("torch", "torch_geometric")

    def explain(
        self, model: Any, input: GraphSet, target: GraphTarget, parameters: Any, run: Run
    ) -> GraphExplanation:
        """The losses, a forward pass an edge.

        Raises:
            InputError: there is no such graph, node or class, or no GNN.
        """
        from backend.graphs.explained import Decision, explained

        decision = Decision(input, target, run.device)
        return explained(decision, dropped(decision, run), signed=True, unit="probability")


def dropped(decision: Any, run: Run) -> np.ndarray:
    """[e] probability lost with each edge."""
    from backend.graphs.classifier import AT_ONCE, probabilities

    part, e = decision.part, len(decision.part)
    rows = min(ROWS, max(1, AT_ONCE // (2 * e + len(part.node_ids) + 1)))
    found = np.zeros(e)
    for start in range(0, e, rows):
        run.progress(start, e, "edges deleted")
        some = np.arange(start, min(start + rows, e))
        keep = np.ones((len(some), e), dtype=bool)
        keep[np.arange(len(some)), some] = False
        without = probabilities(decision.classifier.cut(part, keep))[:, decision.label]
        found[some] = decision.probability - without
    run.count(forward=e)
    return found
