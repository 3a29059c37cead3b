"""Our GNNs and parts as torch_geometric's explainers take them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch_geometric.explain import ModelConfig

from backend.graphs import batch as batches
from backend.graphs.explained import Decision
from backend.graphs.gnn import Gnn


class Bare(torch.nn.Module):
    """A GNN as a function of node features and `edge_index` of one part.

    Graphs are classified whatever their number of nodes; of nodes, all are.
    """

    def __init__(self, gnn: Gnn) -> None:
        super().__init__()
        self.gnn = gnn

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """[1, classes] of a graph, [nodes, classes] of nodes."""
        count = len(x)
        batch = batches.Batch(
            x=x,
            edge_index=edge_index,
            slots=torch.arange(edge_index.shape[1], device=x.device),
            graphs=torch.zeros(count, dtype=torch.long, device=x.device),
            count=1,
            owners=torch.zeros(edge_index.shape[1], dtype=torch.long, device=x.device),
        )
        logits: Tensor = self.gnn(batch).logits
        return logits


def config(decision: Decision) -> ModelConfig:
    """What torch_geometric has to know of the GNN."""
    return ModelConfig(
        mode="multiclass_classification",
        task_level=decision.classifier.gnn.architecture.task,
        return_type="raw",
    )


def goal(decision: Decision, label: int) -> Tensor:
    """The class that is explained, as torch_geometric's `target`: one entry a classified item."""
    rows = 1 if decision.part.node is None else len(decision.part.node_ids)
    return torch.full((rows,), label, dtype=torch.long, device=decision.classifier.device)


def merged(decision: Decision, columns: Tensor) -> np.ndarray:
    """[e] float64: the mean of what an edge's one or two columns got."""
    one = batches.parts([decision.part])
    slots = one.slots.numpy()
    values = columns.detach().double().cpu().numpy()
    total = np.bincount(slots, weights=values, minlength=one.edges)
    return np.asarray(total / np.maximum(np.bincount(slots, minlength=one.edges), 1))
