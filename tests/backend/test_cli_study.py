"""`study`: the table is that of an uninterrupted one wherever it is killed; files; refusals."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from backend.commands.study import table as table_of
from backend.control import won_by_control
from backend.graphs.graph_metrics import METRICS

ROOT = Path(__file__).parents[2]
FIVE = "saliency,integrated_gradients,edge_occlusion,gnn_explainer,random_edges"
ITEMS, KILLED_AFTER = 12, 6
STUDY = (
    "study", "graphs", "--example", "nitro_amine", "--epochs", "1", "--items", str(ITEMS),
    "--explainer", FIVE, "--set", "gnn_explainer.epochs=5",
)  # fmt: skip
SMALL = ("study", "graphs", "--example", "mutag", "--epochs", "2", "--items", "6")


def start(store: Path, out: Path, folder: Path) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "backend", *STUDY, "--out", str(out), "--json"],
        env={
            **os.environ,
            "VITRINE_STORE": str(store),
            "VITRINE_DEVICE": "cpu",
            "VITRINE_THREADS": "1",
            "PYTHONPATH": str(ROOT),
        },
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


def finish(store: Path, out: Path, folder: Path) -> dict:
    said, complaint = start(store, out, folder).communicate(timeout=400)
    assert said, complaint
    return json.loads(said)


def rows(folder: Path, *without: str) -> list[dict[str, str]]:
    read = csv.DictReader((folder / "inputs.csv").open(encoding="utf-8"))
    return [{k: v for k, v in row.items() if k not in without} for row in read]


@pytest.mark.slow
def test_a_study_killed_half_way_goes_on_and_its_table_is_the_uninterrupted_one(tmp_path):
    killed = start(tmp_path / "one", tmp_path / "out", tmp_path)
    for line in killed.stderr:
        if line.startswith(f"{KILLED_AFTER} of {ITEMS}"):
            break
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "out" / "inputs.csv").exists()
    # Each input by five methods and six scores.
    resumed = finish(tmp_path / "one", tmp_path / "out", tmp_path)
    assert resumed["inputs"] == ITEMS
    assert resumed["stored"] >= (KILLED_AFTER - 1) * 11
    assert resumed["stored"] + resumed["computed"] == ITEMS * 11
    assert resumed["computed"] <= (ITEMS - KILLED_AFTER + 1) * 11
    whole = finish(tmp_path / "other", tmp_path / "whole", tmp_path)
    assert (whole["stored"], whole["computed"]) == (0, ITEMS * 11)
    assert rows(tmp_path / "out", "seconds") == rows(tmp_path / "whole", "seconds")
    again = finish(tmp_path / "one", tmp_path / "again", tmp_path)
    assert (again["computed"], again["stored"]) == (0, ITEMS * 11)
    for name in ("inputs.csv", "means.csv", "study.tex", "study.html"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


@pytest.mark.usefixtures("in_one_store")
def test_every_input_has_its_numbers_and_the_means_are_theirs(run, tmp_path):
    found = run(*SMALL, "--explainer", "saliency,random_edges", "--seeds", "2", "--out", "o")
    table = rows(tmp_path / "o")
    assert [row["method"] for row in table[:3]] == ["saliency", "random_edges", "random"]
    assert len(table) == 6 * 3
    means = found["means"]
    assert {metric.id for metric in METRICS} <= set(means)
    for metric in ("fidelity_plus", "keep_area", "agreement"):
        values = [float(row[metric]) for row in table if row["method"] == "saliency"]
        assert means[metric]["saliency"]["mean"] == pytest.approx(sum(values) / 6)
        assert means[metric]["saliency"]["n"] == 6
    assert means["stability"]["saliency"]["mean"] is None, "it draws nothing"
    assert means["stability"]["random_edges"]["mean"] < 0.9
    metrics = [metric for metric in METRICS if metric.id in means]
    by_method = {
        name: {metric.id: means[metric.id][name]["mean"] for metric in metrics}
        for name in ("saliency", "random_edges", "random")
    }
    won = won_by_control(by_method, {"random_edges", "random"}, metrics)
    assert {k: v for k, v in found["won_by_control"].items() if k != "stability"} == won
    shown = table_of(found)
    for metric in means:
        assert (f"\n{metric}* " in shown) == (metric in found["won_by_control"])
    for name in set(found["won_by_control"].values()):
        assert f"a control ({name}) does as well as the best method" in shown
    # The two methods' agreement with each other is one number.
    assert means["agreement"]["saliency"]["mean"] == means["agreement"]["random_edges"]["mean"]


@pytest.mark.usefixtures("in_one_store")
def test_an_input_has_the_scores_of_its_own_command(run, tmp_path):
    run(*SMALL, "--explainer", "saliency", "--out", "o")
    scored = run("score", *SMALL[1:], "--explainer", "saliency")["scores"]
    means = list(csv.DictReader((tmp_path / "o" / "means.csv").open(encoding="utf-8")))
    by = {(row["metric"], row["method"]): row["mean"] for row in means}
    for metric in METRICS:
        if metric.id.startswith("robust"):
            continue  # They delete random halves, drawn anew for each command.
        known = scored[0][metric.id]
        said = by.get((metric.id, "saliency"), "")
        assert (float(said) if said else None) == pytest.approx(known, abs=1e-6)


@pytest.mark.usefixtures("in_one_store")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--items", "0"), "--items"),
        (("--items", "10001"), "--items"),
        (("--seeds", "0"), "--seeds"),
        (("--explainer", "nothing"), "no explainer 'nothing'"),
        (("--example", "nothing"), "no example 'nothing'"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(refused, words, said):
    assert said in refused(*SMALL, *words, "--out", "o")


@pytest.mark.usefixtures("in_one_store")
def test_samples_of_a_table_are_studied_too(run, refused, tmp_path):
    words = ("study", "concepts", "--example", "xor", "--items", "7", "--out", "o")
    found = run(*words, "--seeds", "2")
    assert found["inputs"] == 7
    means = found["means"]
    assert set(means["comprehensiveness"]) == {
        "linear_contributions", "shapley", "concept_flip", "gradient_x_concept", "random",
    }  # fmt: skip
    table = rows(tmp_path / "o")
    samples = [row["input"] for row in table[::5]]
    assert len(samples) == len(set(samples)) == 7
    one = run("score", "concepts", "--example", "xor", "--sample", samples[0].split()[1],
              "--explainer", "concept_flip")  # fmt: skip
    row = next(row for row in table if row["method"] == "concept_flip")
    assert float(row["deletion_auc"]) == pytest.approx(one["scores"][0]["deletion_auc"])
    assert "explainers of one decision" in refused(*words, "--explainer", "kmeans")
