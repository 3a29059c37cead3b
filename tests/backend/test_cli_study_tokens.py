"""`study tokens`: means are those of its rows, files lead back, a second run finds all there."""

from __future__ import annotations

import csv
import html
import json
import re
import shlex
from pathlib import Path

import pytest

from backend.settings import settings
from backend.tokens.metrics import METRICS
from tests.tiny import write

pytestmark = pytest.mark.usefixtures("in_one_store")

THREE = ("gradient_x_input", "attention_rollout", "leave_one_out")
NAMES = (*THREE, "consensus")
CHOSEN = ("--max-new-tokens", "2", "--set", "gradient_x_input.reading=norm", "--seed", "5")
ENTRIES = [
    {"prompt": "The code for the vault is 7481. The code is", "gold": ["7481"], "answer": " 7481"},
    "The capital of France is",
    {"prompt": "What is two plus three?", "system": "You are a helpful assistant.", "chat": True},
    "The river runs by the old mill",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return write(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def study(model):
    """The words of a study of a file of prompts."""
    Path("mine.json").write_text(json.dumps(ENTRIES), encoding="utf-8")
    words = ("study", "tokens", "--model", str(model), "--prompts", "mine.json", "--items", "3")
    return (*words, "--explainer", ",".join(NAMES), *CHOSEN)


def read(path: str) -> list[dict[str, str]]:
    return list(csv.DictReader(Path(path).open(encoding="utf-8")))


def test_means_are_those_of_the_prompts_and_a_second_run_computes_nothing(run, study) -> None:
    found = run(*study, "--out", "o")
    assert found["inputs"] == 3
    # Three prompts, each by four methods, with a score for these and for random rankings.
    assert found["computed"] + found["stored"] == 3 * (4 + 5)
    rows, means = read("o/inputs.csv"), found["means"]
    assert [row["method"] for row in rows] == [*NAMES, "random"] * 3
    assert [row["input"][:3] for row in rows[::5]] == ["1: ", "2: ", "3: "]
    assert set(means["comprehensiveness"]) == {*NAMES, "random"}
    for metric in METRICS:
        for method, cell in means.get(metric.id, {}).items():
            values = [float(r[metric.id]) for r in rows if r["method"] == method and r[metric.id]]
            assert cell["n"] == len(values)
            assert cell["mean"] == pytest.approx(sum(values) / len(values))
    assert means["recovery"]["consensus"]["n"] == 1, "one prompt marks its evidence"
    assert means["comprehensiveness"]["consensus"]["n"] == 3
    # A consensus takes as long as what it is of.
    for case in range(3):
        seconds = [float(row["seconds"]) for row in rows[5 * case : 5 * case + 4]]
        assert seconds[3] > sum(seconds[:3])
    again = run(*study, "--out", "again")
    assert (again["computed"], again["stored"]) == (0, 3 * (4 + 5))
    names = ("inputs.csv", "means.csv", "agreement.csv", "study.tex", "study.html", "prompts.jsonl")
    assert [Path(name).name for name in found["files"]] == list(names)
    for name in names:
        assert Path("o", name).read_bytes() == Path("again", name).read_bytes()


def test_agreement_of_two_methods_is_a_row_and_a_methods_own_is_the_mean_of_its_rows(
    run, study
) -> None:
    means = run(*study, "--out", "o")["means"]["agreement"]
    rows = read("o/agreement.csv")
    pairs = {(row["method"], row["other"]): float(row["mean"]) for row in rows}
    assert list(pairs) == [(a, b) for i, a in enumerate(NAMES) for b in NAMES[i + 1 :]]
    assert {row["n"] for row in rows} == {"3"}
    assert all(-1 <= float(row["low"]) <= float(row["mean"]) <= float(row["high"]) for row in rows)
    a, b, c = THREE
    for method, others in {a: [(a, b), (a, c)], b: [(a, b), (b, c)], c: [(a, c), (b, c)]}.items():
        assert means[method]["mean"] == pytest.approx(sum(pairs[one] for one in others) / 2)
    with_all = [pairs[one, "consensus"] for one in THREE]
    assert means["consensus"]["mean"] == pytest.approx(sum(with_all) / 3)
    for one in THREE:
        assert pairs[one, "consensus"] > means[one]["mean"], "it is made of them"


def test_a_prompt_has_the_scores_of_its_own_command(run, study, model) -> None:
    run(*study, "--out", "o")
    one, other = "gradient_x_input", "leave_one_out"
    words = ("--input", "mine.json", "--row", "2", "--model", str(model), *CHOSEN)
    scored = run("score", "tokens", *words, "--explainer", f"{one},{other}")["scores"]
    rows = {row["method"]: row for row in read("o/inputs.csv")[5:10]}
    assert [row["explainer"] for row in scored] == [one, other, "random"]
    for row in scored[:2]:  # of random rankings a study draws fewer
        for metric in METRICS:
            said = rows[row["explainer"]].get(metric.id, "")
            known = row[metric.id]
            assert (float(said) if said else None) == pytest.approx(known, abs=1e-6), metric.id


def test_the_command_in_the_report_makes_the_study_again_from_its_own_prompts(
    run, study, model, monkeypatch
) -> None:
    first = run(*study, "--out", "o")
    kept = [json.loads(line) for line in Path("o/prompts.jsonl").read_text("utf-8").splitlines()]
    assert [one["messages"][-1]["content"] for one in kept] == [
        one if isinstance(one, str) else one["prompt"] for one in ENTRIES
    ]
    assert (kept[0]["gold"], kept[0]["answer"], kept[2]["chat"]) == ([[26, 30]], " 7481", True)
    report = Path("o/study.html").read_text(encoding="utf-8")
    shown = re.search(r"<pre>(python -m backend study .*?)</pre>", report, re.DOTALL)
    assert shown is not None
    command = shlex.split(html.unescape(shown[1]))[3:]
    assert command[command.index("--prompts") + 1] == "prompts.jsonl"
    assert "mine.json" not in command
    assert {"gradient_x_input.reading=norm", "5", ",".join(NAMES)} <= set(command)
    monkeypatch.chdir("o")
    monkeypatch.setenv("VITRINE_MODEL_FOLDERS", str(model))
    settings.cache_clear()
    again = run(*command)
    assert again["computed"] == 0
    assert again["means"] == first["means"]
    assert Path("out/inputs.csv").read_bytes() == Path("inputs.csv").read_bytes()


def test_bundled_needles_are_scored_by_what_the_answer_rests_on(run, model) -> None:
    words = ("study", "tokens", "--prompts", "needles", "--model", str(model), "--items", "2")
    found = run(*words, "--explainer", "gradient_x_input", "--out", "o")
    assert found["inputs"] == 2
    for method in ("gradient_x_input", "random"):
        cell = found["means"]["recovery"][method]
        assert cell["n"] == 2
        assert 0 <= cell["mean"] <= 1
    assert not Path("o/prompts.jsonl").exists(), "everyone has them"
    command = Path("o/study.html").read_text(encoding="utf-8")
    assert "--prompts needles" in command


REFUSED = [
    ("", "required: --prompts"),
    ("--prompts nothing", "--prompts: There is no bundled set 'nothing'. Use facts, needles, or"),
    ("--prompts missing.jsonl", "missing.jsonl: The file cannot be read"),
    ("--prompts broken.json", "broken.json: Not valid JSON"),
    ("--prompts t.csv --column c", "Choose one of: a, b."),
    ("--prompts t.parquet", "Files ending in '.parquet' are not read."),
    ("--prompts facts --max-new-tokens 0", "--max-new-tokens: It is a whole number from 1 to"),
    ("--prompts facts --max-new-tokens 100000", "--max-new-tokens: It is a whole number from 1"),
    ("--prompts facts --items 0", "--items"),
    ("--prompts facts --explainer logit_lens", "--explainer: Logit lens ranks nothing"),
    ("--prompts facts --explainer nothing", "There is no explainer 'nothing'."),
    ("--prompts facts --text x", "unrecognized arguments: --text x"),
]


@pytest.mark.parametrize(("line", "said"), REFUSED, ids=[line[:50] for line, _ in REFUSED])
def test_what_cannot_be_studied_is_said_in_a_line(refused, model, line: str, said: str) -> None:
    Path("broken.json").write_text("[", encoding="utf-8")
    Path("t.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    Path("t.parquet").write_text("PAR1", encoding="utf-8")
    words = line.split()
    if "--explainer" not in words:
        words += ["--explainer", "gradient_x_input"]
    assert said in refused("study", "tokens", *words, "--model", str(model), "--out", "o")
    assert not Path("o/inputs.csv").exists()
