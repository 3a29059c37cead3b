"""The graph neural networks Vitrine trains and explains, built of torch_geometric's convolutions.

Names and shapes of the weights are those of the module's `state_dict`: `convs.<i>...` as
torch_geometric names them (of a D-MPNN `convs.0.W_i...` as chemprop does), `norms.<i>...`,
`hidden.weight`, `hidden.bias`, `out.weight`, `out.bias`. Batch norm always works with its running
statistics but in training.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Iterator

import torch
from torch import Tensor
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
from torch_geometric.nn import (
    GATConv,
    GCNConv,
    GINConv,
    SAGEConv,
    global_add_pool,
    global_max_pool,
    global_mean_pool,
)

from backend.graphs.architecture import Architecture
from backend.graphs.batch import Batch
from backend.graphs.dmpnn import DirectedMessages

POOLS = {"mean": global_mean_pool, "sum": global_add_pool, "max": global_max_pool}


@dataclasses.dataclass(frozen=True, eq=False)
class Output:
    """What a GNN says about the items of a batch, and what it says on the way.

    Attributes:
        logits: [items, classes].
        readout: [items, hidden], what the last linear layer reads.
        states: [nodes, layers * hidden], every layer's node states side by side.
    """

    logits: Tensor
    readout: Tensor
    states: Tensor


class Gnn(torch.nn.Module):
    """A GNN of a declared architecture."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.architecture = architecture
        widths = [architecture.features] + [architecture.hidden] * architecture.layers
        convs = (
            [_directed(architecture)]
            if architecture.kind == "dmpnn"
            else [_convolution(architecture, *pair) for pair in itertools.pairwise(widths)]
        )
        self.convs = torch.nn.ModuleList(convs)
        norms = [torch.nn.BatchNorm1d(w) for w in widths[1:]] if architecture.batch_norm else []
        self.norms = torch.nn.ModuleList(norms)
        self.hidden = torch.nn.Linear(architecture.hidden, architecture.hidden)
        self.out = torch.nn.Linear(architecture.hidden, architecture.classes)

    def forward(self, batch: Batch, weights: Tensor | None = None) -> Output:
        """Classify the items of a batch.

        Args:
            weights: [edges of the batch], what each edge's messages are multiplied with, in both
                directions. Degrees, by which a GCN and a GraphSAGE divide, stay those of the whole
                graph; the self-loops that a GCN and a GAT add stay as they are.
        """
        slots = None if weights is None else weights[batch.slots]
        if slots is not None and self.architecture.own_loops:
            # torch_geometric takes such a mask as it is only where it has an entry a message:
            # left to itself it would take one of a graph with a loop at each node for that too.
            plain = batch.edge_index[0] != batch.edge_index[1]
            slots = torch.cat([slots[plain], slots.new_ones(len(batch.x))])
        with masked(self, slots, batch.edge_index):
            return self._pass(batch)

    def _pass(self, batch: Batch) -> Output:
        h, states = self._states(batch)
        if self.architecture.task == "graph":
            pooled = POOLS[self.architecture.pooling](h, batch.graphs, batch.count)
        else:
            pooled = h if batch.targets is None else h[batch.targets]
        readout = torch.relu(self.hidden(pooled))
        return Output(self.out(readout), readout, torch.cat(states, dim=1))

    def _states(self, batch: Batch) -> tuple[Tensor, list[Tensor]]:
        """[nodes, hidden] after the last layer, and after each."""
        if self.architecture.kind == "dmpnn":
            assert batch.edge_attr is not None  # noqa: S101  a set with such a GNN has them
            found: tuple[Tensor, list[Tensor]] = self.convs[0](
                batch.x, batch.edge_index, batch.edge_attr, batch.reverse
            )
            return found
        h, states = batch.x, []
        for i, conv in enumerate(self.convs):
            h = conv(h, batch.edge_index)
            if self.norms:
                h = self.norms[i](h)
            h = torch.relu(h)
            states.append(h)
        return h, states


@contextlib.contextmanager
def masked(gnn: torch.nn.Module, slots: Tensor | None, edge_index: Tensor) -> Iterator[None]:
    """Multiply every convolution's messages with slots, one for each message.

    Messages are the columns of `edge_index`; of a GCN and a GAT those that are no self-loops, and
    after them a loop of each node.
    """
    if slots is None:
        yield
        return
    set_masks(gnn, slots, edge_index, apply_sigmoid=False)
    try:
        yield
    finally:
        clear_masks(gnn)


def _directed(architecture: Architecture) -> torch.nn.Module:
    return DirectedMessages(
        architecture.features,
        architecture.edge_features,
        architecture.hidden,
        architecture.layers,
    )


def _convolution(architecture: Architecture, before: int, after: int) -> torch.nn.Module:
    found: torch.nn.Module
    if architecture.kind == "gcn":
        found = GCNConv(before, after)
    elif architecture.kind == "gin":
        inner = (torch.nn.Linear(before, after), torch.nn.ReLU(), torch.nn.Linear(after, after))
        found = GINConv(torch.nn.Sequential(*inner))
    elif architecture.kind == "gat":
        found = GATConv(before, after, heads=architecture.heads, concat=False)
    else:
        found = SAGEConv(before, after)
    return found
