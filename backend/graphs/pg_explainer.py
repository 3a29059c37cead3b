"""PGExplainer, torch_geometric's own: one network scores the edges of all graphs.

Luo et al., "Parameterized Explainer for Graph Neural Network", NeurIPS 2020. torch_geometric scores
each direction; an undirected edge's score is the mean of its two. A GCN and a GAT use a loop of
their own for a graph's self-loop, which torch_geometric leaves unmasked: its score is 0 there.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from backend.explainer import Explainer, Run
from backend.graphs.explanation import GraphExplanation, GraphSet, GraphTarget
from backend.graphs.fit_pg_explainer import REFERENCE, FitPGExplainer, Parameters


class PGExplainer(Explainer):
    """The mask a network gives that was trained on other graphs.

    Arrays: scores [e] float32, see `backend.graphs.explained`.
    """

    id = "pg_explainer"
    title = "PGExplainer"
    family = "graphs"
    fit: ClassVar[str] = FitPGExplainer.id
    """The step whose result is this explainer's subject."""
    reference = REFERENCE
    how_to_read = (
        "A mask from 0 to 1 by a network that was trained on other graphs to keep their classes. "
        "It can be wrong in the same way for every graph and every seed, so look at its "
        "faithfulness; its being stable proves nothing. It explains the predicted class."
    )
    libraries = ("torch", "torch_geometric")
    uses_seed = True
    Parameters = Parameters

    def explain(
        self, model: Any, input: GraphSet, target: GraphTarget, parameters: Any, run: Run
    ) -> GraphExplanation:
        """The mask.

        Raises:
            InputError: there is no such graph, node or class, or no GNN; the subject is no fit of
                PGExplainer's to a GNN of this shape.
        """
        import torch

        from backend.graphs.explained import Decision, explained
        from backend.graphs.fit_pg_explainer import fitted, loaded
        from backend.graphs.pyg import Bare, Columns, goal

        decision = Decision(input, target, run.device)
        columns = Columns(decision)
        if not len(columns):
            return explained(decision, np.zeros(len(decision.part)), unit="mask")
        fit = fitted(input, parameters, run) if run.subject is None else run.subject
        algorithm = loaded(decision, fit, parameters)
        algorithm.mlp.to(run.device)
        with torch.no_grad():
            found = algorithm(
                Bare(decision.classifier.gnn),
                columns.x,
                columns.edge_index,
                target=goal(decision, decision.label),
                index=decision.part.node,
                **columns.more,
            )
        run.count(forward=1)
        notes: tuple[str, ...] = ()
        if decision.label != decision.predicted:
            notes = ("PGExplainer learned to explain predicted classes; another makes no odds.",)
        return explained(decision, columns.merged(found.edge_mask), unit="mask", notes=notes)
