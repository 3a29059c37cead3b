"""How faithful each method is on a bundled example, beside random rankings.

Every method is scored by one harness: the same tokens, the same removals, the same answer. The
figures are `<method>_<metric>` for comprehensiveness, gap and recovery (the last where the example
has planted evidence), and `above_random`: how many methods have a higher comprehensiveness than
the mean of the random rankings. Results come from the store where they are there already.

Run with: python -m bench.faithfulness [--json] [--example NAME] [--explainer ID[,ID...]]
    [--operator key_masking|neutral]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from backend.engine.engine import Engine
from backend.engine.job import Job
from backend.errors import VitrineError
from backend.explanation import Choice, Comparison, ModelRef
from backend.settings import settings
from backend.tokens import FAMILY
from backend.tokens.ablation import OPERATORS
from backend.tokens.examples import EXAMPLES, example
from backend.tokens.explanation import TokenExplanation
from backend.tokens.plan import continuation_request, requests, score_requests
from bench.report import arguments, report

COLUMNS = ("comprehensiveness", "sufficiency", "gap", "rise", "mas", "recovery", "mass_on_gold")
FIGURES = ("comprehensiveness", "gap", "recovery")
RANDOM = "random"


def scores(engine: Engine, name: str, explainers: Sequence[str]) -> dict[str, TokenExplanation]:
    """The faithfulness of each explainer on an example, and of random rankings.

    Raises:
        VitrineError: a job failed.
    """
    given = example(name)
    model = ModelRef(name=FAMILY.presets[0].id)
    finished(engine, engine.prepare(model, FAMILY.id))
    comparison = Comparison(
        family=FAMILY.id,
        model=model,
        input=engine.put_input(given.prompt, FAMILY.id),
        target=given.target.model_dump(mode="json"),
        choices=tuple(Choice(explainer=explainer) for explainer in explainers),
    )
    answer = explained(engine, engine.submit(continuation_request(comparison)))
    attributions = requests(comparison, answer)
    for job in [engine.submit(request) for request in attributions]:
        finished(engine, job)
    jobs = [engine.submit(r) for r in score_requests(comparison, answer, attributions)]
    return {
        name: explained(engine, job) for name, job in zip((*explainers, RANDOM), jobs, strict=True)
    }


def finished(engine: Engine, job: Job) -> None:
    """Wait for a job.

    Raises:
        VitrineError: it failed.
    """
    while not job.wait(1.0):
        engine.touch(job.key, "")
        print(
            f"\r{job.title}: {job.what} {job.done:g}/{job.total:g}\033[K", end="", file=sys.stderr
        )
    print("\r\033[K", end="", file=sys.stderr)
    if job.state != "done":
        raise VitrineError(f"{job.title} {job.state}: {job.error}")


def explained(engine: Engine, job: Job) -> TokenExplanation:
    """The result of a job."""
    finished(engine, job)
    found = engine.result(job.key)
    assert isinstance(found, TokenExplanation)
    return found


def rows(found: dict[str, TokenExplanation], operator: str) -> list[list[object]]:
    """The table: a method a line, random rankings with their spread last."""
    lines: list[list[object]] = []
    for name, score in found.items():
        values = score.values["metrics"][operator]
        cells = ["-" if values[column] is None else values[column] for column in COLUMNS]
        cost = [score.values["seconds"], score.values["forward_passes"]]
        lines.append([name, *cells, *cost])
        spread = score.values["spread"].get(operator)
        if spread:
            lines.extend(
                [
                    f"{name}, {label}",
                    *(spread[c][i] if c in spread else "-" for c in COLUMNS),
                    "",
                    "",
                ]
                for i, label in enumerate(("2.5 %", "97.5 %"))
            )
    return lines


def figures(found: dict[str, TokenExplanation], operator: str) -> dict[str, float]:
    """The numbers by name; a metric that is undefined has none."""
    values = {name: score.values["metrics"][operator] for name, score in found.items()}
    named = {
        f"{name}_{metric}": found_values[metric]
        for name, found_values in values.items()
        for metric in FIGURES
        if found_values[metric] is not None
    }
    bar = values[RANDOM]["comprehensiveness"]
    above = [
        name
        for name, own in values.items()
        if name != RANDOM and bar is not None and (own["comprehensiveness"] or -1.0) > bar
    ]
    return {**named, "above_random": len(above)}


def choose(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The arguments, checked."""
    offered = [cls.id for cls in FAMILY.explainers if cls.role == "attribution"]
    parser.add_argument("--example", default="needle", choices=[e.id for e in EXAMPLES])
    parser.add_argument("--explainer", default=",".join(offered), help="ids, separated by commas")
    parser.add_argument("--operator", default=OPERATORS[0], choices=OPERATORS)
    chosen = parser.parse_args()
    chosen.explainer = chosen.explainer.split(",")
    unknown = sorted(set(chosen.explainer) - set(offered))
    if unknown:
        parser.error(f"no explainer {', '.join(unknown)}; there are {', '.join(offered)}")
    return chosen


def main() -> None:
    """Score, then print."""
    chosen = choose(arguments(__doc__ or ""))
    engine = Engine(settings())
    try:
        found = scores(engine, chosen.example, chosen.explainer)
    finally:
        engine.close()
    report(
        ("method", *COLUMNS, "seconds", "passes"),
        rows(found, chosen.operator),
        figures(found, chosen.operator),
        as_json=chosen.json,
        libraries=("torch", "transformers"),
    )


if __name__ == "__main__":
    main()
