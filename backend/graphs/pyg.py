"""Our GNNs and parts as torch_geometric's explainers take them."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor
from torch_geometric.explain import ModelConfig

from backend.graphs import batch as batches
from backend.graphs.explained import Decision
from backend.graphs.gnn import Gnn
from backend.threads import one_thread


class Bare(torch.nn.Module):
    """A GNN as a function of node features and `edge_index` of one part.

    Graphs are classified whatever their number of nodes; of nodes, all are. The GNN is a copy:
    torch_geometric's algorithms leave masks behind in the model they explain.

    Args:
        before: called before each pass; what it raises ends the algorithm.
    """

    def __init__(self, gnn: Gnn, before: Callable[[], None] | None = None) -> None:
        super().__init__()
        self.gnn = copy.deepcopy(gnn)
        self.before = before
        # PGExplainer puts a model back into the mode it was given in, batch norms and all.
        self.eval()

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_attr: Tensor | None = None,
        slots: Tensor | None = None,
    ) -> Tensor:
        """[1, classes] of a graph, [nodes, classes] of nodes; the rest as `Columns.more` has it."""
        if self.before is not None:
            self.before()
        count = len(x)
        batch = batches.Batch(
            x=x,
            edge_index=edge_index,
            slots=torch.arange(edge_index.shape[1], device=x.device) if slots is None else slots,
            graphs=torch.zeros(count, dtype=torch.long, device=x.device),
            count=1,
            owners=torch.zeros(edge_index.shape[1], dtype=torch.long, device=x.device),
            edge_attr=edge_attr,
        )
        logits: Tensor = self.gnn(batch).logits
        return logits


class Columns:
    """A part as torch_geometric takes it.

    A GCN and a GAT put one loop of their own at each node in the place of the graph's loops, and no
    mask reaches it. So a graph's own loops are left out for them: nothing changes but that a mask
    has no entry without effect, and that torch_geometric cannot take a mask for one that reaches
    the loops, as it does where a graph has as many of them as nodes.

    Attributes:
        x: [n, F]. edge_index: [2, S].
        slots: [S], the edge each column belongs to.
        more: what else the GNN reads, by the names of `Bare`'s arguments.
    """

    def __init__(self, decision: Decision) -> None:
        one = batches.parts([decision.part], decision.classifier.device)
        self.x, self.edge_index, self.slots = one.x, one.edge_index, one.slots
        self.edges = one.edges
        if decision.classifier.gnn.architecture.own_loops:
            plain = self.edge_index[0] != self.edge_index[1]
            self.edge_index, self.slots = self.edge_index[:, plain], self.slots[plain]
        self.more: dict[str, Tensor] = {}
        if decision.classifier.gnn.architecture.kind == "dmpnn":
            assert one.edge_attr is not None  # noqa: S101  a set with such a GNN has them
            self.more = {"edge_attr": one.edge_attr, "slots": self.slots}

    def __len__(self) -> int:
        return len(self.slots)

    def merged(self, columns: Tensor) -> np.ndarray:
        """[e] float64: the mean of what an edge's columns got, 0 for an edge without one."""
        slots = self.slots.cpu().numpy()
        values = columns.detach().double().cpu().numpy()
        total = np.bincount(slots, weights=values, minlength=self.edges)
        return np.asarray(total / np.maximum(np.bincount(slots, minlength=self.edges), 1))


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


@contextlib.contextmanager
def seeded(seed: int, device: str) -> Iterator[None]:
    """torch's global generators start from the seed; afterwards they are as they were.

    In one thread: what torch_geometric's algorithms compute at a step is too small for two.
    """
    devices = [device] if device.startswith("cuda") else []
    with torch.random.fork_rng(devices=devices), one_thread():
        torch.manual_seed(seed)
        yield
