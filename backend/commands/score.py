"""`score`: how faithful each explainer is on one input or a suite, beside random rankings."""

from __future__ import annotations

import argparse
from typing import Any

from backend.commands import explain, suite, work
from backend.engine.engine import Engine
from backend.settings import Settings
from backend.tokens import arguments, plan
from backend.tokens.metrics import METRICS

OPERATORS = ("key_masking", "neutral")
RANDOM = "random"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `score`."""
    suite.add(parser, arguments.add(parser))
    work.add(parser)
    parser.add_argument(
        "--operator",
        choices=OPERATORS,
        default=OPERATORS[0],
        help="how a token is taken away: hide its keys, or put a neutral token in its place",
    )


def run(given: argparse.Namespace, settings: Settings) -> dict[str, Any]:
    """Compute and return what `--json` prints; a metric that is not defined is null."""
    if given.suite is not None:
        return suite.run(given, settings)
    suite.refuse(given)
    engine = Engine(settings)
    try:
        comparison, _ = explain.asked(given, engine)
        work.check_ranks(work.family_of(comparison.family), comparison.choices)
        continuation, ranked = explain.requests(engine, comparison)
        work.finish(engine, ranked)
        asked = plan.score_requests(comparison, continuation, ranked)
        names = [*(request.explainer for request in ranked), RANDOM]
        scores = []
        for name, (_, found) in zip(names, work.finish(engine, asked), strict=True):
            scores.append({"explainer": name, **_row(found.values, given.operator)})
        return {"scores": scores}
    finally:
        engine.close()


def _row(values: dict[str, Any], operator: str) -> dict[str, Any]:
    """One operator's metrics by name; those of the others under the operator's own name."""
    metrics, spread = values["metrics"], values.get("spread", {})
    row = {**metrics[operator], "operator": operator}
    if operator in spread:
        row["spread"] = spread[operator]
    for other in metrics:
        if other != operator:
            row[other] = dict(metrics[other])
            if other in spread:
                row[other]["spread"] = spread[other]
    return row | {name: values[name] for name in ("undefined", "seconds", "forward_passes")}


def table(outcome: dict[str, Any]) -> str:
    """The outcome for people."""
    if "suite" in outcome:
        return suite.table(outcome)
    shown = [metric for metric in METRICS if metric.id in outcome["scores"][0]]
    arrows = ["higher" if metric.higher_is_better else "lower" for metric in shown]
    lines = [
        f"{'':24}" + "".join(f"{metric.id[:16]:>18}" for metric in shown),
        f"{'better is':24}" + "".join(f"{arrow:>18}" for arrow in arrows),
    ]
    for row in outcome["scores"]:
        cells = (row[metric.id] for metric in shown)
        numbers = (f"{'-':>18}" if value is None else f"{value:18.4f}" for value in cells)
        lines.append(f"{row['explainer']:24}" + "".join(numbers))
    reasons = {reason for row in outcome["scores"] for reason in row["undefined"].values()}
    return "\n".join([*lines, *(f"not defined: {reason}" for reason in sorted(reasons))])
