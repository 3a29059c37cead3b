"""`explain graphs` and `score graphs`: files, the command that repeats them, rows, refusals."""

from __future__ import annotations

import csv
import html
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from backend.graphs.graph_metrics import METRICS
from tests.backend.graphs.made import graph_set

pytestmark = pytest.mark.usefixtures("in_one_store")

MUTAG = ("graphs", "--example", "mutag", "--epochs", "3")
EDGES = "source,target,weight\nAda,Ben,1\nBen,Caro,2\nCaro,Ada,3\nCaro,Dévora,4\n"


def command(folder: Path) -> list[str]:
    """The command on a card, without the program, comments and --out."""
    text = html.unescape((folder / "card.html").read_text(encoding="utf-8"))
    line = re.search(r"python -m backend (explain graphs .*?) --out out", text, re.DOTALL).group(1)
    return shlex.split(line)


def test_explain_writes_files_and_the_card_repeats_it(run, tmp_path):
    found = run("explain", *MUTAG, "--explainer", "saliency,edge_occlusion", "--out", "o",
                "--figure", "png")  # fmt: skip
    assert [row["explainer"] for row in found["results"]] == ["saliency", "edge_occlusion"]
    folder = tmp_path / "o" / "saliency"
    names = {file.name for file in folder.iterdir()}
    assert names == {
        "explanation.json", "arrays.safetensors", "scores.csv", "card.html", "figure.png",
    }  # fmt: skip
    scores = safetensors.numpy.load_file(folder / "arrays.safetensors")["scores"]
    rows = list(csv.DictReader((folder / "scores.csv").open(encoding="utf-8")))
    assert [float(row["score"]) for row in rows] == pytest.approx(scores.tolist())
    best = next(row for row in rows if row["rank"] == "1")
    assert float(best["score"]) == scores.max()
    again = run(*command(folder), "--out", "again")
    assert again["results"][0]["cached"]
    assert again["results"][0]["key"] == found["results"][0]["key"]


def test_scales_are_numbered_from_the_smallest(run, tmp_path):
    run("explain", *MUTAG, "--explainer", "ms_explainer", "--out", "o",
        "--set", "epochs=1", "--set", "restarts=1")  # fmt: skip
    folder = tmp_path / "o" / "ms_explainer"
    key = safetensors.numpy.load_file(folder / "arrays.safetensors")["key"].astype(bool)
    rows = list(csv.DictReader((folder / "scores.csv").open(encoding="utf-8")))
    sizes = [sum(row["scale"] != "" and int(row["scale"]) <= k for row in rows) for k in (1, 2, 3)]
    assert sizes == key.sum(axis=1).tolist()
    assert "key edges" in (folder / "card.html").read_text(encoding="utf-8")


def test_graphs_of_ones_own_by_a_bundled_gnn(run, tmp_path):
    Path("edges.csv").write_text(EDGES, encoding="utf-8")
    found = run("explain", "graphs", "--input", "edges.csv", "--example", "ba_2motifs",
                "--epochs", "1", "--explainer", "saliency", "--out", "o")  # fmt: skip
    folder = tmp_path / "o" / "saliency"
    assert "Dévora" in (folder / "scores.csv").read_text(encoding="utf-8")
    Path("graphs.jsonl").write_bytes((folder / "graphs.jsonl").read_bytes())
    again = run(*command(folder), "--out", "again")
    before = safetensors.numpy.load_file(folder / "arrays.safetensors")
    after = safetensors.numpy.load_file(tmp_path / "again" / "saliency" / "arrays.safetensors")
    assert np.array_equal(before["scores"], after["scores"])
    assert found["results"][0]["explainer"] == again["results"][0]["explainer"]


def test_a_gnn_of_ones_own_and_what_is_wrong_with_it(run, refused, tmp_path):
    graphs = graph_set("gin", feature_names=("a", "b", "c", "d"))
    from backend.graphs import files

    Path("graphs.jsonl").write_bytes(files.graphs_jsonl(graphs))
    Path("w.safetensors").write_bytes(files.weights(graphs))
    own = ("graphs", "--input", "graphs.jsonl", "--weights", "w.safetensors",
           "--architecture", "gin")  # fmt: skip
    run("explain", *own, "--hidden", "8", "--explainer", "saliency", "--graph", "1", "--out", "o")
    folder = tmp_path / "o" / "saliency"
    Path("weights.safetensors").write_bytes((folder / "weights.safetensors").read_bytes())
    Path("graphs.jsonl").write_bytes((folder / "graphs.jsonl").read_bytes())
    again = run(*command(folder), "--out", "again")
    assert again["results"]
    before = safetensors.numpy.load_file(folder / "arrays.safetensors")
    after = safetensors.numpy.load_file(tmp_path / "again" / "saliency" / "arrays.safetensors")
    np.testing.assert_allclose(before["scores"], after["scores"], atol=1e-6)
    said = refused("explain", *own, "--hidden", "16", "--explainer", "saliency", "--out", "o")
    assert "convs.0.nn.0.weight" in said
    said = refused("explain", *own, "--hidden", "8", "--layers", "4", "--explainer", "saliency",
                   "--out", "o")  # fmt: skip
    assert "missing" in said
    assert "convs.3" in said


