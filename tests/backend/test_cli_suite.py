"""`score --suite`: table, JSON, repeats from the store, and one line where it is misused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from backend.cli import main
from backend.commands import suite as command
from backend.commands import work
from backend.settings import settings
from backend.tokens import FAMILY, suite
from tests.tiny import write


class Undrawn:
    """A renderer that a score never asks."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return write(tmp_path_factory.mktemp("models") / "tiny", "llama")


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("VITRINE_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("VITRINE_DEVICE", "cpu")
    monkeypatch.setenv("VITRINE_THREADS", "1")
    settings.cache_clear()
    yield
    settings.cache_clear()


def score(model: Path, *more: str) -> list[str]:
    return ["score", "tokens", "--model", str(model), *more]


SMALL = ("--suite", "needles", "--sizes", "400,700", "--items", "2", "--kinds", "single,multi_key")
TWO = ("--explainer", "attention_mean,contribution_weights")


def test_json_has_rows_differences_and_items(model: Path, capfd) -> None:
    assert main(score(model, *SMALL, *TWO, "--json"), Undrawn()) == 0
    out, err = capfd.readouterr()
    found = json.loads(out)
    assert (found["suite"], found["curves_up_to"]) == ("needles", 512)
    names = ["attention_mean", "contribution_weights", "random"]
    groups = [("single", 400), ("multi_key", 400), ("single", 700), ("multi_key", 700)]
    assert [(r["kind"], r["size"], r["explainer"]) for r in found["rows"]] == [
        *((*group, name) for group in groups for name in names),
        *(("all", None, name) for name in names),
    ]
    assert len(found["items"]) == 8 * 3
    for row in found["rows"]:
        own = [
            item["values"]["recovery"]
            for item in found["items"]
            if item["explainer"] == row["explainer"]
            and (row["kind"] == "all" or (item["kind"], item["size"]) == (row["kind"], row["size"]))
        ]
        assert row["recovery"]["mean"] == pytest.approx(sum(own) / len(own))
        assert row["recovery"]["low"] <= row["recovery"]["mean"] <= row["recovery"]["high"]
        assert row["rise"]["n"] == (0 if row["size"] == 700 else row["rise"]["n"])
    assert {d["other"] for d in found["differences"]} == set(names[1:])
    assert {d["verdict"] for d in found["differences"]} <= {
        "above", "not above", "below", "not below", "unknown",
    }  # fmt: skip
    assert len(found["missing"]["the prompt has more than 512 tokens"]) == 6
    said = err.splitlines()
    assert said[0] == "item 1 of 8: single, 400 tokens"
    assert said[-1] == "item 8 of 8: multi_key, 700 tokens"


def test_the_second_run_finds_all_in_the_store(model: Path, capfd, monkeypatch) -> None:
    words = score(model, *SMALL[:4], "--items", "1", "--kinds", "variable", *TWO, "--json")
    jobs = []
    attempted = work._attempted

    def watched(engine, job):
        found = attempted(engine, job)
        jobs.append((job.title, job.cached))
        return found

    monkeypatch.setattr(work, "_attempted", watched)
    results = []
    for _ in range(2):
        assert main(words, Undrawn()) == 0
        results.append(json.loads(capfd.readouterr().out))
    half = len(jobs) // 2
    assert half == 2 * (1 + 1 + 2 + 3)
    assert not any(cached for _, cached in jobs[:half])
    assert all(cached for _, cached in jobs[half:])
    assert results[0] == results[1]


def test_table_and_the_explainers_it_starts_with(model: Path, capfd) -> None:
    words = score(model, "--suite", "needles", "--sizes", "700", "--items", "1")
    assert main([*words, "--kinds", "multi_value"], Undrawn()) == 0
    out = capfd.readouterr().out
    first = suite.first_choice(cls.id for cls in FAMILY.explainers)
    rows = re.findall(r"^multi_value +700 +(\w+) +1 +(\d\.\d{3}) +- +-$", out, re.MULTILINE)
    assert [name for name, _ in rows] == [*first, "random"]
    assert "-: the prompt has more than 512 tokens" in out
    assert "the evidence is longer than 10 %; recovery is 0." in out
    assert "fewer than 10 cases are too narrow" in out
    pairs = re.findall(r"^recovery: (\w+) - (\w+) +1 +-?\d\.\d{3}  unknown$", out, re.MULTILINE)
    assert pairs == [(first[0], other) for other in (*first[1:], "random")]


def test_curves_reach_as_far_as_asked(model: Path, capfd) -> None:
    words = [*SMALL[:2], "--sizes", "400", "--items", "1", "--kinds", "single", *TWO, "--json"]
    for limit, there in (("0", False), ("400", True)):
        assert main(score(model, *words, "--curves-up-to", limit), Undrawn()) == 0
        found = json.loads(capfd.readouterr().out)
        missing = f"the prompt has more than {limit} tokens"
        assert (missing in found["missing"]) is not there


def test_own_file_with_and_without_evidence_and_answer(model: Path, tmp_path, capfd) -> None:
    file = tmp_path / "mine.json"
    entries = [
        {"prompt": "The code for the vault is 7481. The code is", "gold": ["7481"], "answer": " 7"},
        {"prompt": "The river runs by the old mill and the wind is"},
    ]
    file.write_text(json.dumps(entries))
    words = score(model, "--suite", str(file), *TWO, "--json", "--max-new-tokens", "3")
    assert main(words, Undrawn()) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["suite"] == "mine.json"
    first = [item for item in found["items"] if item["number"] == 0]
    second = [item for item in found["items"] if item["number"] == 1]
    assert all(item["values"]["recovery"] is not None for item in first)
    assert all(item["values"]["recovery"] is None for item in second)
    assert all("no planted evidence" in item["reasons"]["recovery"] for item in second)
    for item in found["items"]:
        assert item["values"]["rise"] is not None or "less likely" in item["reasons"]["rise"]
    assert [row["recovery"]["n"] for row in found["rows"]] == [1, 1, 1]


def test_too_long_a_prompt_of_a_file_does_not_stop_the_others(model, tmp_path, capfd) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(["word " * 3000, {"prompt": "The code is 7481.", "gold": ["7481"]}]))
    assert main(score(model, "--suite", str(file), *TWO, "--json"), Undrawn()) == 0
    found = json.loads(capfd.readouterr().out)
    assert any("at most 1,024 fit" in reason for reason in found["missing"])
    assert [row["recovery"]["n"] for row in found["rows"]] == [1, 1, 1]
    assert main(score(model, "--suite", str(file), *TWO), Undrawn()) == 0
    assert all(len(line) < 300 for line in capfd.readouterr().out.splitlines())


