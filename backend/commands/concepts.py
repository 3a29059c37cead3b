"""The Concepts family on the command line."""

from __future__ import annotations

import argparse
from typing import Any, cast

from backend.commands import work
from backend.commands.desk import Picture
from backend.concepts import arguments, concept_metrics, files, plan, slice_table, studied
from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget
from backend.concepts.slice_metrics import METRICS
from backend.engine.engine import Engine
from backend.errors import InputError
from backend.explanation import Comparison, Explanation, Request
from backend.settings import Settings
from backend.study import Studied

SEEDS = 5


class Desk:
    """A table of concept predictions, or a bundled model that is trained for one."""

    def add_explain(self, parser: argparse.ArgumentParser) -> None:
        arguments.add(parser)
        work.add(parser)

    def add_study(self, parser: argparse.ArgumentParser) -> None:
        self.add_explain(parser)

    def add_score(self, parser: argparse.ArgumentParser) -> None:
        self.add_explain(parser)
        parser.add_argument(
            "--seeds",
            metavar="N",
            type=int,
            help=f"slicings are scored over N seeds from --seed and --train-seed on (default "
            f"{SEEDS})",
        )

    def comparison(self, given: argparse.Namespace, engine: Engine) -> Comparison:
        family = work.family_of(given.family)
        if given.model is not None or given.precision != "float32":
            raise InputError(
                "The Concepts family takes its model from --example or --input.",
                "--model",
                "Leave out --model and --precision.",
            )
        table, target = arguments.table(given, engine.settings), arguments.target(given)
        if table is not None:
            arguments.check(table, target)
        return Comparison(
            family=family.id,
            model=arguments.model(given),
            input=engine.put_input(table or ConceptTable.none(), family.id),
            target=target.model_dump(mode="json"),
            choices=work.choices(given.explainer, given.set, family),
            seed=given.seed,
        )

    def requests(self, engine: Engine, comparison: Comparison) -> tuple[Request, ...]:
        return plan.requests(comparison, _table(engine, comparison))

    def files(
        self, explanation: Explanation, comparison: Comparison, engine: Engine, picture: Picture
    ) -> dict[str, bytes]:
        found = cast(ConceptExplanation, explanation)
        request = found.source().request
        table = cast(ConceptTable, engine.get_input(request.family, request.input))
        return {
            "explanation.json": files.values(found),
            "arrays.safetensors": files.arrays(found),
            "scores.csv": files.numbers(found),
            "card.html": files.card(found, table, picture("svg")),
            **files.beside(table),
        }

    def score(self, given: argparse.Namespace, settings: Settings) -> dict[str, Any]:
        engine = Engine(settings)
        try:
            comparison = self.comparison(given, engine)
            family = work.family_of(comparison.family)
            roles = {family.find(choice.explainer).role for choice in comparison.choices}
            if roles == {"slicing"}:
                return _slicings(engine, comparison, _count(given.seeds))
            if given.seeds is not None:
                raise InputError("It is for slicing methods only.", "--seeds", "Leave it out.")
            if roles == {"attribution"}:
                return _attributions(engine, comparison)
            raise InputError(
                "Slicings and contributions are scored differently, and experts not at all.",
                "--explainer",
                "Name slicing methods only, or methods of contributions only; see `list`.",
            )
        finally:
            engine.close()

    def study(self, given: argparse.Namespace, engine: Engine) -> Studied:
        if given.explainer is None:
            given.explainer = ",".join(studied.DEFAULT)
        comparison = self.comparison(given, engine)
        family = work.family_of(comparison.family)
        if {family.find(choice.explainer).role for choice in comparison.choices} != {"attribution"}:
            raise InputError(
                "A study compares explainers of one decision.",
                "--explainer",
                f"Name such, e.g. {','.join(studied.DEFAULT)}.",
            )
        digest = _table(engine, comparison)
        table = cast(ConceptTable, engine.get_input(comparison.family, digest))
        return studied.studied(comparison, digest, table, given.items, given.seeds)

    def table(self, outcome: dict[str, Any]) -> str:
        slicing = "seeds" in outcome
        metrics = METRICS if slicing else concept_metrics.METRICS
        lines = [work.score_table(outcome["scores"], metrics, outcome["won_by_control"])]
        if slicing:
            lines.append(f"means over seeds {', '.join(map(str, outcome['seeds']))}")
            lines += _intervals(outcome["scores"])
        return "\n".join([*lines, *outcome.get("remarks", ())])


