"""Nitro and amine groups: whether a molecule holds a group that is known to make it mutagenic.

The groups by which explanations of mutagenicity are judged since Ying et al. (GNNExplainer, 2019)
and Luo et al. (PGExplainer, 2020): NO2, and NH2 on an aromatic ring. Here the label is the presence
of a group itself, not a measured mutagenicity, so that the reason is known.
"""

from __future__ import annotations

from backend.graphs.explanation import GraphSet
from backend.graphs.screened import screened

PATTERNS = ("[$([NX3](=O)=O),$([NX3+](=O)[O-])](~[OX1])~[OX1]", "c[NX3;H2]")


def data(seed: int) -> GraphSet:
    """Molecules with and without such a group, as many of each."""
    names = ("no such group", "nitro or amine group")
    return screened(seed, PATTERNS, "Nitro and amine groups", names)
