"""Attention of a GAT as a score of its edges.

Veličković et al., "Graph Attention Networks", ICLR 2018: layer l gives the message from j to i the
share α_ij of all that i receives. The score is the mean of α over layers, heads and, of an
undirected edge, its two directions. A GAT gives each node one self-loop, in place of those the
graph has: each of these gets that loop's attention.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.bundle import Bundle
from backend.errors import InputError
from backend.explainer import Explainer, Reference, Run
from backend.graphs.explanation import GraphExplanation, GraphSet, GraphTarget

ONLY = "Only a GAT has attention; choose another method for this GNN, or train a GAT."


class GatAttention(Explainer):
    """Mean attention that an edge gets.

    Arrays: scores [e] float32; layers: [layers, e] float32, the mean of each layer.
    """

    id = "gat_attention"
    title = "Attention"
    family = "graphs"
    reference = Reference(
        authors="Veličković, Cucurull, Casanova, Romero, Liò, Bengio",
        title="Graph Attention Networks",
        year=2018,
        link="https://arxiv.org/abs/1710.10903",
    )
    how_to_read = (
        "The share of what a node receives that comes over this edge. It does not depend on the "
        "explained class, and a node with one neighbour gives it all its attention."
    )
    libraries = ("torch", "torch_geometric")

    def supports(self, config: dict[str, Any], input: Bundle) -> str | None:
        if isinstance(input, GraphSet) and input.architecture is not None:
            return None if input.architecture.kind == "gat" else ONLY
        return None

    def explain(
        self, model: Any, input: GraphSet, target: GraphTarget, parameters: Any, run: Run
    ) -> GraphExplanation:
        """The shares.

        Raises:
            InputError: the GNN is no GAT; there is no such graph, node or class.
        """
        from backend.graphs.explained import Decision, explained

        decision = Decision(input, target, run.device)
        if decision.classifier.gnn.architecture.kind != "gat":
            raise InputError(ONLY)
        layers = attention(decision)
        run.count(forward=1)
        return explained(
            decision,
            layers.mean(axis=0),
            unit="attention",
            arrays={"layers": layers.astype(np.float32)},
        )


def attention(decision: Any) -> np.ndarray:
    """[layers, e] float64 attention of each edge by layer, a mean over heads and directions.

    A GAT gives each node one loop of its own: an edge from a node to itself is that loop.
    """
    import torch

    from backend.graphs import batch as batches

    part, gnn = decision.part, decision.classifier.gnn
    one = batches.parts([part], decision.classifier.device)
    found = []
    with torch.no_grad():
        states = decision.classifier.output(one).states
        width = gnn.architecture.hidden
        inputs = [one.x, *states.split(width, dim=1)]
        for conv, h in zip(gnn.convs, inputs, strict=False):
            _, (_, shares) = conv(h, one.edge_index, return_attention_weights=True)
            found.append(_of_edges(part, shares.mean(dim=1).cpu().numpy()))
    return np.stack(found)


def _of_edges(part: Any, shares: np.ndarray) -> np.ndarray:
    n = len(part.node_ids)
    loops = len(shares) - n  # The loops of all nodes come last.
    u, v = part.edges.T
    found = np.zeros(len(part))
    own = u == v
    found[own] = shares[loops + u[own]]
    plain = np.flatnonzero(~own)
    found[plain] = shares[: len(plain)]
    if not part.directed:
        found[plain] = (found[plain] + shares[len(plain) : 2 * len(plain)]) / 2
    return found
