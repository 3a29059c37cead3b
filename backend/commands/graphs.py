"""The Graphs family on the command line."""

from __future__ import annotations

import argparse
from typing import Any, cast

from backend.commands import work
from backend.commands.desk import Picture
from backend.engine.engine import Engine
from backend.errors import InputError
from backend.explanation import Comparison, Explanation, Request
from backend.graphs import adopt, arguments, files, graph_metrics, plan, set_table, studied
from backend.graphs.explanation import GraphExplanation, GraphSet, GraphTarget
from backend.graphs.plan import Sets
from backend.settings import Settings
from backend.study import Studied

ITEMS = 20


class Desk:
    """A bundled data set whose GNN is trained, graphs for that GNN, or graphs with a GNN."""

    def add_explain(self, parser: argparse.ArgumentParser) -> None:
        arguments.add(parser)
        work.add(parser)

    def add_study(self, parser: argparse.ArgumentParser) -> None:
        self.add_explain(parser)

    def add_score(self, parser: argparse.ArgumentParser) -> None:
        self.add_explain(parser)
        parser.add_argument(
            "--items",
            metavar="N",
            type=int,
            default=ITEMS,
            help=f"how many test graphs (or nodes) are scored (default {ITEMS})",
        )

    def comparison(self, given: argparse.Namespace, engine: Engine) -> Comparison:
        family = work.family_of(given.family)
        if given.precision != "float32":
            raise InputError("GNNs compute in float32.", "--precision", "Leave it out.")
        graphs = arguments.graph_set(given, engine.settings)
        return Comparison(
            family=family.id,
            model=arguments.model(given),
            input=engine.put_input(graphs or GraphSet.none(), family.id),
            target=arguments.target(given, graphs).model_dump(mode="json"),
            choices=work.choices(given.explainer, given.set, family),
            seed=given.seed,
        )

    def requests(self, engine: Engine, comparison: Comparison) -> tuple[Request, ...]:
        return plan.requests(comparison, _sets(engine, comparison))

    def files(
        self, explanation: Explanation, comparison: Comparison, engine: Engine, picture: Picture
    ) -> dict[str, bytes]:
        found = cast(GraphExplanation, explanation)
        request = found.source().request
        graphs = cast(GraphSet, engine.get_input(request.family, request.input))
        return {
            "explanation.json": files.values(found),
            "arrays.safetensors": files.arrays(found),
            "scores.csv": files.numbers(found),
            "card.html": files.card(found, graphs, picture("svg")),
            **files.beside(graphs),
        }

    def score(self, given: argparse.Namespace, settings: Settings) -> dict[str, Any]:
        if not 1 <= given.items <= 10_000:
            raise InputError("It is a whole number from 1 to 10,000.", "--items")
        engine = Engine(settings)
        try:
            comparison = self.comparison(given, engine)
            work.check_ranks(work.family_of(comparison.family), comparison.choices)
            sets = _sets(engine, comparison)
            asked = plan.suite_requests(comparison, sets, given.items)
            names = [*(choice.explainer for choice in plan.suite_choices(comparison)), work.RANDOM]
            found = [explanation for _, explanation in work.finish(engine, asked)]
            scores = set_table.scores(dict(zip(names, found, strict=True)))
            won = work.won(scores, graph_metrics.METRICS, comparison.family)
            return {"scores": scores, "won_by_control": won}
        finally:
            engine.close()

    def study(self, given: argparse.Namespace, engine: Engine) -> Studied:
        comparison = self.comparison(given, engine)
        work.check_ranks(work.family_of(comparison.family), comparison.choices)
        sets = _sets(engine, comparison)
        graphs = cast(GraphSet, engine.get_input(comparison.family, sets.explained))
        return studied.studied(comparison, sets, graphs, given.items, given.seeds)

    def table(self, outcome: dict[str, Any]) -> str:
        rows = outcome["scores"]
        lines = [work.score_table(rows, graph_metrics.METRICS, outcome["won_by_control"])]
        lines.append(f"means over {rows[0]['items']} items; 95 % bootstrap intervals:")
        for row in rows:
            ends = (
                f"{name} [{low:.3f}, {high:.3f}]" for name, (low, high) in row["interval"].items()
            )
            lines.append(f"  {row['explainer']:22}" + "  ".join(ends))
        return "\n".join(lines)


def _sets(engine: Engine, comparison: Comparison) -> Sets:
    """The sets the requests rest on; a bundled GNN is trained first."""
    if GraphTarget.model_validate(comparison.target).recipe is None:
        return Sets(comparison.input, comparison.input)
    none = engine.put_input(GraphSet.none(), comparison.family)
    [(_, found)] = work.finish(engine, [plan.train_request(comparison, none)])
    trained = plan.set_of(cast(GraphExplanation, found))
    fitted = engine.put_input(trained, comparison.family)
    if comparison.input == none:
        return Sets(fitted, fitted)
    brought = cast(GraphSet, engine.get_input(comparison.family, comparison.input))
    explained = engine.put_input(adopt.adopted(brought, trained), comparison.family)
    return Sets(explained, fitted)
