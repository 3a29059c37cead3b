"""Molecules as graphs: atoms are nodes, bonds are edges, coordinates are RDKit's.

Every set of molecules has the same node features, so that a GNN trained on one reads any molecule:
the element and the number of neighbours. Nothing about rings or aromaticity is among them, which
would give an answer away that the GNN has to find in what is joined to what. The GNNs trained here
do not read the kind of a bond either: to them cyclohexane and benzene are one graph. (What a D-MPNN
reads is in `chemprop_features`.)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from backend.bundle import Arrays

ELEMENTS = ("C", "N", "O", "F", "P", "S", "Cl", "Br", "I")
MOST_NEIGHBOURS = 4
FEATURE_NAMES = (
    *(f"element {symbol}" for symbol in ELEMENTS),
    "other element",
    *(f"{count} neighbours" for count in range(MOST_NEIGHBOURS + 1)),
)
BOND_NAMES = ("single", "double", "triple", "aromatic")


@dataclasses.dataclass(frozen=True, eq=False)
class Molecules:
    """Several molecules as the arrays and names of a set.

    Attributes:
        arrays: node_counts, edge_counts, edges, x, edge_attr, positions.
        symbols: an element symbol for each atom.
    """

    arrays: Arrays
    symbols: tuple[str, ...]


def molecule(smiles: str) -> Any | None:
    """RDKit's molecule, hydrogens implied, or None where RDKit refuses the text."""
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        return Chem.MolFromSmiles(smiles)


def featurised(found: Sequence[Any]) -> Molecules:
    """RDKit molecules, at least one, as graphs."""
    pieces = [_one(mol) for mol in found]
    names = ("edges", "x", "edge_attr", "positions")
    arrays: Arrays = {name: np.concatenate([piece[name] for piece in pieces]) for name in names}
    arrays["node_counts"] = np.array([len(piece["x"]) for piece in pieces], dtype=np.int32)
    arrays["edge_counts"] = np.array([len(piece["edges"]) for piece in pieces], dtype=np.int32)
    symbols = tuple(atom.GetSymbol() for mol in found for atom in mol.GetAtoms())
    return Molecules(arrays, symbols)


def features(symbols: Sequence[str], edges: np.ndarray) -> np.ndarray:
    """[N, F] float32 node features of one molecule, named in FEATURE_NAMES.

    Args:
        symbols: [N] element symbols. edges: [E, 2].
    """
    found = np.zeros((len(symbols), len(FEATURE_NAMES)), dtype=np.float32)
    for i, symbol in enumerate(symbols):
        found[i, ELEMENTS.index(symbol) if symbol in ELEMENTS else len(ELEMENTS)] = 1.0
    degrees = np.bincount(np.asarray(edges).reshape(-1), minlength=len(symbols))
    first = len(ELEMENTS) + 1
    found[np.arange(len(symbols)), first + np.minimum(degrees, MOST_NEIGHBOURS)] = 1.0
    return found


def matched(mol: Any, patterns: Iterable[Any]) -> Iterator[tuple[int, ...]]:
    """Atoms of each place where one of the patterns (RDKit queries) is found."""
    for pattern in patterns:
        yield from mol.GetSubstructMatches(pattern)


def motifs(mol: Any, places: Iterable[tuple[int, ...]]) -> tuple[np.ndarray, np.ndarray]:
    """Motif of each bond and of each atom: places that share atoms are one motif, numbered from 1.

    Returns:
        ([bonds] int32, [atoms] int32), 0 for none. A bond belongs to a place that holds both ends.
    """
    of_atom = np.zeros(mol.GetNumAtoms(), dtype=np.int32)
    bonds = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in mol.GetBonds()]
    inside = np.zeros(len(bonds), dtype=bool)
    for number, place in enumerate(places, start=1):
        atoms = set(place)
        known = {int(of_atom[a]) for a in atoms} - {0}
        of_atom[list(atoms)] = number
        of_atom[np.isin(of_atom, list(known))] = number
        inside |= np.array([u in atoms and v in atoms for u, v in bonds], dtype=bool)
    _, dense = np.unique(np.concatenate([[0], of_atom]), return_inverse=True)
    of_atom = dense[1:].astype(np.int32)
    of_bond = np.array([of_atom[u] for u, _ in bonds], dtype=np.int32) * inside
    return of_bond.astype(np.int32), of_atom


def _one(mol: Any) -> Arrays:
    from rdkit.Chem import rdDepictor

    edges = np.array(
        [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in mol.GetBonds()], dtype=np.int32
    ).reshape(-1, 2)
    kinds = [_bond(b) for b in mol.GetBonds()]
    attributes = np.zeros((len(kinds), len(BOND_NAMES)), dtype=np.float32)
    attributes[np.arange(len(kinds)), kinds] = 1.0
    rdDepictor.Compute2DCoords(mol)
    at = mol.GetConformer().GetPositions()[:, :2].astype(np.float32)
    symbols = [atom.GetSymbol() for atom in mol.GetAtoms()]
    return {
        "edges": edges,
        "x": features(symbols, edges),
        "edge_attr": attributes,
        "positions": at,
    }


def _bond(bond: Any) -> int:
    name = str(bond.GetBondType()).lower()
    return BOND_NAMES.index(name) if name in BOND_NAMES else 0
