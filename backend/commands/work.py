"""What the commands share: the model and parameters of the flags, and seeing jobs to their end."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import JsonValue, ValidationError

from backend import consensus
from backend.catalogue import catalogue, checked
from backend.control import won_by_control, words
from backend.engine.engine import Engine
from backend.engine.job import Job
from backend.errors import InputError, ModelNotReady, VitrineError, shown
from backend.explainer import Family
from backend.explanation import Choice, Explanation, ModelRef, Precision, Request
from backend.metric import Metric
from backend.settings import Settings

RANDOM = "random"
"""Name of the row of random rankings."""
LINE = 79
"""Signs of a line of progress."""
PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16", "float16")


class FaultError(Exception):
    """A job failed by no doing of the person's; the text is for them all the same."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the flags of every command that computes."""
    parser.add_argument(
        "--explainer", metavar="ID[,ID]", help="which explainers; see `list` (default: all four "
        "the page starts with)",
    )  # fmt: skip
    parser.add_argument(
        "--model",
        metavar="REF",
        help="a bundled model's id, hub:org/name[@revision], folder:NAME, or a folder's path",
    )
    parser.add_argument("--precision", choices=PRECISIONS, default="float32")
    parser.add_argument(
        "--set",
        metavar="[EXPLAINER.]NAME=VALUE",
        action="append",
        default=[],
        help="a parameter; of one explainer, or of all that have it",
    )
    parser.add_argument("--seed", metavar="N", type=seed, default=0, help="0 to 4294967295")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def seed(text: str) -> int:
    """A seed as a flag gives it."""
    if not text.isascii() or not text.isdigit() or int(text) >= 2**32:
        raise argparse.ArgumentTypeError("it is a whole number from 0 to 4294967295")
    return int(text)


def with_folder(settings: Settings, given: str | None) -> Settings:
    """The settings, with a folder that is named by its path allowed for this run."""
    if given is None or ":" in given or not (Path(given) / "config.json").is_file():
        return settings
    folders = (Path(given).resolve(), *settings.model_folders)
    return settings.model_copy(update={"model_folders": folders})


def model(given: str | None, precision: Precision, family: Family) -> ModelRef:
    """The model a flag names, the first bundled one where it names none.

    Raises:
        InputError: it is of no known form.
    """
    if given is None:
        return ModelRef(name=family.presets[0].id, precision=precision)
    try:
        if given.startswith("hub:"):
            name, _, revision = given[4:].partition("@")
            return ModelRef(source="hub", name=name, revision=revision or None, precision=precision)
        if given.startswith("folder:"):
            return ModelRef(source="folder", name=given[7:], precision=precision)
        if given.startswith("made:"):
            return ModelRef(source="made", name=given[5:], precision=precision)
        if (Path(given) / "config.json").is_file():
            return ModelRef(source="folder", name=Path(given).resolve().name, precision=precision)
        if os.sep in given:
            raise InputError(
                f"No config.json is in the folder '{shown(given)}'.",
                "--model",
                "Name one with config.json, tokenizer and safetensors files; a model of the hub "
                "is written hub:org/name.",
            )
        return ModelRef(name=given, precision=precision)
    except ValidationError as error:
        raise InputError(
            f"'{shown(given)}' is not a model reference.",
            "--model",
            "Use a bundled model's id, hub:org/name, folder:NAME or a folder's path.",
        ) from error


def choices(names: str | None, settings: Sequence[str], family: Family) -> tuple[Choice, ...]:
    """The explainers and parameters the flags name.

    Raises:
        InputError: there is no such explainer or parameter.
    """
    wanted = list(family.default) if names is None else [n for n in names.split(",") if n]
    known = {cls.id: cls for cls in family.explainers}
    if not wanted:
        raise InputError("No explainer is named.", "--explainer", f"Use {', '.join(known)}.")
    for name in wanted:
        if name not in known:
            raise InputError(
                f"There is no explainer '{shown(name)}'.", "--explainer", f"Use {', '.join(known)}."
            )
    values: dict[str, dict[str, JsonValue]] = {name: {} for name in dict.fromkeys(wanted)}
    for setting in settings:
        _set(setting, values, {n: set(known[n].Parameters.model_fields) for n in values})
    for name, given in values.items():  # before anything is computed that they stand on
        checked(known[name].Parameters, given, name)
    found = tuple(Choice(explainer=name, parameters=values[name]) for name in values)
    consensus.check(found, family)
    return found


def check_ranks(family: Family, chosen: Sequence[Choice]) -> None:
    """Refuse explainers that rank nothing, before anything is computed.

    Raises:
        InputError: one of them has no ranking to score.
    """
    for choice in chosen:
        if (found := family.find(choice.explainer)).role != "attribution":
            raise InputError(
                f"{found.title} ranks nothing, so it has no faithfulness.",
                "--explainer",
                "Leave it out.",
            )


