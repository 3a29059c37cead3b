"""Molecules as graphs: features, bonds, coordinates, groups; screened sets and their labels."""

from __future__ import annotations

import numpy as np
import pytest
from rdkit import Chem

from backend.graphs import benzene, nitro_amine, screened
from backend.graphs.molecules import (
    BOND_NAMES,
    FEATURE_NAMES,
    features,
    featurised,
    matched,
    molecule,
    motifs,
)
from tests.backend.graphs.planted import equal

SETS = {"benzene": benzene, "nitro_amine": nitro_amine}


@pytest.fixture(scope="module", params=list(SETS))
def screened_set(request):
    return request.param, SETS[request.param].data(0)


def arrays(*smiles):
    return featurised([molecule(s) for s in smiles])


def groups(smiles, *patterns):
    mol = molecule(smiles)
    return motifs(mol, matched(mol, [Chem.MolFromSmarts(p) for p in patterns]))


def test_atoms_bonds_and_names_of_a_molecule():
    found = arrays("CC(=O)C#N")
    assert found.symbols == ("C", "C", "O", "C", "N")
    assert found.arrays["edges"].tolist() == [[0, 1], [1, 2], [1, 3], [3, 4]]
    bonds = [BOND_NAMES[i] for i in found.arrays["edge_attr"].argmax(axis=1)]
    assert bonds == ["single", "double", "single", "triple"]
    named = [{FEATURE_NAMES[i] for i in np.flatnonzero(row)} for row in found.arrays["x"]]
    assert named == [
        {"element C", "1 neighbours"},
        {"element C", "3 neighbours"},
        {"element O", "1 neighbours"},
        {"element C", "2 neighbours"},
        {"element N", "1 neighbours"},
    ]


def test_aromatic_bonds_keep_their_type_and_other_elements_have_a_place():
    found = arrays("c1ccccc1[Si](C)(C)C", "[Na+].[Cl-]", "FS(F)(F)(F)(F)F")
    bonds = found.arrays["edge_attr"].argmax(axis=1)
    assert np.bincount(bonds).tolist() == [10, 0, 0, 6]
    assert (found.arrays["edges"][bonds == BOND_NAMES.index("aromatic")] < 6).all()
    other = FEATURE_NAMES.index("other element")
    assert np.flatnonzero(found.arrays["x"][:, other]).tolist() == [6, 10]
    assert found.arrays["node_counts"].tolist() == [10, 2, 7]
    assert found.arrays["edge_counts"].tolist() == [10, 0, 6]
    # Six neighbours count as the most there is a feature for.
    assert found.arrays["x"][13, FEATURE_NAMES.index("4 neighbours")] == 1


def test_ring_and_chain_atoms_of_equal_neighbours_have_equal_features():
    """Nothing about rings or aromaticity is given away."""
    ring, chain = arrays("c1ccccc1"), arrays("C1CCCCC1")
    np.testing.assert_array_equal(ring.arrays["x"], chain.arrays["x"])
    assert not any("aromatic" in name or "ring" in name for name in FEATURE_NAMES)


def test_features_of_symbols_are_those_of_the_molecule():
    found = arrays("O=[N+]([O-])c1ccccc1Br")
    np.testing.assert_array_equal(found.arrays["x"], features(found.symbols, found.arrays["edges"]))
    assert features(["C"], np.zeros((0, 2), dtype=int))[0, FEATURE_NAMES.index("0 neighbours")] == 1


def test_coordinates_are_rdkits_and_of_bond_length():
    found = arrays("CCc1ccccc1O")
    at, edges = found.arrays["positions"], found.arrays["edges"]
    lengths = np.linalg.norm(at[edges[:, 0]] - at[edges[:, 1]], axis=1)
    np.testing.assert_allclose(lengths, 1.5, atol=0.05)


def test_text_that_is_no_molecule_is_none():
    assert molecule("C1CC") is None
    assert molecule("c1cccc1") is None


def test_groups_that_share_atoms_are_one_motif():
    of_bond, of_atom = groups("c1ccc2ccccc2c1", "c1ccccc1")  # naphthalene
    assert of_atom.tolist() == [1] * 10
    assert of_bond.tolist() == [1] * 11
    of_bond, of_atom = groups("c1ccccc1CCc1ccccc1", "c1ccccc1")
    assert sorted(np.bincount(of_atom).tolist()) == [2, 6, 6]
    assert np.bincount(of_bond).tolist() == [3, 6, 6]


