"""Directed message passing along bonds, the layer of a D-MPNN.

Yang et al., "Analyzing Learned Molecular Representations for Property Prediction", J. Chem. Inf.
Model. 59 (2019), as the package chemprop 2 computes it. Each direction of an edge has a state:

    h_vw^1 = ReLU(W_i [x_v, e_vw]),   h_vw^t+1 = ReLU(W_i [x_v, e_vw] + W_h Σ_{u ≠ w} h_uv^t),

and a node reads ReLU(W_o [x_v, Σ_u h_uv^t] + b). Weights are named as chemprop names them.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.nn import MessagePassing


class DirectedMessages(MessagePassing):  # type: ignore[misc]
    """All steps of a D-MPNN, whose weights they share.

    Args:
        features: of a node. edge_features: of an edge, both directions alike.
        hidden: size of an edge's and of a node's state.
        steps: T; a node's state reaches T steps far.
    """

    def __init__(self, features: int, edge_features: int, hidden: int, steps: int) -> None:
        super().__init__()
        self.steps = steps
        self.W_i = torch.nn.Linear(features + edge_features, hidden, bias=False)
        self.W_h = torch.nn.Linear(hidden, hidden, bias=False)
        self.W_o = torch.nn.Linear(features + hidden, hidden)

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, reverse: Tensor
    ) -> tuple[Tensor, list[Tensor]]:
        """Node states after the last step, and after each.

        A mask that torch_geometric has set on this layer weakens what an edge carries: to the other
        edges of its end, and to that node.

        Args:
            x: [n, features]. edge_index: [2, S]. edge_attr: [S, edge_features].
            reverse: [S], the column of each edge's other direction, S where it has none.

        Returns:
            ([n, hidden], T of the same shape).
        """
        source, end = edge_index
        start = self.W_i(torch.cat([x[source], edge_attr], dim=1))
        h, states = torch.relu(start), []
        for step in range(self.steps):
            carried = self.explain_message(h, len(x)) if self.explain else h
            arrived = x.new_zeros(len(x), h.shape[1]).index_add(0, end, carried)
            states.append(torch.relu(self.W_o(torch.cat([x, arrived], dim=1))))
            if step + 1 < self.steps:
                back = torch.cat([carried, carried.new_zeros(1, carried.shape[1])])[reverse]
                others = arrived[source] - back
                h = torch.relu(start + self.W_h(others))
        return states[-1], states
