"""Which position is the attention sink: the key that later queries look at most.

A key's received attention is the mean of A[l,h,i,j] over layers, heads and later queries i > j;
its own query, which may have nothing else to look at, does not count. A key that hardly any query
comes after is no candidate: the last but one of a text is seen by one query alone, and one number
is no mean. Candidates are seen by at least a quarter of the query rows that see the first key.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from backend.explainer import Run

if TYPE_CHECKING:
    from backend.tokens.capture import LayerParts

SEEN = 0.25
"""Share of the rows after the first key that must come after a candidate."""


@dataclasses.dataclass(frozen=True, eq=False)
class Sink:
    """The sink and what it gets (L layers, H heads, N tokens)."""

    position: int
    received: np.ndarray
    """[N] float64: mean over layers, heads and later query rows; NaN where no row is later."""
    attention: np.ndarray
    """[L, H] float64: mean over later rows of the attention to the sink."""
    others: np.ndarray
    """[L] float64: mean over heads and later rows i of the attention to any other key j <= i."""


def query_rows(length: int, most: int) -> tuple[int, ...]:
    """At most `most` positions, evenly spaced, the first and the last among them."""
    if length <= most:
        return tuple(range(length))
    return tuple(np.linspace(0, length - 1, most).round().astype(int).tolist())


def find(model: Any, ids: Sequence[int], rows: Sequence[int], run: Run) -> Sink:
    """Run the model once and find the sink of `ids` from these query rows.

    Reports as many steps as there are layers, of twice as many. Position N - 1 must be a row.
    """
    from backend.tokens import capture

    layers, at = model.layers, np.array(rows)
    later = at[:, None] > np.arange(len(ids))
    counts = later.sum(axis=0)
    sums = np.zeros((layers, model.heads, len(ids)))

    def each(parts: LayerParts) -> None:
        mask = parts.attention.new_tensor(later.astype(np.float32))
        for head, attention in enumerate(parts.attention):  # one at a time: a copy of all is large
            sums[parts.index, head] = (attention * mask).sum(dim=0).cpu().numpy()
        run.progress(parts.index + 1, 2 * layers, "looking for the sink")

    capture.capture(model, ids, each, None if len(rows) == len(ids) else rows)
    run.count(forward=1)
    received = np.full(len(ids), np.nan)
    seen = counts > 0
    received[seen] = sums.mean(axis=(0, 1))[seen] / counts[seen]
    candidates = counts >= max(1.0, SEEN * counts[0])
    position = int(np.where(candidates, received, -np.inf).argmax())
    attention = sums[:, :, position] / counts[position]
    # Of each later row i, all but A[i, sink] lies on the i other keys it can see.
    rest = counts[position] - sums[:, :, position]
    others = rest.mean(axis=1) / at[at > position].sum()
    return Sink(position, received, attention, others)
