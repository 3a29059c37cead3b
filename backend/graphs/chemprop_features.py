"""Atoms and bonds as chemprop 2 describes them to a D-MPNN.

Chemprop's defaults (`SimpleMoleculeMolGraphFeaturizer`, its "v2" atoms), read off RDKit's molecule:
one-hot blocks, each with a last place for what is not listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from backend.bundle import Arrays
from backend.graphs.molecules import BOND_NAMES, molecule

ELEMENTS = (*range(1, 37), 53)
"""Atomic numbers: the first four rows of the periodic table, and iodine."""
DEGREES = tuple(range(6))
CHARGES = (-1, -2, 1, 2, 0)
CHIRAL = tuple(range(4))
HYDROGENS = tuple(range(5))
HYBRIDS = ("S", "SP", "SP2", "SP2D", "SP3", "SP3D", "SP3D2")
STEREO = tuple(range(6))


def atom_names() -> tuple[str, ...]:
    """Of the columns of `atoms`."""
    from rdkit import Chem

    table = Chem.GetPeriodicTable()
    return (
        *(f"element {table.GetElementSymbol(number)}" for number in ELEMENTS),
        "other element",
        *_named("neighbours and hydrogens", DEGREES),
        *_named("charge", CHARGES),
        *_named("chirality", CHIRAL),
        *_named("hydrogens", HYDROGENS),
        *_named("hybridisation", HYBRIDS),
        "aromatic",
        "mass / 100",
    )


def bond_names() -> tuple[str, ...]:
    """Of the columns of `bonds`."""
    return ("no bond", *BOND_NAMES, "conjugated", "in a ring", *_named("stereo", STEREO))


def atoms(mol: Any) -> np.ndarray:
    """[atoms, 72] float32, in RDKit's order."""
    rows = [
        [
            *_one_of(atom.GetAtomicNum(), ELEMENTS),
            *_one_of(atom.GetTotalDegree(), DEGREES),
            *_one_of(atom.GetFormalCharge(), CHARGES),
            *_one_of(int(atom.GetChiralTag()), CHIRAL),
            *_one_of(int(atom.GetTotalNumHs()), HYDROGENS),
            *_one_of(str(atom.GetHybridization()), HYBRIDS),
            float(atom.GetIsAromatic()),
            0.01 * atom.GetMass(),
        ]
        for atom in mol.GetAtoms()
    ]
    return np.array(rows, dtype=np.float32).reshape(-1, len(atom_names()))


def bonds(mol: Any) -> np.ndarray:
    """[bonds, 14] float32, in RDKit's order. A bond of another kind has no mark for its kind."""
    rows = [
        [
            0.0,  # "no bond", of a bond that is none
            *_one_of(str(bond.GetBondType()).lower(), BOND_NAMES)[:-1],
            float(bond.GetIsConjugated()),
            float(bond.IsInRing()),
            *_one_of(int(bond.GetStereo()), STEREO),
        ]
        for bond in mol.GetBonds()
    ]
    return np.array(rows, dtype=np.float32).reshape(-1, len(bond_names()))


def described(smiles: Sequence[str]) -> Arrays:
    """Features of molecules, one after the other: x [N, 72] and edge_attr [E, 14] float32.

    Args:
        smiles: molecules that RDKit takes, at least one.
    """
    found = [molecule(one) for one in smiles]
    return {
        "x": np.concatenate([atoms(mol) for mol in found]),
        "edge_attr": np.concatenate([bonds(mol) for mol in found]),
    }


def _one_of(value: object, known: Sequence[object]) -> list[float]:
    found = [0.0] * (len(known) + 1)
    found[known.index(value) if value in known else len(known)] = 1.0
    return found


def _named(what: str, known: Sequence[object]) -> list[str]:
    return [*(f"{what} {value}" for value in known), f"{what} other"]
