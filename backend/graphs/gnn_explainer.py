"""GNNExplainer, torch_geometric's own: a soft mask is learned anew for each graph.

Ying et al., "GNNExplainer: Generating Explanations for Graph Neural Networks", NeurIPS 2019. The
mask keeps the class while its size and its entropy are punished. torch_geometric learns a weight
for each direction; an undirected edge's score is the mean of its two. A GCN and a GAT use a loop of
their own for a graph's self-loop, which torch_geometric leaves unmasked: its score is 0 there.
"""

from __future__ import annotations

import itertools
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.graphs.explanation import GraphExplanation, GraphSet, GraphTarget

EVERY = 10
"""Steps from one report of progress to the next."""


class Parameters(Frozen):
    """torch_geometric's settings, at its defaults."""

    epochs: Annotated[int, Field(ge=1, le=2000)] = Field(
        100, title="Steps", description="Steps of learning the mask."
    )
    learning_rate: Annotated[float, Field(gt=0, le=1)] = Field(
        0.01, title="Learning rate", description="Size of a step."
    )


class GnnExplainer(Explainer):
    """A mask from 0 to 1 over the edges that keeps the class with as few of them as it can.

    Arrays: scores [e] float32, see `backend.graphs.explained`.
    """

    id = "gnn_explainer"
    title = "GNNExplainer"
    family = "graphs"
    reference = Reference(
        authors="Ying, Bourgeois, You, Zitnik, Leskovec",
        title="GNNExplainer: Generating Explanations for Graph Neural Networks",
        year=2019,
        link="https://arxiv.org/abs/1903.03894",
    )
    how_to_read = (
        "A mask that is learned for this one graph, from random weights: another seed gives "
        "another mask, so look at its stability. It is soft; a score near one half says little."
    )
    libraries = ("torch", "torch_geometric")
    uses_seed = True
    Parameters = Parameters

    def explain(
        self, model: Any, input: GraphSet, target: GraphTarget, parameters: Any, run: Run
    ) -> GraphExplanation:
        """The learned mask.

        Raises:
            InputError: there is no such graph, node or class, or no GNN.
        """
        from backend.graphs.explained import Decision, explained

        decision = Decision(input, target, run.device)
        return explained(decision, learned(decision, parameters, run), unit="mask")


def learned(decision: Any, parameters: Parameters, run: Run) -> np.ndarray:
    """[e] float64 mask of torch_geometric's algorithm."""
    from torch_geometric.explain import Explainer as Explained
    from torch_geometric.explain import GNNExplainer as Algorithm

    from backend.graphs.pyg import Bare, Columns, config, goal, seeded

    columns = Columns(decision)
    if not len(columns):
        return np.zeros(len(decision.part))
    steps = itertools.count()

    def before() -> None:
        run.check_cancelled()
        if (step := next(steps)) % EVERY == 0:
            run.progress(step, parameters.epochs, "learning the mask")

    with seeded(run.seed, run.device):
        found = Explained(
            model=Bare(decision.classifier.gnn, before),
            algorithm=Algorithm(epochs=parameters.epochs, lr=parameters.learning_rate),
            explanation_type="phenomenon",
            edge_mask_type="object",
            model_config=config(decision),
        )(
            columns.x,
            columns.edge_index,
            target=goal(decision, decision.label),
            index=decision.part.node,
            **columns.more,
        )
    run.count(forward=parameters.epochs, backward=parameters.epochs)
    return columns.merged(found.edge_mask)
