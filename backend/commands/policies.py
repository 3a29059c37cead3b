"""The Policies family on the command line."""

from __future__ import annotations

import argparse
from typing import Any, cast

from backend.commands import work
from backend.commands.desk import Picture
from backend.engine.engine import Engine
from backend.errors import InputError
from backend.explanation import Comparison, Explanation, Request
from backend.policies import arguments, files, plan, prepared
from backend.policies.explanation import Experience, PolicyExplanation
from backend.policies.policy_metrics import METRICS
from backend.settings import Settings

CAUSES = ("causes", "tree", "logistic", "always", "named")
"""Numbers of the fidelity of causes."""


class Desk:
    """An agent in an environment, or a table of trajectories; one moment is explained."""

    def add_explain(self, parser: argparse.ArgumentParser) -> None:
        arguments.add(parser)
        work.add(parser)

    def add_score(self, parser: argparse.ArgumentParser) -> None:
        self.add_explain(parser)

    def comparison(self, given: argparse.Namespace, engine: Engine) -> Comparison:
        family = work.family_of(given.family)
        if given.model is not None or given.precision != "float32":
            raise InputError(
                "The Policies family takes its environment from --example or --input.",
                "--model",
                "Leave out --model and --precision.",
            )
        target, brought = arguments.target(given), arguments.experience(given, engine.settings)
        return Comparison(
            family=family.id,
            model=arguments.model(given),
            input=engine.put_input(brought, family.id),
            target=target.model_dump(mode="json"),
            choices=work.choices(given.explainer, given.set, family),
            seed=given.seed,
        )

    def requests(self, engine: Engine, comparison: Comparison) -> tuple[Request, ...]:
        digest, _ = _experience(engine, comparison)
        return plan.requests(comparison, digest)

    def files(
        self, explanation: Explanation, comparison: Comparison, engine: Engine, picture: Picture
    ) -> dict[str, bytes]:
        found = cast(PolicyExplanation, explanation)
        request = found.source().request
        experience = cast(Experience, engine.get_input(request.family, request.input))
        return {
            "explanation.json": files.values(found),
            "arrays.safetensors": files.arrays(found),
            "scores.csv": files.numbers(found),
            "card.html": files.card(found, experience, picture("svg")),
            **files.beside(experience),
        }

    def score(self, given: argparse.Namespace, settings: Settings) -> dict[str, Any]:
        engine = Engine(settings)
        try:
            comparison = self.comparison(given, engine)
            work.check_ranks(work.family_of(comparison.family), comparison.choices)
            digest, _ = _experience(engine, comparison)
            subjects = plan.requests(comparison, digest)
            explained = [found for _, found in work.finish(engine, subjects)]
            names = [*(request.explainer for request in subjects), work.RANDOM]
            asked = plan.score_requests(subjects)
            scores = [
                _row(name, found)
                for name, (_, found) in zip(names, work.finish(engine, asked), strict=True)
            ]
            graph = plan.graph_request(comparison, digest)
            [(_, learned)] = work.finish(engine, [graph])
            causes = _of_causes(engine, plan.fidelity_request(comparison, digest))
        finally:
            engine.close()
        return {
            "scores": scores,
            "won_by_control": work.won(scores, METRICS, comparison.family),
            "structure": learned.values["structure_scores"],
            "learner": learned.values["learner"],
            "effects": _effects(explained),
            "fidelity": _fidelity(explained),
            "causes_fidelity": causes,
        }

    def table(self, outcome: dict[str, Any]) -> str:
        lines = [work.score_table(outcome["scores"], METRICS, outcome["won_by_control"])]
        if outcome["structure"] is not None:
            told = "  ".join(f"{name} {value:.3f}" for name, value in outcome["structure"].items())
            lines.append(f"causal graph ({outcome['learner']}) against the equations: {told}")
        for one in outcome["effects"]:
            if one["r2"] is not None:
                covered = one["coverage"]
                said = "-" if covered is None else f"{covered:.3f}"
                lines.append(
                    f"effect on {one['target']}: held-out R² {one['r2']:.4f}, "
                    f"inside the 90 % interval {said}"
                )
        told = outcome["causes_fidelity"]
        if told is not None:
            lines.append(
                f"next action from {told['named']:.1f} local causes alone {told['causes']:.1%}; of "
                f"all variables, tree {told['tree']:.1%}, logistic regression "
                f"{told['logistic']:.1%}; most frequent action {told['always']:.1%}"
            )
        if outcome["fidelity"] is not None:
            lines.append(f"the tree agrees with the agent in {outcome['fidelity']:.1%} of states")
        return "\n".join(lines)


def _experience(engine: Engine, comparison: Comparison) -> tuple[str, Experience]:
    given = cast(Experience, engine.get_input(comparison.family, comparison.input))

    def finish(request: Request) -> Explanation:
        [(_, found)] = work.finish(engine, [request])
        return found

    found = prepared.experience(
        comparison, given, finish, lambda made: engine.put_input(made, comparison.family)
    )
    assert found is not None  # noqa: S101  finishing waits
    return found


def _of_causes(engine: Engine, request: Request) -> dict[str, float] | None:
    """How well causes tell the next action; None where there is nothing to tell."""
    [found] = work.attempt(engine, [request])
    if isinstance(found, str):
        return None
    return {name: float(found.values[name]) for name in CAUSES}


def _row(name: str, found: Explanation) -> dict[str, Any]:
    values = found.values
    [(operator, metrics)] = values["metrics"].items()
    row = {"explainer": name, **metrics, "operator": operator}
    if spread := values.get("spread", {}).get(operator):
        row["spread"] = spread
    return row | {k: values[k] for k in ("undefined", "seconds", "forward_passes")}


def _effects(explained: list[Explanation]) -> list[dict[str, Any]]:
    return next((list(e.values["errors"]) for e in explained if "errors" in e.values), [])


def _fidelity(explained: list[Explanation]) -> float | None:
    return next((float(e.values["fidelity"]) for e in explained if "fidelity" in e.values), None)