def test_a_molecule_is_explained(run, tmp_path):
    run("explain", "graphs", "--smiles", "O=[N+]([O-])c1ccccc1", "--example", "nitro_amine",
        "--epochs", "1", "--explainer", "saliency", "--out", "o")  # fmt: skip
    values = json.loads((tmp_path / "o" / "saliency" / "explanation.json").read_text())
    assert values["values"]["molecule"]
    assert values["values"]["node_names"].count("O") == 2


def test_a_molecule_by_a_network_that_came_trained(run, tmp_path):
    Path("two.smi").write_text("O=[N+]([O-])c1ccc2cc3ccccc3cc2c1 nitro\nCCO\n", encoding="utf-8")
    found = run("explain", "graphs", "--input", "two.smi", "--example", "admet_ai", "--endpoint",
                "AMES", "--member", "2", "--explainer", "saliency", "--out", "o")  # fmt: skip
    folder = tmp_path / "o" / "saliency"
    values = json.loads((folder / "explanation.json").read_text())["values"]
    # What chemprop says, see golden/admet_ai.json beside the tests of the networks.
    assert values["probability"] == pytest.approx(0.9750622, abs=1e-6)
    assert (values["graph_name"], values["class_names"][1]) == ("nitro", "mutagenic")
    assert values["molecule"]
    words = command(folder)
    assert words[words.index("--input") + 1] == "molecules.smi"
    Path("molecules.smi").write_bytes((folder / "molecules.smi").read_bytes())
    again = run(*words, "--out", "again")
    before = safetensors.numpy.load_file(folder / "arrays.safetensors")
    after = safetensors.numpy.load_file(tmp_path / "again" / "saliency" / "arrays.safetensors")
    assert np.array_equal(before["scores"], after["scores"])
    assert np.array_equal(before["bonds"], after["bonds"])
    assert found["results"][0]["explainer"] == again["results"][0]["explainer"]


def test_score_has_a_row_a_method_and_a_random_one(run):
    # A consensus is of one graph's explanations: it has no row here.
    names = "edge_occlusion,saliency,consensus"
    found = run("score", *MUTAG, "--explainer", names, "--items", "6")
    rows = {row["explainer"]: row for row in found["scores"]}
    assert set(rows) == {"edge_occlusion", "saliency", "random"}
    ids = {metric.id for metric in METRICS}
    assert all(ids <= set(row) for row in rows.values())
    assert all(row["items"] == 6 for row in rows.values())
    # Deleting the edges whose loss was measured to be largest loses more than chance.
    assert rows["edge_occlusion"]["fidelity_plus"] > rows["random"]["fidelity_plus"]
    low, high = rows["edge_occlusion"]["interval"]["fidelity_plus"]
    assert low <= rows["edge_occlusion"]["fidelity_plus"] <= high


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--example", "nothing"), "no example 'nothing'"),
        ((), "There is no graph"),
        (("--example", "mutag", "--graph", "99999"), "There is no graph 99999"),
        (("--example", "mutag", "--epochs", "0"), "--epochs"),
        (("--input", "missing.csv", "--example", "mutag"), "cannot be read"),
        (("--smiles", "not a molecule", "--example", "benzene"), "no molecule RDKit can read"),
        (("--example", "mutag", "--weights", "w.safetensors"), "--weights"),
        (("--example", "mutag", "--precision", "float16"), "--precision"),
        (("--example", "mutag", "--member", "2"), "--member"),
        (("--example", "admet_ai", "--epochs", "2"), "comes trained"),
        (("--example", "admet_ai", "--architecture", "gin"), "comes trained"),
        (("--example", "admet_ai", "--member", "6"), "--member"),
        (("--example", "admet_ai", "--smiles", "C", "--weights", "w"), "need one network"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(refused, words, said):
    assert said in refused("explain", "graphs", *words, "--explainer", "saliency", "--out", "o")
