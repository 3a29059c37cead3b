"""Integrated gradients of edges: slopes added up from the graph without edges to the whole one.

Sundararajan et al., "Axiomatic Attribution for Deep Networks", ICML 2017, with an edge mask for the
input, as torch_geometric's `CaptumExplainer` has it:

    score_e = ∫ ∂z/∂m_e (α m) dα from 0 to 1, all m_e = 1,

by Gauss-Legendre quadrature, captum's default. The scores add up to the difference of the logit
between the whole graph and the one without messages. A GCN and a GAT use a loop of their own for a
graph's self-loop, and no mask reaches it: its score is 0 there, and its message stays all the way.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.graphs.explanation import GraphExplanation, GraphSet, GraphTarget

GAP_WARNED = 0.05


class Parameters(Frozen):
    """How finely the path is followed."""

    steps: Annotated[int, Field(ge=2, le=1000)] = Field(
        50, title="Steps", description="Points on the path at which the slope is taken."
    )


class IntegratedGradientsEdges(Explainer):
    """Each edge's share of the logit, gathered along a path from no messages to all.

    Arrays: scores [e] float32, see `backend.graphs.explained`.

    Values: sum, difference (of the logit between the ends of the path), completeness_gap: what the
    sum misses, as a share of the difference.
    """

    id = "integrated_gradients"
    title = "Integrated Gradients"
    family = "graphs"
    reference = Reference(
        authors="Sundararajan, Taly, Yan",
        title="Axiomatic Attribution for Deep Networks",
        year=2017,
        link="https://arxiv.org/abs/1703.01365",
    )
    how_to_read = (
        "What each edge adds to the logit of the class on the way from a graph whose edges carry "
        "nothing to the whole graph. Positive: it speaks for the class. The scores add up to the "
        "whole difference."
    )
    libraries = ("torch", "torch_geometric")
    Parameters = Parameters

    def explain(
        self, model: Any, input: GraphSet, target: GraphTarget, parameters: Any, run: Run
    ) -> GraphExplanation:
        """The integrals.

        Raises:
            InputError: there is no such graph, node or class, or no GNN.
        """
        from backend.graphs.edge_gradients import gradients
        from backend.graphs.explained import Decision, explained

        decision = Decision(input, target, run.device)
        part, label = decision.part, decision.label
        at, weights = quadrature(parameters.steps)
        masks = np.repeat(at[:, None], len(part), axis=1)
        slopes = gradients(decision.classifier, part, label, masks, run, "steps of the path")
        scores = weights @ slopes
        ends = _ends(decision)
        total = float(scores.sum())
        gap = abs(total - ends) / abs(ends) if abs(ends) > 1e-9 else None
        if gap is not None and gap > GAP_WARNED:
            run.warn(
                f"The scores miss {gap:.0%} of the difference they should add up to; take more "
                "steps."
            )
        run.count(forward=2)
        return explained(
            decision,
            scores,
            signed=True,
            unit="logit",
            values={"sum": total, "difference": ends, "completeness_gap": gap},
        )


def quadrature(steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Points on [0, 1] and their weights, [steps] each (Gauss-Legendre)."""
    points, weights = np.polynomial.legendre.leggauss(steps)
    return (points + 1) / 2, weights / 2


def _ends(decision: Any) -> float:
    """Logit of the whole graph less that of the graph whose edges carry nothing."""
    import torch

    from backend.graphs import batch as batches

    one = batches.copies(decision.part, 1, decision.classifier.device)
    none = torch.zeros(one.edges, device=decision.classifier.device)
    with torch.no_grad():
        without = decision.classifier.logits(one, none)[0, decision.label]
        whole = decision.classifier.logits(one)[0, decision.label]
    return float(whole - without)