WRONG = [
    ("--suite needles --sizes 100", "sizes: A prompt of 100 tokens."),
    ("--suite needles --sizes 99999", "128 to 32,768"),
    ("--suite needles --sizes 2048", "at most 1,024 fit"),
    ("--suite needles --sizes a", "--sizes: 'a' is not a list"),
    ("--suite needles --sizes 256,256", "none twice"),
    ("--suite needles --kinds single,triple", "no kind 'triple'"),
    ("--suite needles --kinds \x1b[31m", "no kind '\\x1b[31m'"),
    ("--suite needles --items 0", "items: 0 items."),
    ("--suite needles --items x", "invalid int value"),
    ("--suite needles --curves-up-to -1", "--curves-up-to: -1 tokens."),
    ("--suite needles --target x", "--target: It is not used here."),
    ("--suite needles --span 0:1", "--span: It is not used here."),
    ("--suite needles --row 2", "--row: It is not used with --suite."),
    ("--suite needles --operator neutral", "--operator: A suite is scored by key_masking."),
    ("--suite needles --chat", "--chat: It is not used here."),
    ("--suite needles --column a", "--column: It is not used here."),
    ("--suite needles --explainer logit_lens", "has no faithfulness"),
    ("--suite needles --explainer nothing", "no explainer 'nothing'"),
    ("--suite needles --text x", "not allowed with"),
    (
        "--suite p.json --items 3",
        "--items: It is not used here. The prompts are",
    ),
    ("--suite p.json --max-new-tokens 0", "--max-new-tokens: 0 tokens."),
    ("--suite missing.json", "missing.json: The file cannot be read"),
    ("--suite p.bin", "Files ending in '.bin' are not read"),
    ("--text x --sizes 256", "--sizes: It is not used here. It belongs to --suite."),
    ("--text x --curves-up-to 9", "--curves-up-to: It is not used here."),
]


@pytest.mark.parametrize(("line", "said"), WRONG, ids=[ascii(line) for line, _ in WRONG])
def test_wrong_use_is_one_line_and_status_2(
    line: str, said: str, model: Path, tmp_path, monkeypatch, capfd
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.json").write_text('["a", "b"]')
    Path("p.bin").write_text("x")
    assert main(score(model, *line.split(" ")), Undrawn()) == 2
    out, err = capfd.readouterr()
    complaint = [text for text in err.splitlines() if not text.startswith("item 1 of ")]
    assert out == ""
    assert len(complaint) == 1
    assert said in complaint[0]
    assert complaint[0].isprintable()


def test_interrupt_is_status_130_and_cancels(model: Path, capfd, monkeypatch) -> None:
    engines = []
    wait = work._wait

    def interrupted(job):
        if job.request is not None and job.request.explainer == "attention_mean":
            raise KeyboardInterrupt
        wait(job)

    cancelled = []
    real = command.Engine

    class Watched(real):  # type: ignore[misc,valid-type]
        def __init__(self, options):
            super().__init__(options)
            engines.append(self)

        def cancel(self, key, holder=""):
            cancelled.append(key)
            super().cancel(key, holder)

    monkeypatch.setattr(command, "Engine", Watched)
    monkeypatch.setattr(work, "_wait", interrupted)
    assert main(score(model, *SMALL, *TWO), Undrawn()) == 130
    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines() == ["item 1 of 8: single, 400 tokens", "Cancelled."]
    assert len(cancelled) == 2
    [engine] = engines
    assert engine._closed


def test_the_table_gives_its_verdict_kind_by_kind_and_only_on_what_was_measured() -> None:
    from backend.commands import suite

    def one(kind: str, metric: str, n: int) -> dict:
        mean = {"mean": 0.25, "low": 0.1, "high": 0.4, "n": n}
        return {
            "kind": kind, "metric": metric, "first": "alti", "other": "random",
            "difference": mean, "verdict": "above",
        }  # fmt: skip

    lines = suite._compared(
        {"differences": [one("all", "recovery", 8), one("single", "recovery", 4),
                         one("all", "rise", 0)]}
    )  # fmt: skip
    assert [line.split(":")[0] for line in lines[1:]] == ["recovery", "single recovery"]
    assert lines[2].endswith("0.250 [0.100, 0.400]  above")
