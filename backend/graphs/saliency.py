"""Saliency of edges: the slope of the class's logit along a mask over the edges.

Simonyan et al., "Deep Inside Convolutional Networks", 2014, with an edge mask for the input: every
message is multiplied with its edge's entry, which is 1, and the logit is differentiated by it. A
GCN and a GAT use a loop of their own for a graph's self-loop, and no mask reaches it: its score is
0 there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field

from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.graphs.explanation import GraphExplanation, GraphSet, GraphTarget


class Parameters(Frozen):
    """What of the slope counts."""

    absolute: bool = Field(
        True,
        title="Size only",
        description="On: an edge that speaks against the class ranks as high as one that speaks "
        "as much for it. Off: the sign is kept.",
    )


class Saliency(Explainer):
    """Gradient of the logit with respect to each edge's weight, at the graph as it is.

    Arrays: scores [e] float32, see `backend.graphs.explained`.
    """

    id = "saliency"
    title = "Saliency"
    family = "graphs"
    reference = Reference(
        authors="Simonyan, Vedaldi, Zisserman",
        title="Deep Inside Convolutional Networks: Visualising Image Classification Models and "
        "Saliency Maps",
        year=2014,
        link="https://arxiv.org/abs/1312.6034",
    )
    how_to_read = (
        "How fast the logit of the class changes when an edge's messages are weakened a little. "
        "One forward and one backward pass; it says nothing about deleting the edge for good."
    )
    libraries = ("torch", "torch_geometric")
    Parameters = Parameters

    def explain(
        self, model: Any, input: GraphSet, target: GraphTarget, parameters: Any, run: Run
    ) -> GraphExplanation:
        """The slopes.

        Raises:
            InputError: there is no such graph, node or class, or no GNN.
        """
        from backend.graphs.edge_gradients import gradients
        from backend.graphs.explained import Decision, explained

        decision = Decision(input, target, run.device)
        ones = np.ones((1, len(decision.part)))
        [slope] = gradients(
            decision.classifier, decision.part, decision.label, ones, run, "differentiating"
        )
        scores = np.abs(slope) if parameters.absolute else slope
        return explained(decision, scores, signed=not parameters.absolute, unit="logit per weight")
