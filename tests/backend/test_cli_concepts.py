"""`explain concepts` and `score concepts`: files, the command that repeats them, rows, refusals."""

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

from backend.cli import main
from backend.concepts.slice_metrics import METRICS
from tests.backend.concepts import tables
from tests.fake import Drawn

pytestmark = pytest.mark.usefixtures("in_one_store")

SHAPES = ("concepts", "--example", "shapes", "--epochs", "2")


def command_of(folder: str) -> list[str]:
    """The words of the command on a card."""
    card = Path(folder, "card.html").read_text(encoding="utf-8")
    found = re.search(r"<pre>((?:#[^\n]*\n)?python -m backend .*?)</pre>", card, re.DOTALL)
    assert found is not None
    return shlex.split(html.unescape(found[1]), comments=True)[3:]


def fruits(n: int = 80, wrong: int = 30, *, comma: bool = False) -> str:
    """A CSV of n fruits and bricks, some of them predicted wrongly; labels are words."""
    table = tables.small(n)
    predictions = table.arrays["labels"].copy()
    predictions[:wrong] = 1 - predictions[:wrong]
    table.arrays["predictions"] = predictions
    named = tables.columns(table)
    named = {k: v for k, v in named.items() if not k.startswith("logit_class")}
    return tables.csv(named, ";" if comma else ",", comma=comma)


def test_explain_writes_its_files_and_the_second_run_computes_nothing(run) -> None:
    words = ("explain", *SHAPES, "--explainer", "random,kmeans", "--out", "out")
    first, second = (run(*words)["results"] for _ in range(2))
    assert [row["explainer"] for row in first] == ["random", "kmeans"]
    assert [row["cached"] for row in first + second] == [False, False, True, True]
    assert [row["key"] for row in first] == [row["key"] for row in second]
    for row in first:
        folder = Path(row["path"])
        assert {file.name for file in folder.iterdir()} == {
            *("explanation.json", "arrays.safetensors", "scores.csv", "card.html")
        }
        told = json.loads((folder / "explanation.json").read_text())
        assert told["provenance"]["key"] == row["key"]
        arrays = safetensors.numpy.load_file(folder / "arrays.safetensors")
        np.testing.assert_allclose(arrays["memberships"].sum(axis=1), 1, rtol=1e-5)
        with (folder / "scores.csv").open(newline="") as file:
            written = list(csv.DictReader(file))
        assert [int(line["sample"]) for line in written] == arrays["errors"].tolist()
        assert [int(line["slice"]) - 1 for line in written] == arrays["slices"].tolist()
        assert sum(one["size"] for one in told["values"]["slices"]) == len(written) >= 20


def test_the_command_on_the_card_asks_the_same(run) -> None:
    chosen = ("--explainer", "kmeans", "--set", "slices=4", "--seed", "3")
    more = ("--bottleneck", "soft", "--training", "joint", "--train-seed", "2")
    [first] = run("explain", *SHAPES, *chosen, *more, "--out", "first")["results"]
    told = json.loads(Path(first["path"], "explanation.json").read_text())
    request = told["provenance"]["request"]
    assert (request["seed"], request["parameters"]) == (3, {"slices": 4})
    assert request["target"]["recipe"] is None
    words = command_of(first["path"])
    assert {"--training", "joint", "--train-seed", "2"} <= set(words)
    [again] = run(*words)["results"]
    assert (again["key"], again["cached"]) == (first["key"], True)


def test_a_head_trained_on_shuffled_labels_errs_more_and_its_card_says_so(run) -> None:
    asked = ("explain", *SHAPES, "--explainer", "kmeans")
    [plain] = run(*asked, "--out", "plain")["results"]
    [first] = run(*asked, "--labels", "shuffled", "--out", "first")["results"]
    assert first["key"] != plain["key"]
    errors = {
        name: safetensors.numpy.load_file(Path(row["path"], "arrays.safetensors"))["errors"]
        for name, row in (("true", plain), ("shuffled", first))
    }
    assert len(errors["shuffled"]) > 1.5 * len(errors["true"])
    words = command_of(first["path"])
    assert words[words.index("--labels") + 1] == "shuffled"
    [again] = run(*words)["results"]
    assert (again["key"], again["cached"]) == (first["key"], True)
    assert "--labels" not in command_of(plain["path"])


