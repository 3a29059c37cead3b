"""Benzene rings: whether a molecule holds a six-ring of aromatic carbon.

The task of Sanchez-Lengeling et al., "Evaluating Attribution for Graph Neural Networks", NeurIPS
2020, on another collection of molecules.
"""

from __future__ import annotations

from backend.graphs.explanation import GraphSet
from backend.graphs.screened import screened

PATTERNS = ("c1ccccc1",)


def data(seed: int) -> GraphSet:
    """Molecules with and without a benzene ring, as many of each."""
    return screened(seed, PATTERNS, "Benzene rings", ("no benzene ring", "benzene ring"))
