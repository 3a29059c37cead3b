"""The Tokens family on the command line."""

from __future__ import annotations

import argparse
from typing import Any, cast

from backend.commands import suite, work
from backend.commands.desk import Picture
from backend.engine.engine import Engine
from backend.explanation import Comparison, Explanation, Request
from backend.settings import Settings
from backend.study import Studied
from backend.tokens import arguments, files, plan, studied
from backend.tokens import suite as suites
from backend.tokens.explanation import Prompt, Target, TokenExplanation
from backend.tokens.metrics import METRICS

OPERATORS = ("key_masking", "neutral")


class Desk:
    """A prompt and an answer of a language model."""

    def add_explain(self, parser: argparse.ArgumentParser) -> None:
        arguments.add(parser)
        work.add(parser)

    def add_score(self, parser: argparse.ArgumentParser) -> None:
        suite.add(parser, arguments.add(parser))
        work.add(parser)
        parser.add_argument(
            "--operator",
            choices=OPERATORS,
            default=OPERATORS[0],
            help="how a token is taken away: hide its keys, or put a neutral token in its place",
        )

    def add_study(self, parser: argparse.ArgumentParser) -> None:
        arguments.add_prompts(parser)
        work.add(parser)

    def comparison(self, given: argparse.Namespace, engine: Engine) -> Comparison:
        family = work.family_of(given.family)
        prompt = arguments.prompt(given, engine.settings)
        return Comparison(
            family=family.id,
            model=work.model(given.model, given.precision, family),
            input=engine.put_input(prompt, family.id),
            target=arguments.target(given).model_dump(mode="json"),
            choices=work.choices(given.explainer, given.set, family),
            seed=given.seed,
        )

    def requests(self, engine: Engine, comparison: Comparison) -> tuple[Request, ...]:
        return plan.requests(comparison, _continuation(engine, comparison))

    def files(
        self, explanation: Explanation, comparison: Comparison, engine: Engine, picture: Picture
    ) -> dict[str, bytes]:
        found = cast(TokenExplanation, explanation)
        prompt = cast(Prompt, engine.get_input(comparison.family, comparison.input))
        return {
            "explanation.json": files.values(found),
            "arrays.safetensors": files.arrays(found),
            "scores.csv": files.numbers(found),
            "card.html": files.card(found, prompt, picture("svg")),
            files.PROMPT_FILE: files.prompt_json(prompt).encode(),
        }

    def score(self, given: argparse.Namespace, settings: Settings) -> dict[str, Any]:
        if given.suite is not None:
            return suite.run(given, settings)
        suite.refuse(given)
        engine = Engine(settings)
        try:
            comparison = self.comparison(given, engine)
            work.check_ranks(work.family_of(comparison.family), comparison.choices)
            continuation = _continuation(engine, comparison)
            ranked = plan.requests(comparison, continuation)
            work.finish(engine, ranked)
            asked = plan.score_requests(comparison, continuation, ranked)
            names = [*(request.explainer for request in ranked), work.RANDOM]
            scores = []
            for name, (_, found) in zip(names, work.finish(engine, asked), strict=True):
                scores.append({"explainer": name, **_row(found.values, given.operator)})
            return {
                "scores": scores,
                "won_by_control": work.won(scores, METRICS, comparison.family),
            }
        finally:
            engine.close()

    def study(self, given: argparse.Namespace, engine: Engine) -> Studied:
        family = work.family_of(given.family)
        named = given.explainer or ",".join(studied.DEFAULT)
        choices = suites.lean(work.choices(named, given.set, family), family)
        work.check_ranks(family, choices)
        prompts = arguments.prompts(given, engine.settings)
        comparison = Comparison(
            family=family.id,
            model=work.model(given.model, given.precision, family),
            input=engine.put_input(prompts, family.id),
            target=Target(max_new_tokens=given.max_new_tokens).model_dump(mode="json"),
            choices=choices,
            seed=given.seed,
        )
        shown = studied.answered(
            comparison, prompts, given.items, lambda one: engine.put_input(one, family.id)
        )
        answers = [_continuation(engine, one) for one in shown]
        return studied.studied(comparison, prompts, shown, answers, given.seeds)

    def table(self, outcome: dict[str, Any]) -> str:
        if "suite" in outcome:
            return suite.table(outcome)
        return work.score_table(outcome["scores"], METRICS, outcome["won_by_control"])


def _continuation(engine: Engine, comparison: Comparison) -> TokenExplanation:
    """The answer that is explained."""
    [(_, found)] = work.finish(engine, [plan.continuation_request(comparison)])
    continuation = cast(TokenExplanation, found)
    span = Target.model_validate(comparison.target).span
    arguments.check_span(span, len(continuation.values["ids"]))
    return continuation


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
