"""A study of the Concepts family: explainers of one decision on many samples of a table."""

from __future__ import annotations

import numpy as np

from backend.catalogue import draws, find
from backend.concepts import files, plan
from backend.concepts.concept_metrics import METRICS
from backend.concepts.explanation import ConceptTable, ConceptTarget
from backend.explanation import Comparison
from backend.study import Case, Studied

DEFAULT = ("linear_contributions", "shapley", "concept_flip", "gradient_x_concept")


def studied(
    comparison: Comparison, digest: str, table: ConceptTable, most: int, seeds: int = 1
) -> Studied:
    """The study of a comparison's methods; see `cases`.

    Args:
        digest: of the table.
    """
    chosen = [find(request) for request in plan.requests(comparison, digest)]
    return Studied(
        cases=cases(comparison, digest, table, most, seeds),
        methods=[explainer.id for explainer in chosen],
        titles=[explainer.title for explainer in chosen],
        controls=[explainer.id for explainer in chosen if explainer.control],
        metrics=METRICS,
        about=table.title,
        command=files.study_command(comparison, table, most, seeds),
        beside=lambda: files.beside(table),
    )


def cases(
    comparison: Comparison, digest: str, table: ConceptTable, most: int, seeds: int = 1
) -> list[Case]:
    """One case a sample. Which samples is drawn, and the same for every study of a table's size.

    Args:
        most: samples at most.
        seeds: explanations of each sample by a method that draws random numbers.
    """
    chosen = np.random.default_rng(0).permutation(len(table))[:most]
    found = []
    for sample in np.sort(chosen).tolist():
        asked = ConceptTarget.model_validate(comparison.target)
        target = asked.model_copy(update={"sample": sample}).model_dump(mode="json")
        one = comparison.model_copy(update={"target": target})
        requests = plan.requests(one, digest)
        again = tuple(
            tuple(request.at_seed(seed) for seed in range(1, seeds if draws(request) else 1))
            for request in requests
        )
        name = table.references[sample] if table.references else ""
        found.append(
            Case(
                title=f"sample {sample}" + (f", {name}" if name else ""),
                opens=one,
                asked=requests,
                again=again,
                scores=plan.score_requests(requests, lambda _: "attribution"),
                command="\n".join(files.command(request, table) for request in requests),
            )
        )
    return found
