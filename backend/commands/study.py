"""`study`: explainers compared over many inputs, as tables and a report.

Every explanation and score is stored as soon as it is there. So a study that was broken off, also
by a crash, goes on where it was when the same command is given again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from backend import study_files
from backend.commands import work
from backend.commands.desk import study_desk
from backend.commands.explain import folder, written
from backend.control import words
from backend.engine.engine import Engine
from backend.errors import InputError
from backend.explanation import Explanation, Request
from backend.settings import Settings
from backend.study import Case, Measured, Study, study

ITEMS, SEEDS = 20, 1
MOST = 10_000


def add(parser: argparse.ArgumentParser, family: str) -> None:
    """Add the flags of `study`."""
    study_desk(family).add_study(parser)
    parser.add_argument("--out", metavar="DIR", type=Path, required=True)
    parser.add_argument(
        "--items", metavar="N", type=int, default=ITEMS, help=f"inputs at most (default {ITEMS})"
    )
    parser.add_argument(
        "--seeds",
        metavar="N",
        type=int,
        default=SEEDS,
        help="explanations of each input by a method that draws random numbers; from 2 on their "
        f"stability is a column (default {SEEDS})",
    )


def run(given: argparse.Namespace, settings: Settings) -> dict[str, Any]:
    """Compute what is not there, write the files, and return what `--json` prints."""
    if not 1 <= given.items <= MOST:
        raise InputError(f"It is a whole number from 1 to {MOST:,}.", "--items")
    if not 1 <= given.seeds <= 100:
        raise InputError("It is a whole number from 1 to 100.", "--seeds")
    folder(given.out)
    engine = Engine(settings)
    try:
        asked = study_desk(given.family).study(given, engine)
        counted = {"computed": 0, "stored": 0}
        measured = []
        for number, case in enumerate(asked.cases, start=1):
            sys.stderr.write(f"{number} of {len(asked.cases)}: {case.title}\n")
            sys.stderr.flush()
            measured.append(_case(engine, case, counted))
        titles = [case.title for case in asked.cases]
        found = study(asked.methods, titles, measured, asked.metrics, asked.controls)
        contents = study_files.files(found, asked)
        for name, data in contents.items():
            written(given.out, name, data)
        return {
            "inputs": len(titles),
            **counted,
            "files": [str(given.out / name) for name in contents],
            "means": _means(found),
            "won_by_control": found.won_by_control,
        }
    finally:
        engine.close()


def table(outcome: dict[str, Any]) -> str:
    """The means, for people."""
    rows = outcome["means"]
    methods = list(next(iter(rows.values()))) if rows else []
    lines = [f"{'':18}" + "".join(f"{method[:20]:>22}" for method in methods)]
    for metric, cells in rows.items():
        values = (
            f"{'-':>22}" if one["mean"] is None else f"{_mark(one)}{one['mean']:.4f}".rjust(22)
            for one in cells.values()
        )
        head = f"{metric}*" if metric in outcome["won_by_control"] else metric
        lines.append(f"{head:18}" + "".join(values))
    lines.append(f"{outcome['inputs']} inputs; = best, * behind the best (p < 0.05, corrected)")
    lines += [
        f"* {said}"
        for said in words(outcome["won_by_control"], {metric: metric for metric in rows})
    ]
    lines.append(f"{outcome['computed']} computed, {outcome['stored']} were there")
    return "\n".join([*lines, *outcome["files"]])


def _mark(cell: dict[str, Any]) -> str:
    return "= " if cell["best"] else ("* " if cell["behind"] else "")


def _case(engine: Engine, case: Case, counted: dict[str, int]) -> Measured:
    """Everything of one case, submitted in two parts: scores are about explanations."""
    explained = iter(_finished(engine, case.explained, counted))
    asked = [next(explained) for _ in case.asked]
    again = [[next(explained) for _ in seeds] for seeds in case.again]
    return Measured(asked, again, _finished(engine, case.scores, counted))


def _finished(
    engine: Engine, requests: Sequence[Request], counted: dict[str, int]
) -> list[Explanation]:
    found = work.finish(engine, requests)
    stored = sum(job.cached for job, _ in found)
    counted["stored"] += stored
    counted["computed"] += len(found) - stored
    return [explanation for _, explanation in found]


def _means(found: Study) -> dict[str, dict[str, dict[str, Any]]]:
    return {
        metric: {
            method: {
                "mean": cell.mean.mean,
                "low": cell.mean.low,
                "high": cell.mean.high,
                "n": cell.mean.n,
                "best": cell.best,
                "behind": cell.behind,
                "p": cell.p,
            }
            for method, cell in zip(found.methods, cells, strict=True)
        }
        for metric, cells in found.cells.items()
    }
