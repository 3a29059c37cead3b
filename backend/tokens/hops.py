"""Recursive hops: what a span took from text the model wrote itself is traced on from there.

Pan et al., "Towards Long-Horizon Interpretability: Efficient and Faithful Multi-Token Attribution
for Reasoning LLMs", ICML 2026, arXiv 2602.01914. With an aggregation T(S, w) of routes into a span:

1. T_0 = T(explained span); ρ_0 is the share of T_0 on the carriers, the generated tokens that are
   traced on from; w_0 is T_0 there.
2. T_k = T(carriers, w_{k-1}); ρ_k = ρ_{k-1} times the share of T_k on the carriers; w_k is T_k
   there. Ends early where nothing is carried.
3. The result is Σ_k ρ_{k-1} T_k (ρ_{-1} = 1) on the observed tokens. It is not normalised: what
   is still carried after the last hop is nobody's.

Tokens that are not kept (stop words) get nothing at any hop.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

TINY = 1e-12

Aggregate = Callable[[Sequence[int], np.ndarray | None], np.ndarray]
"""(positions, weights or None) -> [N], what the span takes from every token."""


@dataclasses.dataclass(frozen=True, eq=False)
class Hops:
    """K + 1 hops over N tokens.

    `totals` [K+1, N] float64: T_k of every token that is kept. `observed` [K+1, N]: what hop k adds
    to the result. `carried` [K+1]: ρ_k. `dropped`: share of T_0 that fell on tokens not kept.
    """

    totals: np.ndarray
    observed: np.ndarray
    carried: np.ndarray
    dropped: float

    @property
    def scores(self) -> np.ndarray:
        """[N]: the result."""
        total: np.ndarray = self.observed.sum(axis=0)
        return total


def follow(
    aggregate: Aggregate,
    explained: Sequence[int],
    weights: np.ndarray | None,
    carriers: Sequence[int],
    *,
    hops: int,
    kept: np.ndarray,
    observed: np.ndarray,
) -> Hops:
    """Trace a span back through the carriers.

    Args:
        weights: [len(explained)], or None for all alike.
        carriers: positions traced on from.
        kept: [N] bool, tokens that may get anything.
        observed: [N] bool, tokens whose share is a result.
    """
    totals = np.zeros((hops + 1, len(kept)))
    shown = np.zeros_like(totals)
    carried = np.zeros(hops + 1)
    at = np.asarray(carriers, dtype=np.int64)
    span, w, rate, dropped = list(explained), weights, 1.0, 0.0
    for hop in range(hops + 1):
        raw = np.nan_to_num(aggregate(span, w).astype(np.float64), posinf=0.0, neginf=0.0)
        total = raw * kept
        if hop == 0:
            dropped = float(raw[~kept].sum() / (raw.sum() + TINY))
        totals[hop], shown[hop] = total, rate * total * observed
        w = total[at]
        rate *= float(w.sum() / (total.sum() + TINY))
        carried[hop], span = rate, list(carriers)
        if rate <= 0.0 or not w.any():
            break
    return Hops(totals, shown, carried, dropped)
