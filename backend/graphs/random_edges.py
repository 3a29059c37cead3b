"""Random scores: what any ranking of edges has to be better than."""

from __future__ import annotations

from typing import Any

from backend.explainer import Explainer, Run
from backend.graphs.explanation import GraphExplanation, GraphSet, GraphTarget


class RandomEdges(Explainer):
    """A number from 0 to 1 for each edge, drawn from the seed.

    Arrays: scores [e] float32, see `backend.graphs.explained`.
    """

    id = "random_edges"
    title = "Random"
    family = "graphs"
    how_to_read = "Scores drawn by lot. A method whose numbers are no better has found nothing."
    libraries = ("numpy",)
    uses_seed = True
    control = True

    def explain(
        self, model: Any, input: GraphSet, target: GraphTarget, parameters: Any, run: Run
    ) -> GraphExplanation:
        """The draw.

        Raises:
            InputError: there is no such graph, node or class, or no GNN.
        """
        from backend.graphs.explained import Decision, explained

        decision = Decision(input, target, run.device)
        return explained(decision, run.numpy_generator().random(len(decision.part)), unit="lot")
