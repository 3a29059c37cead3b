"""`score --suite`: explainers over many prompts of known evidence, generated or brought in."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import Any

from backend.bootstrap import LEVEL
from backend.commands import work
from backend.engine.engine import Engine
from backend.errors import InputError, VitrineError, shown
from backend.files import contents
from backend.settings import Settings
from backend.tokens import arguments, inputs, needles, suite, suite_table
from backend.tokens.measured import MEASURED, Measured
from backend.tokens.needle_score import OPERATOR

GENERATED = "needles"
_OWN = ("sizes", "kinds", "items", "curves_up_to")
_NEVER = ("target", "target_ids", "span", "system")
_FILE_ONLY = ("column", "chat", "max_new_tokens")
_CELL = 27
FEW = 10


def add(parser: argparse.ArgumentParser, source: argparse._MutuallyExclusiveGroup) -> None:
    """Add the flags of a suite."""
    source.add_argument(
        "--suite",
        metavar="needles|FILE",
        help="score over many prompts: generated ones with planted evidence, or those of a file; "
        f"explainers are {', '.join(suite.FIRST_CHOICE)} where there are such and none are named",
    )
    parser.add_argument(
        "--sizes", metavar="N,N", help=f"tokens of a prompt (default {_list(suite.DEFAULT_SIZES)})"
    )
    parser.add_argument("--kinds", metavar="K,K", help=f"of {_list(needles.KINDS)} (default: all)")
    parser.add_argument(
        "--items",
        metavar="N",
        type=int,
        help=f"prompts of each kind and size (default {suite.DEFAULT_ITEMS})",
    )
    parser.add_argument(
        "--curves-up-to",
        metavar="N",
        type=int,
        help="RISE and MAS for prompts of at most N tokens "
        f"(default {suite.CURVES_UP_TO}; 0: none)",
    )


def refuse(given: argparse.Namespace) -> None:
    """Refuse the flags of a suite where there is none.

    Raises:
        InputError: one is given.
    """
    _without(given, _OWN, "It belongs to --suite.")


def run(given: argparse.Namespace, settings: Settings) -> dict[str, Any]:
    """Compute and return what `--json` prints; a metric that is not defined is null."""
    _check(given)
    family = work.family_of(given.family)
    names = given.explainer or ",".join(suite.first_choice(cls.id for cls in family.explainers))
    choices = suite.lean(work.choices(names, given.set, family), family)
    work.check_ranks(family, choices)
    conditions = suite.Conditions(
        model=work.model(given.model, given.precision, family),
        choices=choices,
        seed=given.seed,
        curves_up_to=suite.CURVES_UP_TO if given.curves_up_to is None else given.curves_up_to,
        max_new_tokens=given.max_new_tokens or 8,
    )
    cases = _cases(given, settings)
    engine = Engine(settings)
    try:
        found: list[Measured] = []
        for place, case in enumerate(cases, start=1):
            size = f", {case.size:,} tokens" if case.size else ""
            sys.stderr.write(f"item {place} of {len(cases)}: {case.kind}{size}\n")
            sys.stderr.flush()
            found += _follow(engine, case, conditions)
    finally:
        engine.close()
    return _outcome(given, found, conditions)


def _follow(engine: Engine, case: suite.Case, conditions: suite.Conditions) -> tuple[Measured, ...]:
    """Compute one case.

    Raises:
        VitrineError: the prompt that was asked for cannot be generated.
    """
    talk = suite.measured(case, conditions, lambda prompt: engine.put_input(prompt, "tokens"))
    generating = case.brought is None
    try:
        asked = next(talk)
        while True:
            found = work.attempt(engine, asked)
            if generating and isinstance(found[0], str):
                raise VitrineError(found[0])
            generating = False
            asked = talk.send(found)
    except StopIteration as stop:
        done: tuple[Measured, ...] = stop.value
        return done


def _cases(given: argparse.Namespace, settings: Settings) -> tuple[suite.Case, ...]:
    if given.suite == GENERATED:
        kinds = needles.KINDS if given.kinds is None else tuple(given.kinds.split(","))
        chosen = given.sizes
        sizes = suite.DEFAULT_SIZES if chosen is None else arguments.numbers(chosen, "--sizes")
        items = suite.DEFAULT_ITEMS if given.items is None else given.items
        return suite.generated(kinds, sizes, items, given.seed)
    path = Path(given.suite)
    data = contents(path, settings.max_upload_mb)
    found = inputs.brought(path.name, data, settings, given.column)
    return suite.of_file(
        [dataclasses.replace(one, prompt=arguments.as_asked(one.prompt, given)) for one in found]
    )


def _check(given: argparse.Namespace) -> None:
    """Refuse flags that have no meaning here, before anything is computed.

    Raises:
        InputError: one is given.
    """
    _without(given, _NEVER, "Every prompt of a suite is asked alike.")
    if given.row != 1:
        raise InputError("It is not used with --suite.", "--row", "All prompts are scored.")
    if given.operator != OPERATOR:
        raise InputError(f"A suite is scored by {OPERATOR}.", "--operator", "Leave it out.")
    if given.suite == GENERATED:
        _without(given, _FILE_ONLY, "The generated prompts have a form and answer of their own.")
    else:
        _without(given, _OWN[:3], "The prompts are those of the file.")
    if given.curves_up_to is not None and given.curves_up_to < 0:
        raise InputError(f"{given.curves_up_to} tokens.", "--curves-up-to", "Use 0 or more.")
    if given.max_new_tokens is not None and given.max_new_tokens < 1:
        raise InputError(f"{given.max_new_tokens} tokens.", "--max-new-tokens", "Use 1 or more.")


def _without(given: argparse.Namespace, names: tuple[str, ...], why: str) -> None:
    for name in names:
        if getattr(given, name) is not None:
            raise InputError("It is not used here.", "--" + name.replace("_", "-"), why)


def _outcome(
    given: argparse.Namespace, found: list[Measured], conditions: suite.Conditions
) -> dict[str, Any]:
    rows = [
        {
            "kind": row.kind,
            "size": row.size,
            "explainer": row.explainer,
            "cases": row.cases,
            "ceiling": row.ceiling,
            **{metric: dataclasses.asdict(row.metrics[metric]) for metric in MEASURED},
        }
        for row in suite_table.rows(found, given.seed)
    ]
    differences = [
        {**dataclasses.asdict(one), "verdict": one.verdict}
        for one in suite_table.differences(found, given.seed)
    ]
    return {
        "suite": GENERATED if given.suite == GENERATED else Path(given.suite).name,
        "model": conditions.model.label(),
        "curves_up_to": conditions.curves_up_to,
        "rows": rows,
        "differences": differences,
        "missing": suite_table.reasons(found),
        "items": [dataclasses.asdict(one) for one in found],
    }


def table(outcome: dict[str, Any]) -> str:
    """The outcome for people."""
    arrows = ("higher" if suite_table.HIGHER[metric] else "lower" for metric in MEASURED)
    lines = [
        f"{'kind':12}{'size':>6}  {'explainer':24}{'cases':>6}"
        + "".join(f"{metric:>{_CELL}}" for metric in MEASURED),
        f"{'better is':50}" + "".join(f"{arrow:>{_CELL}}" for arrow in arrows),
    ]
    before = None
    for row in outcome["rows"]:
        if before not in (None, (row["kind"], row["size"])):
            lines.append("")
        before = (row["kind"], row["size"])
        size = "-" if row["size"] is None else str(row["size"])
        lines.append(
            f"{row['kind']:12}{size:>6}  {row['explainer']:24}{row['cases']:>6}"
            + "".join(f"{_cell(row[metric], row['cases']):>{_CELL}}" for metric in MEASURED)
        )
    return "\n".join([*lines, "", *_notes(outcome), "", *_compared(outcome)])


def _notes(outcome: dict[str, Any]) -> list[str]:
    notes = [
        f"[ ]: {LEVEL:g} % bootstrap interval of the mean over the cases; "
        "( ): over how many of them, where a case has no value."
    ]
    if outcome["rows"][-1]["cases"] < FEW:
        notes.append(f"Percentile intervals of fewer than {FEW} cases are too narrow to trust.")
    low = [row for row in outcome["rows"] if row["ceiling"] is not None and row["ceiling"] < 1]
    for kind, size in dict.fromkeys((row["kind"], row["size"]) for row in low):
        most = next(r["ceiling"] for r in low if (r["kind"], r["size"]) == (kind, size))
        place = kind + (f" {size}" if size else "")
        notes.append(f"{place}: the evidence is longer than 10 %; recovery is {most:.3f} at most.")
    for reason, names in outcome["missing"].items():
        listed = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        notes.append(f"-: {shown(reason, 200)} [{listed}]")
    return notes


def _compared(outcome: dict[str, Any]) -> list[str]:
    """The paired differences that were measured, over all cases and kind by kind."""
    lines = [f"{'paired difference':60}{'cases':>6}{'mean':>{_CELL}}"]
    for one in outcome["differences"]:
        if not one["difference"]["n"]:
            continue
        kind = "" if one["kind"] == suite_table.ALL else f"{one['kind']} "
        name = f"{kind}{one['metric']}: {one['first']} - {one['other']}"
        lines.append(
            f"{name:60}{one['difference']['n']:>6}{_cell(one['difference']):>{_CELL}}"
            f"  {one['verdict']}"
        )
    return lines


def _cell(found: dict[str, Any], cases: int | None = None) -> str:
    """A mean with its interval, and its number of cases where it is not the expected one."""
    if found["mean"] is None:
        return "-"
    ends = f" [{found['low']:.3f}, {found['high']:.3f}]" if found["low"] is not None else ""
    few = "" if cases in (None, found["n"]) else f" ({found['n']})"
    return f"{found['mean']:.3f}{ends}{few}"


def _list(values: tuple[Any, ...]) -> str:
    return ",".join(map(str, values))
