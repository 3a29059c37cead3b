"""MUTAG: 188 nitro compounds, mutagenic in Salmonella typhimurium or not.

Debnath et al., "Structure-activity relationship of mutagenic aromatic and heteroaromatic nitro
compounds", J. Med. Chem. 34 (1991). Read from the files of the package grakel, in the format of the
TU Dortmund collection; the package itself is not imported. The groups NO2 and NH2 count as known
reason, as in Luo et al. (PGExplainer, 2020).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from backend.bundle import Arrays
from backend.graphs.explanation import GraphSet
from backend.graphs.molecules import BOND_NAMES

SYMBOLS = ("C", "N", "O", "F", "I", "Cl", "Br")
BONDS = ("aromatic", "single", "double", "triple")
"""What the numbers of the label files mean, by the collection's read-me."""
CARBON, NITROGEN, OXYGEN = 0, 1, 2
SINGLE = 1


def read(carrier: Path) -> Arrays:
    """The files beside the carrier `MUTAG_A.txt`: edges once, node and bond kinds, labels.

    Raises:
        OSError: a file is missing.
        ValueError: a file does not hold numbers.
    """

    def numbers(name: str) -> np.ndarray:
        return np.loadtxt(carrier.with_name(f"MUTAG_{name}.txt"), delimiter=",", dtype=np.int64)

    both, kinds = numbers("A") - 1, numbers("edge_labels")
    owner = numbers("graph_indicator") - 1
    once = both[:, 0] < both[:, 1]
    edges = both[once]
    order = np.argsort(owner[edges[:, 0]], kind="stable")
    edges, kinds = edges[order], kinds[once][order]
    counts = np.bincount(owner)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    return {
        "node_counts": counts.astype(np.int32),
        "edge_counts": np.bincount(owner[edges[:, 0]], minlength=len(counts)).astype(np.int32),
        "edges": (edges - first[owner[edges[:, 0]], None]).astype(np.int32),
        "atoms": numbers("node_labels").astype(np.int32),
        "bonds": kinds.astype(np.int32),
        "labels": (numbers("graph_labels") > 0).astype(np.int32),
    }


def data(arrays: Arrays, seed: int) -> GraphSet:
    """The 188 graphs in random order."""
    graphs = _pieces(arrays)
    order = np.random.default_rng(seed).permutation(len(graphs)).tolist()
    pieces = [graphs[i] for i in order]
    marks = [_groups(*piece) for piece in pieces]
    every = np.concatenate([atoms for atoms, _, _ in pieces])
    bonds = np.concatenate([kinds for _, _, kinds in pieces])
    attributes = np.zeros((len(bonds), 4), dtype=np.float32)
    columns = np.array([BOND_NAMES.index(name) for name in BONDS])
    attributes[np.arange(len(bonds)), columns[bonds]] = 1.0
    return GraphSet(
        arrays={
            "node_counts": arrays["node_counts"][order],
            "edge_counts": arrays["edge_counts"][order],
            "edges": np.concatenate([edges for _, edges, _ in pieces]),
            "x": np.eye(len(SYMBOLS), dtype=np.float32)[every],
            "edge_attr": attributes,
            "labels": arrays["labels"][order],
            "edge_motifs": np.concatenate([mark for mark, _ in marks]),
            "node_motifs": np.concatenate([mark for _, mark in marks]),
            "positions": np.concatenate([_drawn(a, e) for a, e, _ in pieces]),
        },
        title="MUTAG",
        task="graph",
        class_names=("not mutagenic", "mutagenic"),
        feature_names=tuple(f"element {symbol}" for symbol in SYMBOLS),
        edge_feature_names=BOND_NAMES,
        node_names=tuple(SYMBOLS[a] for a in every.tolist()),
        graph_names=tuple(f"compound {i + 1}" for i in order),
        molecules=True,
    )


def _pieces(arrays: Arrays) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Atoms, edges and bonds of each graph."""
    nodes = np.cumsum(arrays["node_counts"])[:-1]
    edges = np.cumsum(arrays["edge_counts"])[:-1]
    return list(
        zip(
            np.split(arrays["atoms"], nodes),
            np.split(arrays["edges"], edges),
            np.split(arrays["bonds"], edges),
            strict=True,
        )
    )


def _groups(
    atoms: np.ndarray, edges: np.ndarray, kinds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Motif of each edge and node: NO2 is N with two O at the end, NH2 an N at the end of C.

    NH2 hangs on a single bond; N at the end of a triple one is a nitrile.
    """
    of_edge = np.zeros(len(edges), dtype=np.int32)
    of_node = np.zeros(len(atoms), dtype=np.int32)
    degree = np.bincount(edges.reshape(-1), minlength=len(atoms))
    number = 0
    for n in np.flatnonzero(atoms == NITROGEN):
        at = np.flatnonzero((edges == n).any(axis=1))
        others = edges[at].sum(axis=1) - n
        ends = (atoms[others] == OXYGEN) & (degree[others] == 1)
        if ends.sum() == 2:
            held = ends
        elif degree[n] == 1 and atoms[others[0]] == CARBON and kinds[at[0]] == SINGLE:
            held = np.ones(1, dtype=bool)
        else:
            continue
        number += 1
        of_edge[at[held]] = number
        of_node[n] = number
        if ends.sum() == 2:
            of_node[others[held]] = number
    return of_edge, of_node


def _drawn(atoms: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """[atoms, 2] float32, RDKit's coordinates of a molecule with these bonds."""
    from rdkit import Chem
    from rdkit.Chem import rdDepictor

    mol = Chem.RWMol()
    for atom in atoms.tolist():
        mol.AddAtom(Chem.Atom(SYMBOLS[atom]))
    for u, v in edges.tolist():
        # All bonds single: a drawing needs no valences, and charges are not in the files.
        mol.AddBond(u, v, Chem.BondType.SINGLE)
    mol.UpdatePropertyCache(strict=False)
    Chem.FastFindRings(mol)
    rdDepictor.Compute2DCoords(mol)
    return np.asarray(mol.GetConformer().GetPositions()[:, :2], dtype=np.float32)
