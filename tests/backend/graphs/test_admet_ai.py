"""ADMET-AI's networks answer as chemprop's own code does, and nothing in their files is run.

`golden/admet_ai.json` holds what chemprop 2.3.1 made of twelve molecules with the checkpoints of
admet-ai 2.0.1 (torch 2.13.0, RDKit 2026.9.1): `atoms`, `bonds` and `edges` of its
`SimpleMoleculeMolGraphFeaturizer`; `probabilities` [member, molecule, endpoint] of its `MPNN`;
`ames_without_bond`, the first member's probability of AMES for 2-nitroanthracene's graph without
each of its bonds; and `ames_gradient_x_input` of that molecule's atoms, of the probability.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from backend.errors import InputError, ModelError
from backend.explanation import ModelRef
from backend.graphs import FAMILY, admet_ai, chemprop_features, inputs, models
from backend.graphs import batch as batches
from backend.graphs.adopt import adopted
from backend.graphs.classifier import Classifier, probabilities
from backend.graphs.explanation import GraphTarget, Pretrained, Recipe
from backend.graphs.molecules import BOND_NAMES, molecule
from backend.graphs.part import Part
from backend.graphs.plan import set_of
from backend.graphs.train_gnn import TrainGnn
from backend.models import fetch
from backend.settings import Settings
from tests.backend.graphs.carriers import carrier, source
from tests.backend.graphs.made import graph_set
from tests.fake import FakeRun

GOLDEN = json.loads((Path(__file__).parent / "golden" / "admet_ai.json").read_text())
SMILES = GOLDEN["smiles"]
AMES = GOLDEN["endpoints"].index("AMES")
NITROANTHRACENE = 2


@functools.cache
def arrays():
    return admet_ai.read(carrier("admet-ai"))


@functools.cache
def bundled(endpoint="AMES", member=1):
    return admet_ai.data(arrays(), Pretrained(endpoint=endpoint, member=member))


def own(endpoint="AMES", member=1, smiles=SMILES):
    """Molecules of one's own with the network."""
    text = "\n".join([*smiles, "C last"]).encode()
    return adopted(inputs.read("m.smi", text, Settings()), bundled(endpoint, member))


def test_atoms_and_bonds_are_described_as_chemprop_does():
    for smiles, atoms, bonds in zip(SMILES, GOLDEN["atoms"], GOLDEN["bonds"], strict=True):
        mol = molecule(smiles)
        np.testing.assert_allclose(chemprop_features.atoms(mol), atoms, atol=1e-6)
        found = chemprop_features.bonds(mol)
        assert found.shape == (len(bonds), len(chemprop_features.bond_names()))
        np.testing.assert_array_equal(found.ravel(), np.array(bonds).ravel())
    assert len(chemprop_features.atom_names()) == len(GOLDEN["atoms"][0][0])
    # The marks of the kind of a bond stand where the drawing looks for them.
    aspirin = chemprop_features.bonds(molecule(SMILES[0]))
    columns = [chemprop_features.bond_names().index(name) for name in BOND_NAMES]
    assert aspirin[:, columns].sum(axis=0).tolist() == [5, 2, 0, 6]


@pytest.mark.parametrize("member", range(1, 6))
def test_every_answer_of_every_member_is_chemprops(member):
    graphs = own(member=member)
    hidden = Classifier.of(graphs).output(batches.whole(graphs, range(len(SMILES)))).readout
    logits = hidden.numpy() @ arrays()[f"{member}/out.weight"].T + arrays()[f"{member}/out.bias"]
    np.testing.assert_allclose(
        1 / (1 + np.exp(-logits)), GOLDEN["probabilities"][member - 1], atol=1e-6
    )


@pytest.mark.parametrize(("endpoint", "member"), [("AMES", 1), ("hERG", 5), ("BBB_Martins", 3)])
def test_the_asked_answer_is_that_endpoints_of_that_member(endpoint, member):
    graphs = own(endpoint, member)
    said = probabilities(Classifier.of(graphs).whole(graphs, range(len(SMILES))))[:, 1]
    wanted = np.array(GOLDEN["probabilities"])[member - 1, :, GOLDEN["endpoints"].index(endpoint)]
    np.testing.assert_allclose(said, wanted, atol=1e-6)


def test_deleting_a_bond_is_what_chemprop_makes_of_the_graph_without_it():
    graphs = own()
    part = Part.of(graphs, GraphTarget(graph=NITROANTHRACENE))
    assert part.edges.tolist() == GOLDEN["edges"][NITROANTHRACENE]
    keep = ~np.eye(len(part), dtype=bool)
    classifier = Classifier.of(graphs)
    said = probabilities(classifier.cut(part, keep))[:, 1]
    np.testing.assert_allclose(said, GOLDEN["ames_without_bond"], atol=1e-6)
    # Nothing in a D-MPNN divides by degrees: an edge that carries nothing is a deleted one.
    weights = torch.from_numpy(keep.astype(np.float32)).reshape(-1)
    masked = classifier.logits(batches.copies(part, len(part)), weights)
    np.testing.assert_allclose(probabilities(masked.numpy())[:, 1], said, atol=1e-6)


