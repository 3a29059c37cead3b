"""A consensus on the command line: beside its members, scored, studied, and refused alone."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
import safetensors.numpy

from backend.bootstrap import interval
from backend.consensus import consensus

pytestmark = pytest.mark.usefixtures("in_one_store")

XOR = ("concepts", "--example", "xor")
NAMED = ("linear_contributions", "concept_flip", "gradient_x_concept", "consensus")
EXPLAINERS = ("--explainer", ",".join(NAMED))


def rows(path):
    return list(csv.DictReader(path.open(encoding="utf-8")))


def test_it_is_written_beside_its_members_and_is_theirs(run, tmp_path):
    members = ["linear_contributions", "concept_flip"]
    named = ["consensus", *members]
    words = ("explain", *XOR, "--sample", "1", "--explainer", ",".join(named), "--out", "o")
    found = run(*words)["results"]
    assert [row["explainer"] for row in found] == named
    assert [row["cached"] for row in found] == [False, True, True], "its members came with it"
    joint, *others = (
        safetensors.numpy.load_file(tmp_path / "o" / row["explainer"] / "arrays.safetensors")
        for row in found
    )
    scores, apart = consensus([one["scores"] for one in others])
    np.testing.assert_array_equal(joint["scores"], scores)
    np.testing.assert_array_equal(joint["disagreement"], apart)
    written = [float(row["score"]) for row in rows(tmp_path / "o" / "consensus" / "scores.csv")]
    assert written == pytest.approx(scores.tolist())
    told = json.loads((tmp_path / "o" / "consensus" / "explanation.json").read_text())
    assert told["values"]["members"] == members
    behind = told["provenance"]["request"]["members"]
    assert [one["explainer"] for one in behind] == members
    again = run(*words)["results"]
    assert [row["key"] for row in again] == [row["key"] for row in found]
    assert all(row["cached"] for row in again)


def test_it_has_a_row_among_the_scores(run):
    found = {row["explainer"]: row for row in run("score", *XOR, *EXPLAINERS)["scores"]}
    assert list(found) == [*NAMED, "random"]
    for metric in ("deletion_auc", "insertion_auc", "comprehensiveness"):
        assert np.isfinite(found["consensus"][metric])


def test_alone_it_is_refused_with_what_to_do(refused):
    said = refused("explain", *XOR, "--explainer", "concept_flip,consensus", "--out", "o")
    assert "A consensus is of other explanations. Choose at least two further explainers" in said


def test_a_study_has_the_agreement_of_each_two_methods(run, tmp_path):
    run("study", *XOR, "--items", "4", *EXPLAINERS, "--out", "o")
    agreed = rows(tmp_path / "o" / "agreement.csv")
    pairs = [(a, b) for i, a in enumerate(NAMED) for b in NAMED[i + 1 :]]
    assert [(row["method"], row["other"]) for row in agreed] == pairs
    assert {row["n"] for row in agreed} == {"4"}
    assert all(float(row["low"]) <= float(row["mean"]) <= float(row["high"]) for row in agreed)
    mean = {pair: float(row["mean"]) for pair, row in zip(pairs, agreed, strict=True)}
    means = [row for row in rows(tmp_path / "o" / "means.csv") if row["metric"] == "agreement"]
    said = {row["method"]: row["mean"] for row in means}
    # Each input has every method, so a mean of means over pairs is the mean over inputs.
    for name in NAMED:
        others = [o for o in NAMED if o not in (name, "consensus")]
        known = np.mean([mean.get((name, o), mean.get((o, name))) for o in others])
        assert float(said[name]) == pytest.approx(known)
    inputs = rows(tmp_path / "o" / "inputs.csv")
    own = [float(row["agreement"]) for row in inputs if row["method"] == "consensus"]
    known = interval(own)
    [row] = [row for row in means if row["method"] == "consensus"]
    assert [float(row[name]) for name in ("mean", "low", "high")] == pytest.approx(
        [known.mean, known.low, known.high]
    )
