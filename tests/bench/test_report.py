"""What benchmarks print."""

from __future__ import annotations

import json

from bench.report import arguments, report, table


def test_the_last_line_is_one_json_object(capsys):
    chosen = arguments("a claim").parse_args(["--json"])
    rows = [("forward pass", 1.23456), ("a longer name", 12)]
    report(("what", "s"), rows, {"ratio": 0.25}, as_json=chosen.json, libraries=("numpy", "nope"))
    lines = capsys.readouterr().out.splitlines()
    last = json.loads(lines[-1])
    assert last["figures"] == {"ratio": 0.25}
    assert last["machine"]["nope"] == "not installed"
    assert last["machine"]["numpy"][0].isdigit()
    assert int(last["machine"]["cores"]) >= 1
    assert "forward pass   1.235" in lines
    assert "ratio = 0.25" in lines


def test_without_the_flag_there_is_no_json(capsys):
    report(("what",), [], {"ratio": 1.0}, as_json=arguments("").parse_args([]).json)
    assert "{" not in capsys.readouterr().out


def test_columns_line_up():
    lines = table(("name", "value"), [("a", 1.0), ("bcdef", "x")])
    assert lines == ["name   value", "-----  -----", "a          1", "bcdef      x"]