def test_slicings_are_scored_over_seeds(run) -> None:
    found = run("score", *SHAPES, "--explainer", "kmeans,random", "--seeds", "2")
    assert found["seeds"] == [0, 1]
    assert [row["explainer"] for row in found["scores"]] == ["kmeans", "random"]
    for row in found["scores"]:
        for metric in METRICS:
            values = row["by_seed"][metric.id]
            assert len(values) == 2
            assert row[metric.id] == pytest.approx(sum(values) / 2)
            assert row["interval"][metric.id] == pytest.approx(sorted(values))
        assert row["undefined"] == {}
    kmeans, random = found["scores"]
    assert kmeans["mgf"] > random["mgf"]
    assert found["won_by_control"].get("mgf") is None
    assert set(found["won_by_control"].values()) <= {"random"}
    for metric in METRICS:
        ahead = kmeans[metric.id] - random[metric.id]
        ahead *= 1 if metric.higher_is_better else -1
        assert (metric.id in found["won_by_control"]) == (ahead <= 0)
    assert set(found["errors"]) == {"0", "1"}
    groups = [of_seed["groups"] for of_seed in found["errors"].values()]
    assert all(set(each) == {"plain on water", "striped on land"} for each in groups)
    assert groups[0] != groups[1]  # each seed trains a model of its own
    saturated = [said for said in found["remarks"] if "saturated" in said]
    assert bool(saturated) == (max(kmeans["precision_at_10"], random["precision_at_10"]) >= 0.95)
    assert not [said for said in found["remarks"] if "no random row" in said]


def test_scores_for_people(capfd) -> None:
    words = ["score", *SHAPES, "--explainer", "kmeans", "--seeds", "2"]
    assert main(words, Drawn()) == 0
    said = capfd.readouterr().out
    assert "means over seeds 0, 1" in said
    assert re.search(r"kmeans +precision_at_10 \[\d\.\d{3}, \d\.\d{3}\]  precision_at_5", said)
    assert "There is no random row" in said


def test_seeds_past_the_last_one_are_named_as_they_are(run) -> None:
    [first] = run("score", *SHAPES, "--explainer", "random", "--seeds", "1")["scores"]
    last = str(2**32 - 1)
    again = ("--seed", last, "--train-seed", last, "--seeds", "2")
    found = run("score", *SHAPES, "--explainer", "random", *again)
    assert found["seeds"] == [2**32 - 1, 0]
    assert found["scores"][0]["by_seed"]["mgf"][1] == first["mgf"]


def test_attributions_are_scored_beside_a_random_row(run) -> None:
    words = ("--explainer", "linear_contributions,concept_flip", "--sample", "3")
    found = run("score", *SHAPES, *words)
    assert set(found) == {"scores", "won_by_control"}
    # Both rankings take what the head goes by away first.
    assert not {"deletion_auc", "insertion_auc"} & set(found["won_by_control"])
    names = [row["explainer"] for row in found["scores"]]
    assert names == ["linear_contributions", "concept_flip", "random"]
    *ranked, random = found["scores"]
    assert "spread" in random
    assert not any("spread" in row for row in ranked)
    assert len({row["operator"] for row in found["scores"]}) == 1
    assert {"deletion_auc", "insertion_auc"} <= set(random["spread"])
    for name, (low, high) in random["spread"].items():
        assert low <= random[name] <= high