def test_a_bond_between_two_groups_belongs_to_neither():
    of_bond, of_atom = groups("c1ccccc1-c1ccccc1", "c1ccccc1")
    mol = molecule("c1ccccc1-c1ccccc1")
    (joint,) = np.flatnonzero(of_bond == 0)
    assert not mol.GetBondWithIdx(int(joint)).GetIsAromatic()
    assert sorted(np.bincount(of_atom).tolist()) == [0, 6, 6]


@pytest.mark.parametrize(
    ("smiles", "bonds"),
    [
        ("O=[N+]([O-])c1ccccc1", 2),  # nitro: its two N-O
        ("O=N(=O)c1ccccc1", 2),  # written without charges
        ("Nc1ccccc1", 1),  # aniline: its C-N
        ("Nc1ccc([N+](=O)[O-])cc1", 3),
        ("NCc1ccccc1", 0),  # an amine, but on no ring
        ("CNc1ccccc1", 0),  # a secondary one
        ("O=Nc1ccccc1", 0),  # nitroso
        ("CCON=O", 0),
    ],
)
def test_nitro_and_amine_groups(smiles, bonds):
    of_bond, _ = groups(smiles, *nitro_amine.PATTERNS)
    assert (of_bond > 0).sum() == bonds


@pytest.mark.parametrize(
    ("smiles", "rings"),
    [("Cc1ccccc1", 1), ("C1CCCCC1", 0), ("c1ccncc1", 0), ("c1ccsc1", 0), ("C1=CCC=CC1", 0)],
)
def test_benzene_rings(smiles, rings):
    of_bond, _ = groups(smiles, *benzene.PATTERNS)
    assert (of_bond > 0).sum() == 6 * rings


def test_a_screened_set_is_balanced_whole_and_labelled_by_its_groups(screened_set):
    name, graphs = screened_set
    queries = [Chem.MolFromSmarts(p) for p in SETS[name].PATTERNS]
    labels = graphs.arrays["labels"]
    counts = np.bincount(labels)
    assert counts[0] == counts[1] >= 150
    sizes = graphs.arrays["node_counts"]
    assert sizes.min() >= screened.FEWEST
    assert sizes.max() <= screened.MOST
    assert len(set(graphs.graph_names)) > 0.9 * len(graphs)
    assert graphs.feature_names == FEATURE_NAMES
    assert graphs.molecules
    for number in range(0, len(graphs), 7):
        mol = Chem.MolFromSmiles(graphs.graph_names[number])
        assert mol.GetNumAtoms() == sizes[number]
        assert labels[number] == any(mol.HasSubstructMatch(query) for query in queries)
        assert (graphs.graph(number).arrays["edge_motifs"] > 0).any() == bool(labels[number])


def test_elements_alone_do_not_tell_the_label(screened_set):
    """No single feature, counted over the molecule, tells the classes apart."""
    _, graphs = screened_set
    owner = np.repeat(np.arange(len(graphs)), graphs.arrays["node_counts"])
    counted = np.zeros((len(graphs), len(FEATURE_NAMES)))
    np.add.at(counted, owner, graphs.arrays["x"])
    labels = graphs.arrays["labels"] == 1
    best = 0.0
    for column in counted.T:
        for cut in np.unique(column):
            right = float(((column > cut) == labels).mean())
            best = max(best, right, 1 - right)
    assert best < 0.9


def test_refused_texts_are_counted(screened_set, monkeypatch):
    name, _ = screened_set
    lines = screened.smiles()
    monkeypatch.setattr(screened, "smiles", lambda: ["C1CC", "c1cccc1", *lines[:400]])
    monkeypatch.setattr(screened, "MOST_OF_A_CLASS", 400)
    plain = sum(Chem.MolFromSmiles(s) is None for s in lines[:400])
    assert SETS[name].data(0).origin["refused"] == 2 + plain


def test_a_seed_decides_the_choice(screened_set):
    name, graphs = screened_set
    assert equal(graphs, SETS[name].data(0))
    assert not equal(graphs, SETS[name].data(1))