def won(rows: Sequence[dict[str, Any]], metrics: Sequence[Metric], family: str) -> dict[str, str]:
    """Metric id -> the row of a control, or of random rankings, that no method's is better than.

    Args:
        rows: each with its `explainer` (an id of the family, or RANDOM) and metrics by id.
    """
    known = {cls.id for cls in family_of(family).explainers if cls.control}
    return won_by_control({row["explainer"]: row for row in rows}, {RANDOM, *known}, metrics)


def score_table(
    rows: Sequence[dict[str, Any]], metrics: Sequence[Metric], marked: Mapping[str, str]
) -> str:
    """Scores for people: a line a row, a column a metric, and why a number is not defined.

    Args:
        marked: the metrics that a control wins, as `won` has them; they get an asterisk.
    """
    shown = [metric for metric in metrics if metric.id in rows[0]]
    arrows = ["higher" if metric.higher_is_better else "lower" for metric in shown]
    lines = [
        f"{'':24}" + "".join(f"{_head(metric.id, marked):>18}" for metric in shown),
        f"{'better is':24}" + "".join(f"{arrow:>18}" for arrow in arrows),
    ]
    for row in rows:
        cells = (row[metric.id] for metric in shown)
        numbers = (f"{'-':>18}" if value is None else f"{value:18.4f}" for value in cells)
        lines.append(f"{row['explainer']:24}" + "".join(numbers))
    reasons = {reason for row in rows for reason in row["undefined"].values()}
    lines += [f"not defined: {reason}" for reason in sorted(reasons)]
    said = words(marked, {metric.id: metric.id for metric in metrics})
    return "\n".join([*lines, *(f"* {sentence}" for sentence in said)])


def _head(metric: str, marked: Mapping[str, str]) -> str:
    return f"{metric[:16]}{'*' if metric in marked else ''}"


def _set(
    setting: str, values: dict[str, dict[str, JsonValue]], fields: dict[str, set[str]]
) -> None:
    left, equals, right = setting.partition("=")
    only, dot, name = left.rpartition(".")
    having = [e for e in values if name in fields[e] and (not dot or e == only)]
    if not equals or not having:
        listed = "; ".join(f"{e}: {', '.join(sorted(f)) or 'none'}" for e, f in fields.items())
        raise InputError(f"'{shown(setting)}' sets nothing.", "--set", f"Parameters are {listed}.")
    try:
        value = json.loads(right)
    except (ValueError, RecursionError):
        value = right
    for explainer in having:
        values[explainer][name] = value


def finish(engine: Engine, requests: Sequence[Request]) -> list[tuple[Job, Explanation]]:
    """Submit the requests and wait for all of them; an interrupt cancels them.

    Raises:
        VitrineError: a request cannot be done; the text says what to do.
        FaultError: a job failed by a fault of ours.
    """
    jobs: list[Job] = []
    try:
        jobs.extend(_submitted(engine, request) for request in requests)
        for job in jobs:
            _wait(job)
    except KeyboardInterrupt:
        for job in jobs:
            engine.cancel(job.key)
        raise
    return [(job, _result(engine, job)) for job in jobs]


def attempt(engine: Engine, requests: Sequence[Request]) -> list[Explanation | str]:
    """As `finish`, but a job that cannot be done leaves a sentence in place of its result."""
    jobs: list[Job] = []
    try:
        jobs.extend(_submitted(engine, request) for request in requests)
        return [_attempted(engine, job) for job in jobs]
    except KeyboardInterrupt:
        for job in jobs:
            engine.cancel(job.key)
        raise


def _attempted(engine: Engine, job: Job) -> Explanation | str:
    try:
        _wait(job)
    except VitrineError as error:
        return str(error)
    return _result(engine, job)


def _submitted(engine: Engine, request: Request) -> Job:
    try:
        return engine.submit(request)
    except ModelNotReady:
        fetched = engine.prepare(request.model, request.family)
        _wait(fetched)
        return engine.submit(request)


def _wait(job: Job) -> None:
    watched = sys.stderr.isatty() or in_notebook()
    while not job.wait(0.2):
        if watched:
            share = f" {job.done / job.total:4.0%}" if job.total and job.done else ""
            _line(f"{job.title}: {job.what or job.state}{share}")
    if watched:
        _line("")
    if job.state == "failed":
        raise FaultError(job.error) if job.fault else VitrineError(job.error)
    if job.state == "cancelled":
        raise KeyboardInterrupt


def in_notebook() -> bool:
    """Whether what is written to the standard error stream is shown below a notebook's cell."""
    return type(sys.stderr).__module__.startswith("ipykernel")


def _line(text: str) -> None:
    """Write over the line before; notebooks know no sign that clears one."""
    sys.stderr.write(f"\r{text[:LINE]:{LINE}}\r{text[:LINE]}")
    sys.stderr.flush()


def _result(engine: Engine, job: Job) -> Explanation:
    found = engine.result(job.key)
    if found is None:
        raise FaultError("A result went missing from the store; run the command again.")
    return found


def family_of(name: str) -> Family:
    """A family by its id.

    Raises:
        InputError: there is none.
    """
    families = catalogue()
    if name not in families:
        raise InputError(f"There is no family '{name}'.", "", f"Use {', '.join(families)}.")
    return families[name]
