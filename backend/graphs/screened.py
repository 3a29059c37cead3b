"""Sets of molecules from the NCI's open collection, labelled by whether they hold a group of atoms.

RDKit brings 5,000 SMILES of the collection (`NCI/first_5K.smi`). The label is a substructure match,
so the reason of a positive label is known: the atoms and bonds of the match. A negative label has
no reason in the molecule, it is an absence.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from backend.graphs.explanation import GraphSet
from backend.graphs.molecules import (
    BOND_NAMES,
    FEATURE_NAMES,
    featurised,
    matched,
    molecule,
    motifs,
)

MOST_OF_A_CLASS = 600
FEWEST, MOST = 6, 30
"""Heavy atoms of a molecule that is taken."""


def screened(
    seed: int, patterns: Sequence[str], title: str, class_names: tuple[str, str]
) -> GraphSet:
    """As many molecules with one of the groups (class 1) as without (class 0), in random order.

    Args:
        patterns: SMARTS of the groups.
    """
    from rdkit import Chem

    queries = [Chem.MolFromSmarts(pattern) for pattern in patterns]
    generator = np.random.default_rng(seed)
    lines = smiles()
    found: tuple[list[int], list[int]] = ([], [])
    read, refused = {}, 0
    for i in generator.permutation(len(lines)).tolist():
        if min(map(len, found)) >= MOST_OF_A_CLASS:
            break
        mol = molecule(lines[i])
        if mol is None:
            refused += 1
            continue
        label = int(any(mol.HasSubstructMatch(query) for query in queries))
        # Salts fall into several pieces, of which only one is the molecule.
        fits = FEWEST <= mol.GetNumAtoms() <= MOST and "." not in lines[i]
        if fits and len(found[label]) < MOST_OF_A_CLASS:
            found[label].append(i)
            read[i] = mol
    size = min(map(len, found))
    chosen = generator.permutation([*found[0][:size], *found[1][:size]]).tolist()
    mols = [read[i] for i in chosen]
    marks = [motifs(mol, matched(mol, queries)) for mol in mols]
    chosen_smiles = [lines[i] for i in chosen]
    made = featurised(mols)
    labels = np.array([int(atoms.any()) for _, atoms in marks], dtype=np.int32)
    return GraphSet(
        arrays={
            **made.arrays,
            "labels": labels,
            "edge_motifs": np.concatenate([bonds for bonds, _ in marks]),
            "node_motifs": np.concatenate([atoms for _, atoms in marks]),
        },
        title=title,
        task="graph",
        class_names=class_names,
        feature_names=FEATURE_NAMES,
        edge_feature_names=BOND_NAMES,
        node_names=made.symbols,
        graph_names=tuple(chosen_smiles),
        smiles=tuple(chosen_smiles),
        molecules=True,
        origin={"refused": refused},
    )


def smiles() -> list[str]:
    """The SMILES of the collection, in its order."""
    from rdkit import RDConfig

    file = Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi"
    return [line.split()[0] for line in file.read_text(encoding="utf-8").splitlines() if line]
