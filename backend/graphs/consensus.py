"""The consensus of several attributions of one graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from backend import consensus
from backend.explainer import Run
from backend.graphs.explanation import GraphExplanation, GraphSet, GraphTarget


class GraphConsensus(consensus.Consensus):
    """Mean ranking of edges, and by itself of nodes.

    Arrays and values as `backend.graphs.explained` and `backend.consensus.Consensus` have them.
    """

    family = "graphs"
    libraries = ("torch", "torch_geometric", "numpy")

    def told(
        self,
        input: GraphSet,
        target: GraphTarget,
        run: Run,
        arrays: dict[str, np.ndarray],
        values: dict[str, Any],
    ) -> GraphExplanation:
        from backend.graphs.explained import Decision, explained

        nodes, _ = consensus.consensus([one.arrays["node_scores"] for one in run.members])
        return explained(
            Decision(input, target, run.device),
            arrays["scores"],
            signed=False,
            unit=consensus.UNIT,
            node_scores=nodes,
            arrays={"disagreement": arrays["disagreement"]},
            values=values,
        )
