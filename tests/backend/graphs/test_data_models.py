"""Carriers become folders and folders become data; examples and presets fit together."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from backend.errors import ModelError
from backend.explanation import ModelRef
from backend.graphs import FAMILY, models
from backend.graphs.examples import EXAMPLES, OWN, example
from backend.graphs.recipes import DEFAULTS
from tests.backend.graphs.carriers import carrier, source

PRESETS = [preset.id for preset in FAMILY.presets]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_folder_holds_config_and_safetensors_and_no_more(preset, tmp_path):
    found = source(preset, tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"config.json", "data.safetensors"}
    config = json.loads((tmp_path / "config.json").read_text())
    assert models.unsupported(config) is None
    assert found.id == config["graphs"] == preset.replace("-", "_")


@pytest.mark.parametrize("preset", [name for name in PRESETS if name not in (OWN, "admet-ai")])
def test_data_are_labelled_items_with_a_known_reason_and_no_gnn(preset, tmp_path):
    graphs = source(preset, tmp_path).data(3)
    a = graphs.arrays
    nodes, edges = int(a["node_counts"].sum()), int(a["edge_counts"].sum())
    items = len(graphs) if graphs.task == "graph" else nodes
    assert a["labels"].shape == (items,)
    assert set(a["labels"].tolist()) == set(range(len(graphs.class_names)))
    assert a["x"].shape == (nodes, len(graphs.feature_names))
    assert a["edges"].shape == (edges, 2)
    assert a["edge_motifs"].shape == (edges,)
    assert a["node_motifs"].shape == (nodes,)
    ends = np.repeat(a["node_counts"], a["edge_counts"])
    assert ((a["edges"] >= 0) & (a["edges"] < ends[:, None])).all()
    assert {a[name].dtype.name for name in ("x", "labels", "edges", "edge_motifs")} == {
        "float32",
        "int32",
    }
    assert graphs.architecture is None
    assert not any(name.startswith("gnn/") for name in a)
    # An edge of a motif has both ends in it.
    first = np.repeat(np.cumsum(a["node_counts"]) - a["node_counts"], a["edge_counts"])
    ends = a["node_motifs"][a["edges"] + first[:, None]]
    inside = a["edge_motifs"] > 0
    assert inside.any()
    if preset != "mutag":  # There the carbon that holds an amine is not of the group.
        assert (ends[inside] == a["edge_motifs"][inside, None]).all()


def test_ones_own_has_nothing_to_train_on(tmp_path):
    assert source(OWN, tmp_path).data(0) is None


def test_data_read_back_are_the_carriers(tmp_path):
    found, known = source("mutag", tmp_path), models.READERS["mutag"](carrier("mutag"))
    assert found.arrays.keys() == known.keys()
    for name, array in known.items():
        np.testing.assert_array_equal(found.arrays[name], array)


def test_the_package_of_mutag_is_not_imported(tmp_path):
    asked = (
        "import sys; from pathlib import Path; from backend.graphs import models; "
        f"models.convert(Path({str(carrier('mutag'))!r}), Path({str(tmp_path)!r})); "
        "print('grakel' in sys.modules, 'torch' in sys.modules, 'rdkit' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"] * 3


def test_other_files_are_refused(tmp_path):
    with pytest.raises(ModelError, match="carries none of ba_2motifs, multi_shapes"):
        models.convert(tmp_path / "weights.csv", tmp_path)
    (tmp_path / "MUTAG_A.txt").write_text("no, numbers")
    with pytest.raises(ModelError, match="cannot be read"):
        models.convert(tmp_path / "MUTAG_A.txt", tmp_path)
    with pytest.raises(ModelError, match="cannot be read"):
        models.convert(tmp_path / "elsewhere" / "MUTAG_A.txt", tmp_path)


def test_other_folders_are_refused(tmp_path):
    ref = ModelRef(name="ba-2motifs")
    with pytest.raises(ModelError, match="holds no readable data set"):
        models.load(tmp_path, ref, "cpu")
    models.convert(carrier("ba-2motifs"), tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(ModelError, match="no data set of the Graphs family"):
        models.load(tmp_path, ref, "cpu")


def test_every_example_has_a_preset_and_every_preset_an_example():
    assert {e.model for e in EXAMPLES} == set(PRESETS) - {OWN}
    assert {e.id for e in EXAMPLES} == {*models.MAKERS, *models.TRAINED}
    assert example("mutag").model == "mutag"
    with pytest.raises(KeyError, match="there are ba_2motifs, multi_shapes"):
        example("cora")


def test_defaults_are_of_known_data_and_architectures():
    for name in DEFAULTS:
        id, _, kind = name.partition("/")
        assert id in models.MAKERS
        assert kind in {"", "gcn", "gin", "gat", "sage"}