def _count(seeds: int | None) -> int:
    if seeds is not None and not 1 <= seeds <= 50:
        raise InputError("It is a whole number from 1 to 50.", "--seeds")
    return seeds or SEEDS


def _table(engine: Engine, comparison: Comparison) -> str:
    """The digest of the table: the one that was brought, or the one of a trained model."""
    if ConceptTarget.model_validate(comparison.target).recipe is None:
        return comparison.input
    [(_, found)] = work.finish(engine, [plan.train_request(comparison)])
    table = plan.table_of(cast(ConceptExplanation, found))
    return engine.put_input(table, comparison.family)


def _slicings(engine: Engine, comparison: Comparison, seeds: int) -> dict[str, Any]:
    """Every method's slices against known groups, the same models and errors for all."""
    found: dict[str, dict[int, Any]] = {choice.explainer: {} for choice in comparison.choices}
    titles = {name: work.family_of(comparison.family).find(name).title for name in found}
    errors: dict[int, Any] = {}
    numbers = [plan.at_seed(comparison, i).seed for i in range(seeds)]
    for i, seed in enumerate(numbers):
        one = plan.at_seed(comparison, i)
        subjects = plan.requests(one, _table(engine, one))
        asked = plan.score_requests(subjects, lambda _: "slicing")
        work.finish(engine, subjects)
        for request, (_, score) in zip(subjects, work.finish(engine, asked), strict=True):
            found[request.explainer][seed] = score.values
            errors[seed] = {
                "left_out": score.values["left_out"],
                "groups": {g["name"]: g["errors"] for g in score.values["per_group"]},
            }
    table = slice_table.rows(found)
    scores = [
        {
            "explainer": row.explainer,
            **row.metrics,
            "interval": {name: list(ends) for name, ends in row.intervals.items()},
            "by_seed": {name: list(values.values()) for name, values in row.by_seed.items()},
            "undefined": row.undefined,
            "seconds": row.seconds,
        }
        for row in table
    ]
    return {
        "scores": scores,
        "won_by_control": work.won(scores, METRICS, comparison.family),
        "seeds": numbers,
        "errors": errors,
        "remarks": slice_table.remarks(table, titles),
    }


def _attributions(engine: Engine, comparison: Comparison) -> dict[str, Any]:
    """Every method's ranking of concepts by deletion and insertion, beside random ones."""
    subjects = plan.requests(comparison, _table(engine, comparison))
    work.finish(engine, subjects)
    asked = plan.score_requests(subjects, lambda _: "attribution")
    names = [*(request.explainer for request in subjects), work.RANDOM]
    scores = []
    for name, (_, found) in zip(names, work.finish(engine, asked), strict=True):
        values = found.values
        [(operator, metrics)] = values["metrics"].items()
        row = {"explainer": name, **metrics, "operator": operator}
        if spread := values.get("spread", {}).get(operator):
            row["spread"] = spread
        scores.append(row | {k: values[k] for k in ("undefined", "seconds", "forward_passes")})
    won = work.won(scores, concept_metrics.METRICS, comparison.family)
    return {"scores": scores, "won_by_control": won}


def _intervals(scores: list[dict[str, Any]]) -> list[str]:
    lines = ["95 % intervals of the means:"]
    for row in scores:
        ends = (f"{name} [{low:.3f}, {high:.3f}]" for name, (low, high) in row["interval"].items())
        lines.append(f"  {row['explainer']:22}" + "  ".join(ends))
    return lines
