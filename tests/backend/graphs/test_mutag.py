"""MUTAG: the published counts, groups found by atoms and bonds, drawings, and order by seed."""

from __future__ import annotations

import numpy as np
import pytest
from rdkit import Chem

from backend.graphs import mutag
from backend.graphs.molecules import BOND_NAMES
from tests.backend.graphs.carriers import carrier
from tests.backend.graphs.planted import equal

BOND_TYPES = dict(
    zip(
        BOND_NAMES,
        (
            Chem.BondType.SINGLE,
            Chem.BondType.DOUBLE,
            Chem.BondType.TRIPLE,
            Chem.BondType.AROMATIC,
        ),
        strict=True,
    )
)


@pytest.fixture(scope="module")
def arrays():
    return mutag.read(carrier("mutag"))


@pytest.fixture(scope="module")
def graphs(arrays):
    return mutag.data(arrays, 0)


def molecule(graphs, number):
    """A graph with its elements and bonds as RDKit's, nothing checked or completed."""
    one = graphs.graph(number)
    found = Chem.RWMol()
    for symbol in one.node_names:
        found.AddAtom(Chem.Atom(symbol))
    for (u, v), bond in zip(
        one.edges.tolist(), one.arrays["edge_attr"].argmax(axis=1), strict=True
    ):
        found.AddBond(u, v, BOND_TYPES[BOND_NAMES[bond]])
    found.UpdatePropertyCache(strict=False)
    return found


def marked(graphs, number):
    one = graphs.graph(number)
    return {frozenset(edge) for edge in one.edges[one.arrays["edge_motifs"] > 0].tolist()}


def test_counts_are_the_published_ones(arrays, graphs):
    assert len(graphs) == 188
    assert int(arrays["node_counts"].sum()) == 3371
    assert int(arrays["edge_counts"].sum()) == 3721
    assert np.bincount(arrays["labels"]).tolist() == [63, 125]
    assert graphs.class_names[1] == "mutagenic"
    assert graphs.feature_names[0] == "element C"
    assert (graphs.arrays["x"].sum(axis=1) == 1).all()
    assert (graphs.arrays["edge_attr"].sum(axis=1) == 1).all()


def test_the_first_compound_is_as_the_file_has_it(arrays):
    """Read by hand off the text: 17 atoms, C but for N, O, O at the end, 19 bonds."""
    assert arrays["node_counts"][0] == 17
    assert arrays["atoms"][:17].tolist() == [0] * 14 + [1, 2, 2]
    assert arrays["edge_counts"][0] == 19
    bonds = arrays["bonds"][:19].tolist()
    kinds = {frozenset(e): b for e, b in zip(arrays["edges"][:19].tolist(), bonds, strict=True)}
    assert kinds[frozenset((12, 14))] == 1  # C-N
    # Of the nitro group one bond is written double, the other single.
    assert sorted((kinds[frozenset((14, 15))], kinds[frozenset((14, 16))])) == [1, 2]
    assert bonds.count(0) == 16


def test_groups_are_those_rdkit_finds(graphs):
    """RDKit's substructure search on elements and connections is asked for the same groups."""
    nitro = Chem.MolFromSmarts("[#7](~[#8;D1])~[#8;D1]")
    amine = Chem.MolFromSmarts("[#7;D1]-[#6]")
    seen = 0
    for number in range(len(graphs)):
        mol = molecule(graphs, number)
        pairs = [(m[0], o) for m in mol.GetSubstructMatches(nitro) for o in m[1:]]
        pairs += list(mol.GetSubstructMatches(amine))
        known = {frozenset(pair) for pair in pairs}
        assert marked(graphs, number) == known
        seen += len(known)
    assert seen > 400


def test_a_group_is_one_motif(graphs):
    for number in range(len(graphs)):
        one = graphs.graph(number)
        atoms = np.array(one.node_names)
        for motif in range(1, 1 + int(one.arrays["node_motifs"].max())):
            held = sorted(atoms[one.arrays["node_motifs"] == motif])
            assert held in (["N", "O", "O"], ["N"])
            assert (one.arrays["edge_motifs"] == motif).sum() == (2 if len(held) == 3 else 1)


def test_atoms_are_drawn_apart(graphs):
    for number in range(0, 188, 11):
        at = graphs.graph(number).arrays["positions"]
        apart = np.linalg.norm(at[:, None] - at[None], axis=2) + 10 * np.eye(len(at))
        assert np.isfinite(at).all()
        assert apart.min() > 0.3


def test_a_seed_orders_the_graphs_and_changes_none(arrays, graphs):
    other = mutag.data(arrays, 1)
    assert equal(graphs, mutag.data(arrays, 0))
    assert graphs.graph_names != other.graph_names
    assert sorted(graphs.graph_names) == sorted(other.graph_names)
    at = other.graph_names.index(graphs.graph_names[5])
    for name, array in graphs.graph(5).arrays.items():
        np.testing.assert_array_equal(array, other.graph(at).arrays[name])
    assert graphs.arrays["labels"][5] == other.arrays["labels"][at]


def test_a_missing_file_is_an_os_error(tmp_path):
    (tmp_path / "MUTAG_A.txt").write_text("1, 2\n2, 1\n")
    with pytest.raises(OSError, match="edge_labels"):
        mutag.read(tmp_path / "MUTAG_A.txt")
