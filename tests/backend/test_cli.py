"""The command line: exit statuses, one line of complaint, files, and a second run without work."""

from __future__ import annotations

import html
import json
import re
import shlex
from pathlib import Path

import pytest
import safetensors.numpy

from backend.cli import main
from backend.explanation import Explanation
from backend.settings import settings
from backend.tokens import FAMILY
from tests.tiny import write


class Drawn:
    """A renderer that counts what it draws."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def picture(self, explanation: Explanation, format: str) -> bytes:
        self.calls.append(f"{explanation.source().request.explainer}.{format}")
        return b"<svg/>" + format.encode()

    def formats(self) -> dict[str, str]:
        return {"png": "", "pdf": "No browser was found."}

    def digest(self) -> str:
        return "one"


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return write(tmp_path_factory.mktemp("models") / "tiny", "llama")


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    """A renderer, with a fresh store behind the commands."""
    monkeypatch.setenv("VITRINE_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("VITRINE_DEVICE", "cpu")
    monkeypatch.setenv("VITRINE_THREADS", "1")
    settings.cache_clear()
    yield Drawn()
    settings.cache_clear()


WRONG = [
    ("", "required: command"),
    ("explain", "required: family"),
    ("explain sounds --text x", "invalid choice: 'sounds'"),
    ("explain tokens --out OUT", "one of the arguments --example --text --input"),
    ("explain tokens --text x", "required: --out"),
    ("explain tokens --text x --example capital --out OUT", "not allowed with"),
    ("explain tokens --example nothing --out OUT", "no example 'nothing'; there are capital"),
    ("explain tokens --text= --out OUT", "The prompt is empty."),
    ("explain tokens --input missing.txt --out OUT", "missing.txt: The file cannot be read"),
    ("explain tokens --input p.json --row 3 --out OUT", "It has 2."),
    ("explain tokens --input p.csv --column c --out OUT", "Choose one of: a, b."),
    ("explain tokens --text x --explainer no --out OUT", "There is no explainer 'no'."),
    ("explain tokens --text x --explainer , --out OUT", "No explainer is named."),
    ("explain tokens --text x --set colour=1 --out OUT", "'colour=1' sets nothing."),
    ("explain tokens --text x --set sign=sideways --out OUT", "sign: Input should be"),
    ("explain tokens --text x --max-new-tokens 0 --out OUT", "--max-new-tokens: Input should be"),
    ("explain tokens --text x --span 3:3 --out OUT", "'3:3' holds no token."),
    ("explain tokens --text x --span 2,1 --out OUT", "--span: Value error, span must be"),
    ("explain tokens --text x --span a --out OUT", "--span: 'a' is not a list"),
    (f"explain tokens --text x --span 0:1{'0' * 5000} --out OUT", "past any answer"),
    ("explain tokens --text x --span 0:10000000 --out OUT", "past any answer"),
    (f"explain tokens --text x --target-ids {'1' * 5000} --out OUT", "is not a list"),
    (f"explain tokens --text x --set sign={'[' * 9999} --out OUT", "sign: Input should be"),
    ("explain tokens --input endless.txt --out OUT", "more than 10 MB"),
    ("explain tokens --input \0.txt --out OUT", "cannot be read (embedded null byte)"),
    ("explain tokens --text x --model ./no-such --out OUT", "No config.json is in the folder"),
    ("explain tokens --text x --what\u2028now --out OUT", "unrecognized arguments: --what now"),
    ("explain tokens --text x --explainer \x1b[31m --out OUT", "no explainer '\\x1b[31m'"),
    ("explain tokens --text x --seed -1 --out OUT", "whole number from 0"),
    ("explain tokens --text x --system y --out OUT", "Add --chat."),
    ("explain tokens --text x --figure gif --out OUT", "No figure format 'gif'."),
    ("explain tokens --text x --model no-such --out OUT", "no-such"),
    ("explain tokens --text x --model hub: --out OUT", "'hub:' is not a model reference."),
    ("explain tokens --text x --out p.json/deeper", "Cannot write there"),
    ("score tokens --text x --explainer logit_lens", "has no faithfulness"),
]


@pytest.mark.parametrize(("line", "said"), WRONG, ids=[ascii(line[:60]) for line, _ in WRONG])
def test_wrong_use_is_one_line_and_status_2(
    line: str, said: str, drawn: Drawn, model: Path, tmp_path, monkeypatch, capfd
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.json").write_text('["a", "b"]')
    Path("p.csv").write_text("a,b\n1,2\n")
    Path("endless.txt").symlink_to("/dev/zero")
    words = [re.sub("^OUT$", "out", word) for word in line.split(" ") if word]
    if words[2:] and "--model" not in words:
        words += ["--model", str(model)]
    if words[2:] and "--explainer" not in words:
        words += ["--explainer", "contribution_weights"]
    assert main(words, drawn) == 2
    out, err = capfd.readouterr()
    assert said in err
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err[:-1].isprintable()


def explain(model: Path, out: Path, *more: str) -> list[str]:
    words = ["explain", "tokens", "--text", "The code is 7481", "--max-new-tokens", "2", "--json"]
    chosen = ["--explainer", "contribution_weights,attention_mean"]
    return [*words, *chosen, "--model", str(model), "--out", str(out), *more]


def test_explain_writes_its_files_and_the_second_run_computes_nothing(
    drawn: Drawn, model: Path, tmp_path, capfd
) -> None:
    words = explain(model, tmp_path / "out", "--figure", "png,html")
    runs = []
    for _ in range(2):
        assert main(words, drawn) == 0
        runs.append(json.loads(capfd.readouterr().out)["results"])
    first, second = runs
    assert [row["explainer"] for row in first] == ["contribution_weights", "attention_mean"]
    assert [row["cached"] for row in first + second] == [False, False, True, True]
    assert [row["key"] for row in first] == [row["key"] for row in second]
    assert len(drawn.calls) == len(set(drawn.calls)) == 6  # png, html, and the card's svg, once
    for row in second:
        assert set(row) == {"explainer", "key", "path", "seconds", "cached"}
        folder = Path(row["path"])
        assert {file.name for file in folder.iterdir()} == {
            "explanation.json", "arrays.safetensors", "scores.csv", "card.html", "prompt.json",
            "figure.png", "figure.html",
        }  # fmt: skip
        assert (
            json.loads((folder / "explanation.json").read_text())["provenance"]["key"] == row["key"]
        )
    arrays = safetensors.numpy.load_file(tmp_path / "out/contribution_weights/arrays.safetensors")
    sums = arrays["contributions"].sum(axis=(1, 3))
    assert sums == pytest.approx(1, abs=1e-4)


def test_settings_reach_the_explainers_that_have_them(drawn: Drawn, model: Path, tmp_path) -> None:
    more = ("--set", "exclude_first=true", "--set", "contribution_weights.sign=positive")
    assert main(explain(model, tmp_path, *more, "--span", "0:1"), drawn) == 0
    requests = {
        name: json.loads((tmp_path / name / "explanation.json").read_text())["provenance"][
            "request"
        ]
        for name in ("contribution_weights", "attention_mean")
    }
    assert requests["contribution_weights"]["parameters"]["sign"] == "positive"
    assert all(request["parameters"]["exclude_first"] is True for request in requests.values())
    assert all(request["target"]["span"] == [0] for request in requests.values())
    assert all(len(request["target"]["ids"]) in (1, 2) for request in requests.values())


def test_span_past_the_answer_says_how_long_it_is(drawn, model, tmp_path, capfd) -> None:
    assert main(explain(model, tmp_path, "--span", "0:99"), drawn) == 2
    assert re.search(
        r"--span: The answer has \d tokens?: there is no token 98", capfd.readouterr().err
    )


def test_score_has_a_random_row_and_both_operators(drawn: Drawn, model: Path, capfd) -> None:
    words = ["score", "tokens", "--text", "The code is 7481", "--max-new-tokens", "2", "--json"]
    words += ["--explainer", "attention_mean", "--model", str(model)]
    assert main([*words, "--operator", "neutral"], drawn) == 0
    neutral = json.loads(capfd.readouterr().out)["scores"]
    assert main(words, drawn) == 0
    masked = json.loads(capfd.readouterr().out)["scores"]
    assert [row["explainer"] for row in neutral] == ["attention_mean", "random"]
    for one, other in zip(neutral, masked, strict=True):
        assert (one["operator"], other["operator"]) == ("neutral", "key_masking")
        assert one["comprehensiveness"] == other["neutral"]["comprehensiveness"]
        assert other["comprehensiveness"] == one["key_masking"]["comprehensiveness"]
        assert one["recovery"] is None
        assert any("recovery" in name for name in one["undefined"])
    low, high = masked[1]["spread"]["comprehensiveness"]
    assert low <= masked[1]["comprehensiveness"] <= high
    assert main(words[:6] + words[7:], drawn) == 0
    assert "random" in capfd.readouterr().out


def test_list_and_doctor(drawn: Drawn, capfd) -> None:
    assert main(["list", "--json"], drawn) == 0
    listed = json.loads(capfd.readouterr().out)["families"]
    known = ["tokens", "graphs", "concepts", "images", "policies"]
    assert [family["id"] for family in listed] == known
    assert [e["id"] for e in listed[0]["explainers"]] == [cls.id for cls in FAMILY.explainers]
    assert main(["list"], drawn) == 0
    assert "contribution_weights" in capfd.readouterr().out
    assert main(["doctor", "--json"], drawn) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["devices"] == ["cpu"]
    assert found["figures"] == {"png": True, "pdf": False}
    assert "No browser was found." in found["problems"]
    assert found["versions"]["torch"].startswith("2.")
    assert found["torch"]["threads"] >= 1


def test_doctor_names_a_device_that_is_not_there(drawn: Drawn, monkeypatch, capfd) -> None:
    monkeypatch.setenv("VITRINE_DEVICE", "cuda:99")
    assert main(["doctor", "--json"], drawn) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["devices"] == ["cuda:99"]
    assert [said for said in found["problems"] if said.startswith("cuda:99 is not there")]


def test_fault_of_ours_is_status_1(drawn: Drawn, model: Path, tmp_path, capfd, monkeypatch) -> None:
    monkeypatch.setattr(drawn, "picture", lambda *_: 1 / 0)
    assert main(explain(model, tmp_path), drawn) == 1
    assert capfd.readouterr().err.splitlines()[-1].endswith("own: ZeroDivisionError.")


@pytest.mark.parametrize(
    "more",
    [
        ["--text", "it's <b>$HOME</b>"],
        ["--text", "Hello", "--chat", "--system", "Be </pre> short."],
    ],
    ids=["text", "file"],
)
def test_command_of_a_card_gives_the_same_key(
    more: list[str], drawn: Drawn, model: Path, tmp_path, monkeypatch, capfd
) -> None:
    """Run as the card says, beside its prompt.json, where the operator allows the folder."""
    words = ["explain", "tokens", "--explainer", "attention_mean", "--json", "--out", "first"]
    more = [*more, "--max-new-tokens", "3", "--set", "reading=last", "--seed", "5"]
    monkeypatch.chdir(tmp_path)
    assert main([*words, *more, "--model", str(model), "--span", "0:1"], drawn) == 0
    [first] = json.loads(capfd.readouterr().out)["results"]
    card = Path(first["path"], "card.html").read_text(encoding="utf-8")
    assert "allow it with VITRINE_MODEL_FOLDERS" in card
    shown = re.search(r"<pre>(python -m backend .*?)</pre>", card, re.DOTALL)
    assert shown is not None
    command = shlex.split(html.unescape(shown[1]))
    monkeypatch.setenv("VITRINE_MODEL_FOLDERS", str(model))
    settings.cache_clear()
    monkeypatch.chdir(first["path"])
    assert main([*command[3:], "--json"], drawn) == 0
    [again] = json.loads(capfd.readouterr().out)["results"]
    assert (again["key"], again["cached"]) == (first["key"], True)


@pytest.mark.parametrize("command", ["doctor", "explain tokens --text x --out out"])
def test_setting_without_sense_is_named(drawn: Drawn, command, monkeypatch, capfd) -> None:
    monkeypatch.setenv("VITRINE_MAX_TOKENS", "many")
    assert main(command.split(), drawn) == 2
    assert capfd.readouterr().err.startswith("VITRINE_MAX_TOKENS: Input should be a valid integer")
