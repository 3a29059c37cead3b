"""What a graph neural network is built of, as a value: enough to name each of its weights."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from backend.explanation import Frozen

Convolution = Literal["gcn", "gin", "gat", "sage"]
Kind = Literal[Convolution, "dmpnn"]
Pooling = Literal["mean", "sum", "max"]
Labels = Literal["true", "shuffled"]
"""What a GNN is trained on."""

TITLES: dict[Convolution, str] = {
    "gcn": "GCN (Kipf and Welling 2017)",
    "gin": "GIN (Xu et al. 2019)",
    "gat": "GAT (Veličković et al. 2018)",
    "sage": "GraphSAGE (Hamilton et al. 2017)",
}
"""What can be trained here, and brought as weights."""


class Architecture(Frozen):
    """A stack of graph convolutions, a readout where graphs are classified, a linear head.

    One layer is: convolution, batch norm (where it has one), ReLU. The head reads the last layer's
    node states (node task), or their pooling over the graph, through one hidden layer.

    A D-MPNN has no stack: its layers are steps along the edges that share their weights, see
    `backend.graphs.dmpnn`. It alone reads features of edges, which it takes as undirected.
    """

    kind: Kind
    task: Literal["graph", "node"] = "graph"
    features: Annotated[int, Field(ge=1, le=10_000)]
    edge_features: Annotated[int, Field(ge=0, le=10_000)] = 0
    """Of a D-MPNN."""
    hidden: Annotated[int, Field(ge=1, le=1024)] = 32
    layers: Annotated[int, Field(ge=1, le=16)] = 3
    classes: Annotated[int, Field(ge=2, le=1000)] = 2
    heads: Annotated[int, Field(ge=1, le=16)] = 1
    """Attention heads of a GAT, averaged."""
    pooling: Pooling = "mean"
    batch_norm: bool = True

    @property
    def own_loops(self) -> bool:
        """Whether each node gets one self-loop, in place of those that the graph has."""
        return self.kind in ("gcn", "gat")
