"""From what a page shows to the requests behind it: the table, then explainers and scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from backend import consensus
from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget, Recipe
from backend.explanation import Comparison, Request

SCORES = {"slicing": "slice_score", "attribution": "faithfulness"}
"""The step that scores explainers of a role."""
_TUPLES = ("concept_names", "class_names", "group_names", "planted", "references")


def train_request(comparison: Comparison) -> Request:
    """The request for the table: what a model says that is trained by the comparison's recipe."""
    asked = ConceptTarget.model_validate(comparison.target)
    return Request(
        family=comparison.family,
        explainer="train_cbm",
        model=comparison.model,
        input=comparison.input,
        target=ConceptTarget(recipe=asked.recipe or Recipe()).model_dump(mode="json"),
    )


def table_of(explanation: ConceptExplanation) -> ConceptTable:
    """The table a training found; its `origin` holds recipe and accuracies.

    Raises:
        ValueError: the explanation holds no table.
    """
    values: dict[str, Any] = explanation.values
    if values.get("kind") != "table":
        raise ValueError(f"this explanation holds {values.get('kind')!r}, not a table")
    return ConceptTable(
        arrays={
            name: array
            for name, array in explanation.arrays.items()
            if not name.startswith("encoder/")
        },
        title=values["title"],
        exclusive=tuple(tuple(each) for each in values["exclusive"]),
        bottleneck=values["bottleneck"],
        origin=dict(values["origin"]),
        **{name: tuple(values[name]) for name in _TUPLES},
    )


def requests(comparison: Comparison, table: str) -> tuple[Request, ...]:
    """One request a chosen explainer, all about the same table.

    Args:
        comparison: what the page shows.
        table: digest of the table, which takes the place of the comparison's input.
    """
    asked = ConceptTarget.model_validate(comparison.target)
    target = asked.model_copy(update={"recipe": None}).model_dump(mode="json")
    return consensus.joined(
        [
            Request(
                family=comparison.family,
                explainer=choice.explainer,
                model=comparison.model,
                input=table,
                target=target,
                parameters=choice.parameters,
                seed=comparison.seed,
            )
            for choice in comparison.choices
        ]
    )


def at_seed(comparison: Comparison, offset: int) -> Comparison:
    """The comparison with another seed: of the explainers, and of the model where one is trained.

    Args:
        offset: added to both seeds.
    """
    asked = ConceptTarget.model_validate(comparison.target)
    if asked.recipe is not None:
        recipe = asked.recipe.model_copy(update={"seed": (asked.recipe.seed + offset) % 2**32})
        asked = asked.model_copy(update={"recipe": recipe})
    seed = (comparison.seed + offset) % 2**32
    update = {"seed": seed, "target": asked.model_dump(mode="json")}
    return comparison.model_copy(update=update)


def score_requests(
    subjects: tuple[Request, ...], role_of: Callable[[str], str]
) -> tuple[Request, ...]:
    """One request a subject that can be scored: slices against groups, attributions by removal.

    Attributions are followed by one request without a subject: random rankings of the concepts.

    Args:
        subjects: from `requests`.
        role_of: the role of an explainer by its id.
    """
    found = [
        _score(subject, SCORES[role], subject)
        for subject in subjects
        if (role := role_of(subject.explainer)) in SCORES
    ]
    ranked = [request for request in found if request.explainer == SCORES["attribution"]]
    if ranked:
        found.append(ranked[0].model_copy(update={"subject": None}))
    return tuple(found)


def _score(about: Request, step: str, subject: Request) -> Request:
    return Request(
        family=about.family,
        explainer=step,
        model=about.model,
        input=about.input,
        target=about.target,
        seed=about.seed,
        subject=subject,
    )
