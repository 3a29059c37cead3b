"""The GNN of a set as explainers ask it: logits of whole, softly masked and cut graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from backend.errors import InputError
from backend.explainer import Run
from backend.graphs import batch as batches
from backend.graphs.batch import Batch, deleted
from backend.graphs.explanation import GraphSet
from backend.graphs.gnn import Gnn, Output
from backend.graphs.part import Part

AT_ONCE = 200_000
"""Columns of `edge_index` in one pass over cut copies."""


class Classifier:
    """A GNN that only answers: in eval mode, its weights without gradients.

    Args:
        gnn: taken as it is; its parameters are frozen.
    """

    def __init__(self, gnn: Gnn, device: str = "cpu") -> None:
        self.gnn = gnn.to(device).eval().requires_grad_(False)
        self.device = device

    @classmethod
    def of(cls, graphs: GraphSet, device: str = "cpu") -> Classifier:
        """The GNN a set holds.

        Raises:
            InputError: it holds none.
        """
        if graphs.architecture is None:
            raise InputError(
                "There is no GNN here to explain.",
                todo="Choose a bundled model, or bring weights for your graphs.",
            )
        gnn = Gnn(graphs.architecture)
        weights = {name: torch.from_numpy(np.array(w)) for name, w in graphs.weights().items()}
        gnn.load_state_dict(weights)
        return cls(gnn, device)

    def output(self, batch: Batch, weights: Tensor | None = None) -> Output:
        """What the GNN says; `weights` [edges] as in `Gnn.forward`. Gradients flow to `weights`."""
        found: Output = self.gnn(batch, weights)
        return found

    def logits(self, batch: Batch, weights: Tensor | None = None) -> Tensor:
        """[items, classes]."""
        return self.output(batch, weights).logits

    @torch.no_grad()
    def whole(self, graphs: GraphSet, numbers: Sequence[int]) -> np.ndarray:
        """[items, classes] float32 logits of whole graphs of a set, or of all their nodes."""
        logits = self.logits(batches.whole(graphs, numbers, self.device))
        return np.asarray(logits.cpu().numpy())

    @torch.no_grad()
    def cut(
        self, part: Part, keep: np.ndarray, run: Run | None = None, what: str = ""
    ) -> np.ndarray:
        """Logits of a part from which edges were deleted; degrees are those of what is left.

        Args:
            keep: [copies, e] bool.
            run: counts the passes and reports progress as `what`, where given.

        Returns:
            [copies, classes] float64.
        """
        keep = np.asarray(keep, dtype=bool)
        size = max(1, AT_ONCE // max(1, 2 * len(part) + len(part.node_ids)))

        def work(rows: Sequence[int]) -> Sequence[Any]:
            batch = deleted(part, keep[list(rows)], self.device)
            return list(self.logits(batch).double().cpu().numpy())

        rows = range(len(keep))
        if run is None:
            found = [out for s in range(0, len(keep), size) for out in work(rows[s : s + size])]
        else:
            found = run.batches(rows, size, work, what)
            run.count(forward=len(keep))
        return np.stack(found) if found else np.zeros((0, self.gnn.architecture.classes))


def probabilities(logits: np.ndarray) -> np.ndarray:
    """[..., classes] softmax in float64."""
    z = np.asarray(logits, dtype=np.float64)
    raised = np.exp(z - z.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))
