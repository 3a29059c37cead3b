"""The documented settings are the real ones."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
from pathlib import Path

import pytest

from backend import cli
from backend.commands.desk import FAMILIES
from backend.concepts.examples import EXAMPLES as DATA_SETS
from backend.settings import Settings
from backend.tokens.examples import EXAMPLES

DOCUMENT = Path(__file__).parents[2] / "docs" / "configuration.md"
ROW = re.compile(r"\| `VITRINE_([A-Z_]+)` \| (.*?) \| (.*) \|")


def default(name: str) -> str:
    field = Settings.model_fields[name]
    if name == "store":
        return "`vitrine` in the user's data folder"
    return "none" if field.default in (None, ()) else f"`{field.default}`"


def test_table_names_every_setting_with_its_default_and_meaning() -> None:
    rows = ROW.findall(DOCUMENT.read_text(encoding="utf-8"))
    assert rows == [
        (name.upper(), default(name), str(field.description))
        for name, field in Settings.model_fields.items()
    ]
    assert all(field.description for field in Settings.model_fields.values())


def test_command_line_document_names_every_flag_and_example() -> None:
    text = DOCUMENT.with_name("command-line.md").read_text(encoding="utf-8")
    for words in itertools.product(("explain", "score"), FAMILIES):
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown), pytest.raises(SystemExit):
            cli.parser().parse_args([*words, "--help"])
        flags = set(re.findall(r"--[a-z][a-z-]+", shown.getvalue())) - {"--help"}
        assert len(flags) > 9
        assert {flag for flag in flags if flag not in text} == set()
    listed = re.search(r"a ready prompt: (.*) \|", text)
    assert listed is not None
    assert re.findall(r"`(\w+)`", listed[1]) == [entry.id for entry in EXAMPLES]
    listed = re.search(r"a bundled data set, (.*) \|", text)
    assert listed is not None
    assert re.findall(r"`(\w+)`", listed[1]) == [entry.id for entry in DATA_SETS]
