"""`explain policies` and `score policies`: files, the command that repeats them, rows, refusals."""

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

from backend.policies import files
from backend.policies.policy_metrics import METRICS
from tests.backend.policies.worlds import world

pytestmark = pytest.mark.usefixtures("in_one_store")

CARTPOLE = ("policies", "--example", "cartpole", "--transitions", "1500")
SMALL = ("--set", "causal_xrl.bootstraps=2", "--set", "causal_xrl.models=3")


def command(folder: Path) -> list[str]:
    """The command on a card, without the program, comments and --out."""
    text = html.unescape((folder / "card.html").read_text(encoding="utf-8"))
    line = re.search(r"python -m backend (explain policies .*?) --out out", text, re.DOTALL)
    return shlex.split(line.group(1))


def rows_of(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "scores.csv").open(encoding="utf-8")))


def test_explain_writes_files_and_the_card_repeats_it(run, tmp_path):
    found = run("explain", *CARTPOLE, "--explainer", "causal_xrl,policy_shap,tree_surrogate",
                *SMALL, "--out", "o", "--figure", "png")  # fmt: skip
    names = ["causal_xrl", "policy_shap", "tree_surrogate"]
    assert [row["explainer"] for row in found["results"]] == names
    folder = tmp_path / "o" / "causal_xrl"
    assert {file.name for file in folder.iterdir()} == {
        "explanation.json", "arrays.safetensors", "scores.csv", "card.html", "figure.png",
    }  # fmt: skip
    arrays = safetensors.numpy.load_file(folder / "arrays.safetensors")
    assert [float(row["score"]) for row in rows_of(folder)] == pytest.approx(
        arrays["scores"].tolist()
    )
    assert [row["variable"] for row in rows_of(folder)][2] == "pole angle"
    assert [row["unit"] for row in rows_of(folder)] == ["m", "m/s", "rad", "rad/s"]
    best = next(row for row in rows_of(folder) if row["rank"] == "1")
    assert float(best["score"]) == pytest.approx(float(arrays["scores"].max()))
    told = json.loads((folder / "explanation.json").read_text(encoding="utf-8"))
    assert "sentences" in json.dumps(told)
    for name in names:
        again = run(*command(tmp_path / "o" / name), "--out", "again")
        assert again["results"][0]["cached"]
        assert again["results"][0]["key"] == next(
            row["key"] for row in found["results"] if row["explainer"] == name
        )


def test_score_judges_the_methods_the_graph_the_models_and_the_causes(run):
    found = run("score", *CARTPOLE, "--explainer", "causal_xrl,random_variables", *SMALL)
    causal, random, drawn = found["scores"]
    assert [row["explainer"] for row in found["scores"]] == [
        "causal_xrl", "random_variables", "random",
    ]  # fmt: skip
    for row in (causal, random, drawn):
        assert {metric.id for metric in METRICS} <= set(row)
    assert causal["insertion_gap"] > drawn["insertion_gap"]
    assert found["learner"] == "loco"
    assert found["structure"]["recall"] > 0.8
    assert {row["target"] for row in found["effects"]} >= {"cart position", "pole velocity"}
    assert all(row["r2"] > 0.99 for row in found["effects"] if row["r2"] is not None)
    told = found["causes_fidelity"]
    assert told["causes"] > told["always"] + 0.1
    assert 1 <= told["named"] <= 4
    assert "fidelity" in found


def test_terms_of_the_reward_are_written_and_rank_nothing(run, refused, tmp_path):
    lander = ("policies", "--example", "lunarlander", "--transitions", "600")
    run("explain", *lander, "--explainer", "reward_decomposition",
        "--set", "draws=3", "--out", "o")  # fmt: skip
    rows = rows_of(tmp_path / "o" / "reward_decomposition")
    assert [row["term"] for row in rows][-1] == "landed or crashed"
    for row in rows:
        apart = float(row["action"]) - float(row["instead"])
        assert float(row["difference"]) == pytest.approx(apart, abs=1e-3)
    card = (tmp_path / "o" / "reward_decomposition" / "card.html").read_text(encoding="utf-8")
    assert "Until the episode ends" in html.unescape(card)
    said = refused("score", *lander, "--explainer", "reward_decomposition")
    assert "ranks nothing" in said
    said = refused("explain", *CARTPOLE, "--explainer", "reward_decomposition", "--out", "o")
    assert "known of LunarLander and Taxi" in said


def test_a_table_of_ones_own_goes_along_and_is_read_again(run, tmp_path):
    Path("mine.npz").write_bytes(files.experience_npz(world(known=False)))
    run("explain", "policies", "--input", "mine.npz", "--explainer", "causal_xrl", *SMALL,
        "--episode", "2", "--step", "5", "--out", "o")  # fmt: skip
    folder = tmp_path / "o" / "causal_xrl"
    note = html.unescape((folder / "card.html").read_text(encoding="utf-8"))
    assert "a forest fitted to the recorded actions stands in" in note
    assert (folder / "trajectories.npz").exists()
    Path("trajectories.npz").write_bytes((folder / "trajectories.npz").read_bytes())
    run(*command(folder), "--out", "again")
    before = safetensors.numpy.load_file(folder / "arrays.safetensors")
    after = safetensors.numpy.load_file(tmp_path / "again" / "causal_xrl" / "arrays.safetensors")
    for name in ("scores", "graph/present", "rollout/action"):
        assert np.array_equal(before[name], after[name])


def test_a_table_of_one_action_is_scored_without_what_there_is_none_of(run, tmp_path):
    made = world(known=False)
    made.arrays["actions"][:] = 1
    Path("one.npz").write_bytes(files.experience_npz(made))
    found = run("score", "policies", "--input", "one.npz", "--explainer", "causal_xrl", *SMALL)
    assert found["causes_fidelity"] is None
    assert found["structure"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*CARTPOLE, "--episode", "999"), "There is no episode 999"),
        ((*CARTPOLE, "--action", "7"), "There is no action 7"),
        ((*CARTPOLE, "--state", "1,2"), "needs 4"),
        ((*CARTPOLE, "--model", "gpt2"), "takes its environment"),
        (("policies", "--input", "gone.csv"), "gone.csv"),
        (("policies", "--input", "ten.csv"), "too few to learn"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence(refused, words, said):
    lines = [f"0,{step},{step * 0.5},{step % 2}" for step in range(11)]
    Path("ten.csv").write_text("\n".join(["episode,step,x,action", *lines]), encoding="utf-8")
    found = refused("explain", *words, "--explainer", "causal_xrl", *SMALL, "--out", "o")
    assert said in found
