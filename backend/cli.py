"""The command line: the same requests, numbers and store as the pages."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from typing import Any, NoReturn

from pydantic import ValidationError

from backend.catalogue import catalogue
from backend.commands import doctor, explain, fit_head, study, work
from backend.commands.desk import FAMILIES, STUDIED, desk
from backend.commands.explain import Renderer
from backend.errors import InputError, VitrineError, shown
from backend.settings import Settings, settings

DONE, FAULT, WRONG_USE, INTERRUPTED = 0, 1, 2, 130
LONGEST_LINE = 2000
"""Characters of a complaint."""

log = logging.getLogger("vitrine")


class _Parser(argparse.ArgumentParser):
    """argparse that says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see {self.prog} --help)", self.prog)


def main(argv: list[str], renderer: Renderer) -> int:
    """Run a command and return the exit status.

    0 done; 2 wrong use or bad input, one line on stderr that says what to do; 1 a fault of ours;
    130 interrupted.

    Args:
        renderer: draws the figures of `explain`.
    """
    try:
        given = parser().parse_args(argv)
        _print(given, *_run(given, renderer))
    except SystemExit as stop:
        return int(stop.code or 0)
    except VitrineError as error:
        return _say(str(error), WRONG_USE)
    except work.FaultError as error:
        return _say(str(error), FAULT)
    except BrokenPipeError:  # whoever read the output has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        return _say("Cancelled.", INTERRUPTED)
    except Exception as error:
        log.exception("the command failed")
        return _say(f"This is a fault of Vitrine's own: {type(error).__name__}.", FAULT)
    return DONE


def _run(given: argparse.Namespace, renderer: Renderer) -> tuple[dict[str, Any], str]:
    """What a command found: for machines, and for people."""
    if given.command == "list":
        found = _listed(given.family)
        return found, _list_table(found)
    if given.command == "doctor":
        found = doctor.run(_settings(), renderer.formats())
        return found, doctor.table(found)
    options = work.with_folder(_settings(), given.model)
    if given.command == "fit-head":
        found = fit_head.run(given, options)
        return found, fit_head.table(found)
    if given.command == "score":
        found = desk(given.family).score(given, options)
        return found, desk(given.family).table(found)
    if given.command == "study":
        found = study.run(given, options)
        return found, study.table(found)
    found = explain.run(given, options, renderer)
    return found, explain.table(found)


def _settings() -> Settings:
    """The settings of this process.

    Raises:
        InputError: an environment variable has no valid value.
    """
    try:
        return settings()
    except ValidationError as error:
        first = error.errors()[0]
        name = f"VITRINE_{str(first['loc'][0]).upper()}"
        raise InputError(f"{first['msg']}.", name, "See docs/configuration.md.") from error


def parser() -> argparse.ArgumentParser:
    """The parser of all commands, drawn from the catalogue."""
    root = _Parser(prog="python -m backend", description="Explain a model's decision.")
    commands = root.add_subparsers(dest="command", required=True, parser_class=_Parser)
    listed = commands.add_parser("list", help="families, explainers and their parameters")
    listed.add_argument("--family", choices=list(catalogue()))
    listed.add_argument("--json", action="store_true")
    for command, add, about, known in (
        ("explain", explain.add, "write explanations of one input", FAMILIES),
        ("score", _add_score, "how good explainers are on one input, beside chance", FAMILIES),
        ("study", study.add, "compare explainers over many inputs; goes on where it was", STUDIED),
    ):
        families = commands.add_parser(command, help=about).add_subparsers(
            dest="family", required=True, parser_class=_Parser
        )
        for name in known:
            add(families.add_parser(name, help=catalogue()[name].summary), name)
    fit_head.add(commands.add_parser("fit-head", help="a classifier of pictures, for your classes"))
    check = commands.add_parser("doctor", help="versions, device, store, browser")
    check.add_argument("--json", action="store_true")
    return root


def _add_score(parser: argparse.ArgumentParser, family: str) -> None:
    desk(family).add_score(parser)


def _listed(family: str | None) -> dict[str, Any]:
    return {
        "families": [
            {
                "id": one.id,
                "title": one.title,
                "models": [preset.id for preset in one.presets],
                "explainers": [
                    {
                        "id": cls.id,
                        "title": cls.title,
                        "role": cls.role,
                        "reference": cls.reference.link if cls.reference else None,
                        "parameters": cls.Parameters.model_json_schema().get("properties", {}),
                    }
                    for cls in one.explainers
                ],
            }
            for one in catalogue().values()
            if family in (None, one.id)
        ]
    }


def _list_table(found: dict[str, Any]) -> str:
    lines = []
    for family in found["families"]:
        lines.append(f"{family['id']}: {', '.join(family['models'])}")
        for explainer in family["explainers"]:
            lines.append(f"  {explainer['id']:24} {explainer['title']}")
            for name, schema in explainer["parameters"].items():
                allowed = schema.get("enum") or schema.get("type", "")
                lines.append(f"    {name} = {schema.get('default')!r}  {allowed}")
    return "\n".join(lines)


def _print(given: argparse.Namespace, found: dict[str, Any], table: str) -> None:
    print(json.dumps(found) if given.json else table, flush=True)


def _say(text: str, status: int) -> int:
    sys.stderr.write(shown(" ".join(text.split()), LONGEST_LINE) + "\n")
    return status