def test_gradients_are_chemprops():
    graphs = own()
    one = batches.parts([Part.of(graphs, GraphTarget(graph=NITROANTHRACENE))])
    x = one.x.clone().requires_grad_(True)
    logits = Classifier.of(graphs).logits(dataclasses.replace(one, x=x))
    [slope] = torch.autograd.grad(logits.softmax(dim=1)[0, 1], x)
    found = (slope * x).sum(dim=1).detach().numpy()
    np.testing.assert_allclose(found, GOLDEN["ames_gradient_x_input"], atol=1e-6)
    # The nitrogen of the group that makes it mutagenic has the largest.
    assert graphs.graph(NITROANTHRACENE).node_names[found.argmax()] == "N"


def test_a_bundled_set_holds_molecules_a_network_and_no_true_classes():
    graphs = bundled()
    assert graphs.architecture.kind == "dmpnn"
    assert (graphs.architecture.features, graphs.architecture.edge_features) == (72, 14)
    assert "labels" not in graphs.arrays
    assert graphs.class_names == ("not mutagenic", "mutagenic")
    assert len(graphs.feature_names) == graphs.arrays["x"].shape[1]
    assert len(graphs.edge_feature_names) == graphs.arrays["edge_attr"].shape[1]
    assert "edge_motifs" not in bundled("hERG").arrays
    assert type(graphs).from_bytes(graphs.to_bytes()).digest() == graphs.digest()


def test_a_group_is_the_known_reason_only_where_the_network_says_mutagenic(tmp_path):
    model = source("admet-ai", tmp_path)
    target = GraphTarget(recipe=Pretrained(member=2))
    graphs = set_of(TrainGnn().explain(model, None, target, None, FakeRun()))
    assert graphs.origin["recipe"] == {"endpoint": "AMES", "member": 2}
    np.testing.assert_allclose(
        graphs.arrays["logits"], Classifier.of(graphs).whole(graphs, range(len(graphs))), atol=1e-5
    )
    owner = np.repeat(np.arange(len(graphs)), graphs.arrays["edge_counts"])
    marked = np.zeros(len(graphs), dtype=bool)
    marked[owner[graphs.arrays["edge_motifs"] > 0]] = True
    said = graphs.arrays["logits"].argmax(axis=1) == 1
    before = bundled(member=2).arrays["edge_motifs"] > 0
    group = np.zeros(len(graphs), dtype=bool)
    group[owner[before]] = True
    assert (marked == (group & said)).all()
    # What the groups are known for, the network has learned.
    assert said[group].mean() > 0.6 > 0.3 > said[~group].mean()


def test_recipes_go_with_what_can_be_trained_and_what_is(tmp_path):
    model = source("admet-ai", tmp_path)
    with pytest.raises(InputError, match="no labelled graphs here to train on"):
        TrainGnn().explain(model, None, GraphTarget(recipe=Recipe()), None, FakeRun())
    other = models.Source("mutag", {})
    with pytest.raises(InputError, match="No trained network comes with this entry"):
        TrainGnn().explain(other, None, GraphTarget(recipe=Pretrained()), None, FakeRun())


def test_graphs_that_are_no_molecules_are_refused():
    with pytest.raises(InputError, match="reads molecules") as refused:
        adopted(dataclasses.replace(graph_set(), architecture=None), bundled())
    assert "SMILES" in refused.value.todo


def test_the_packages_are_not_imported(tmp_path):
    asked = (
        "import sys; from pathlib import Path; from backend.graphs import models; "
        f"models.convert(Path({str(carrier('admet-ai'))!r}), Path({str(tmp_path)!r})); "
        "print(*(name in sys.modules for name in ('admet_ai', 'chemprop', 'lightning')))"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"] * 3


class Harm:
    """Makes a file where it is unpickled."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return Path.touch, (self.file,)


def copied(folder):
    """The five checkpoints in a folder of their own; returns the first."""
    first = carrier("admet-ai")
    for member in range(5):
        shutil.copy(first.with_name(f"model_{member}.pt"), folder)
    return folder / first.name


def test_nothing_in_a_checkpoint_is_run(tmp_path):
    first, trace = copied(tmp_path), tmp_path / "trace"
    torch.save({"state_dict": {}, "hyper_parameters": Harm(trace)}, first)
    torch.load(first, weights_only=False)  # noqa: TID251  to see that it would do harm
    assert trace.exists()
    trace.unlink()
    with pytest.raises(ModelError, match="no checkpoint of chemprop"):
        models.convert(first, tmp_path)
    assert not trace.exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "cannot be read"),
        (b"PK\x03\x04 no archive", "cannot be read"),
        (b"\x80\x04}\x94.", "cannot be read"),
    ],
)
def test_broken_checkpoints_are_refused(tmp_path, content, said):
    first = copied(tmp_path)
    (tmp_path / "model_3.pt").write_bytes(content)
    with pytest.raises(ModelError, match=said):
        models.convert(first, tmp_path)


def test_a_missing_checkpoint_is_named(tmp_path):
    first = copied(tmp_path)
    (tmp_path / "model_4.pt").unlink()
    with pytest.raises(ModelError, match="model_4"):
        models.convert(first, tmp_path)


def test_the_networks_of_measured_quantities_are_not_taken_for_these(tmp_path):
    first = copied(tmp_path)
    other = carrier("admet-ai").parents[1] / "admet_regression" / "model_0.pt"
    assert zipfile.is_zipfile(other)
    shutil.copy(other, first)
    with pytest.raises(ModelError, match="not one of ADMET-AI 2's classifying networks"):
        models.convert(first, tmp_path)


def test_without_the_package_it_is_said_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ModelError, match=r"pip install --no-deps admet-ai==2\.0\.1"):
        fetch(ModelRef(name="admet-ai"), FAMILY, Settings(store=tmp_path), lambda *_: None)