REFUSED = [
    ("explain --example nothing --out out", "no example 'nothing'; there are mnist_sum, shapes"),
    ("explain --example shapes --model x --out out", "takes its model from --example or --input"),
    ("explain --example shapes --precision bfloat16 --out out", "Leave out --model and"),
    ("explain --example xor --labels shuffled --out out", "not trained, so no labels can be"),
    ("explain --example shapes --labels wrong --out out", "--labels: invalid choice: 'wrong'"),
    ("explain --input t.csv --labels shuffled --out out", "Give one with --example."),
    ("explain --out out", "one of the arguments --example --input is required"),
    ("explain --example shapes --input t.csv --out out", "not allowed with"),
    ("explain --example shapes --epochs 0 --out out", "--epochs: Input should be"),
    ("explain --example shapes --column label=x --out out", "Give one with --input."),
    ("explain --input t.csv --epochs 3 --out out", "Give one with --example."),
    ("explain --input t.csv --sample 80 --out out", "--sample: There is no 80."),
    ("explain --input no.csv --out out", "no.csv: The file cannot be read"),
    ("explain --example shapes --explainer no --out out", "There is no explainer 'no'."),
    ("explain --example shapes --epochs 2 --set slices=1 --out out", "slices: Input should be"),
    ("score --example shapes --explainer kmeans,shapley", "scored differently"),
    ("score --example shapes --explainer mcbe", "experts not at all"),
    ("score --example shapes --explainer shapley --seeds 2", "for slicing methods only"),
    ("score --example shapes --seeds 0", "from 1 to 50"),
    ("score --example shapes --seeds 51", "from 1 to 50"),
    ("explain --input few.csv --out out", "Only 19 of 80 samples are predicted wrongly"),
    ("score --input few.csv --explainer random", "Bring more validation samples"),
]


@pytest.mark.parametrize(("line", "said"), REFUSED, ids=[line[:60] for line, _ in REFUSED])
def test_wrong_use_is_one_line_and_status_2(line: str, said: str, refused) -> None:
    Path("t.csv").write_text(fruits())
    Path("few.csv").write_text(fruits(wrong=19))
    command, *words = line.split()
    if "--explainer" not in words and command == "explain":
        words += ["--explainer", "kmeans"]
    assert said in refused(command, "concepts", *words)


def test_a_table_of_ones_own_is_explained_and_goes_along(run, monkeypatch) -> None:
    text = fruits(comma=True)
    assert text.splitlines()[0].startswith("image;label;prediction;group;logit_red")
    Path("fruits.csv").write_text(text, encoding="utf-8")
    chosen = ("--explainer", "kmeans", "--set", "slices=3")
    [row] = run("explain", "concepts", "--input", "fruits.csv", *chosen, "--out", "out")["results"]
    folder = Path(row["path"])
    assert (folder / "table.npz").is_file()
    told = json.loads((folder / "explanation.json").read_text())["values"]
    assert (told["class_names"], told["samples"]) == (["apple", "brick"], 80)
    assert told["concept_names"] == list(tables.NAMES)
    arrays = safetensors.numpy.load_file(folder / "arrays.safetensors")
    assert arrays["errors"].tolist() == list(range(30))
    words = command_of(row["path"])
    assert words[words.index("--input") + 1] == "table.npz"
    monkeypatch.chdir(folder)
    [again] = run(*words)["results"]
    # The key differs, as the table now has another file name and no columns behind it.
    repeated = safetensors.numpy.load_file(Path(again["path"], "arrays.safetensors"))
    for name, array in arrays.items():
        np.testing.assert_array_equal(repeated[name], array)


def test_the_slices_of_ones_own_groups_are_scored(run) -> None:
    Path("fruits.csv").write_text(fruits(), encoding="utf-8")
    chosen = ("--explainer", "kmeans,random", "--seeds", "2")
    found = run("score", "concepts", "--input", "fruits.csv", *chosen)
    assert [row["explainer"] for row in found["scores"]] == ["kmeans", "random"]
    [one, other] = found["errors"].values()
    assert one == other  # the same errors, sliced anew
