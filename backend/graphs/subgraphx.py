"""SubgraphX: a search through connected subgraphs for the one that matters most.

Yuan et al., "On Explainability of Graph Neural Networks via Subgraph Explorations", ICML 2021:
Monte Carlo tree search from the whole graph, one node taken away a move (of a large graph several,
see `backend.graphs.subgraph_search`), the largest connected piece kept, or the one with the
explained node; a subgraph's reward is its Shapley value against the nodes around it, by sampled
coalitions. Nodes outside a coalition lose their edges.

Directed graphs are searched as if edges had no direction. Of a graph that falls into pieces only
the largest is searched. How nodes are numbered decides between equals and which coalitions a seed
draws. A self-loop is in each part that holds its node; a GCN and a GAT have a loop there anyway.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.graphs.explanation import GraphExplanation, GraphSet, GraphTarget


class Parameters(Frozen):
    """How far the search goes."""

    rollouts: Annotated[int, Field(ge=1, le=200)] = Field(
        10, title="Rollouts", description="Walks from the whole graph to a small part."
    )
    size: Annotated[int, Field(ge=2, le=50)] = Field(
        6, title="Largest part", description="Nodes of a part that counts as an answer."
    )
    children: Annotated[int, Field(ge=1, le=50)] = Field(
        8, title="Moves", description="Nodes tried at each step, those with fewest neighbours."
    )
    samples: Annotated[int, Field(ge=1, le=200)] = Field(
        8, title="Coalitions", description="Samples for a part's Shapley value."
    )
    exploration: Annotated[float, Field(ge=0, le=100)] = Field(
        5.0, title="Exploration", description="Weight of what was seldom tried."
    )


class SubgraphX(Explainer):
    """The best Shapley value among the small parts that hold an edge.

    Arrays: scores [e] float32: of the visited parts of at most `size` nodes that hold both ends of
    an edge the largest Shapley value, 0 where there is none or it is negative.

    Values: best: nodes of the best part, its value. visited: how many parts were valued.
    """

    id = "subgraphx"
    title = "SubgraphX"
    family = "graphs"
    reference = Reference(
        authors="Yuan, Yu, Wang, Li, Ji",
        title="On Explainability of Graph Neural Networks via Subgraph Explorations",
        year=2021,
        link="https://arxiv.org/abs/2102.05152",
    )
    how_to_read = (
        "How much a small connected part that holds the edge adds to the probability of the class, "
        "on average over what else is there. Found by search, so a better part may exist."
    )
    libraries = ("torch", "torch_geometric")
    uses_seed = True
    Parameters = Parameters

    def explain(
        self, model: Any, input: GraphSet, target: GraphTarget, parameters: Any, run: Run
    ) -> GraphExplanation:
        """The values of the best parts.

        Raises:
            InputError: there is no such graph, node or class, or no GNN; the part is too large.
        """
        from backend.graphs.explained import Decision, explained
        from backend.graphs.subgraph_search import Search

        decision = Decision(input, target, run.device)
        search = Search(decision, parameters, run)
        found = search.run() if len(decision.part) else {}
        small = {nodes: v for nodes, v in found.items() if len(nodes) <= parameters.size}
        scores = np.zeros(len(decision.part))
        for nodes, value in small.items():
            inside = np.isin(decision.part.edges, list(nodes)).all(axis=1)
            scores[inside] = np.maximum(scores[inside], value)
        best = max(small, key=lambda nodes: (small[nodes], -len(nodes)), default=frozenset())
        return explained(
            decision,
            scores,
            unit="Shapley value",
            values={
                "best": sorted(int(decision.part.node_ids[v]) for v in best),
                "best_value": small.get(best),
                "visited": len(found),
            },
        )
