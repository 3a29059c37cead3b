"""From what a page shows to the requests behind it: the trained set, fits, explainers, scores."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from pydantic import JsonValue

from backend import consensus
from backend.catalogue import find
from backend.explainer import Explainer
from backend.explanation import Choice, Comparison, Request
from backend.graphs.explanation import GraphExplanation, GraphSet, GraphTarget, Recipe
from backend.graphs.graph_faithfulness import GraphFaithfulness
from backend.graphs.graph_suite import GraphSuite
from backend.graphs.train_gnn import TrainGnn


@dataclasses.dataclass(frozen=True)
class Sets:
    """Digests of the sets an explanation rests on.

    Attributes:
        explained: the graphs that are explained, with the GNN's weights.
        fitted: the graphs on which explainers that learn are fitted, with the same weights.
    """

    explained: str
    fitted: str


def train_request(comparison: Comparison, none: str) -> Request:
    """The request for the trained set, by the comparison's recipe.

    Args:
        none: digest of the set of no graphs.
    """
    asked = GraphTarget.model_validate(comparison.target)
    return Request(
        family=comparison.family,
        explainer=TrainGnn.id,
        model=comparison.model,
        input=none,
        target=GraphTarget(recipe=asked.recipe or Recipe()).model_dump(mode="json"),
    )


def set_of(explanation: GraphExplanation) -> GraphSet:
    """The set a training found; its `origin` holds recipe and accuracies.

    Raises:
        ValueError: the explanation holds no set.
    """
    values: dict[str, Any] = dict(explanation.values)
    if values.pop("kind", None) != "set":
        raise ValueError("this explanation holds no set of graphs")
    return GraphSet.build(values, explanation.arrays)


def requests(comparison: Comparison, sets: Sets) -> tuple[Request, ...]:
    """One request a chosen explainer; of those that learn, the fit is its subject."""
    target = _plain(comparison)
    return consensus.joined(
        [
            Request(
                family=comparison.family,
                explainer=choice.explainer,
                model=comparison.model,
                input=sets.explained,
                target=target,
                parameters=choice.parameters,
                seed=comparison.seed,
                subject=fit_request(comparison, choice, sets),
            )
            for choice in comparison.choices
        ]
    )


def request(comparison: Comparison, sets: Sets, explainer: str) -> Request:
    """The request of one of the chosen explainers."""
    return next(one for one in requests(comparison, sets) if one.explainer == explainer)


def fit_request(comparison: Comparison, choice: Choice, sets: Sets) -> Request | None:
    """The request for what an explainer learns once for all graphs, or None where there is none.

    It is the same for every graph, so one fit serves all.
    """
    step = _fit(find(_named(comparison, choice.explainer)))
    if step is None:
        return None
    fields = find(_named(comparison, step)).Parameters.model_fields
    return Request(
        family=comparison.family,
        explainer=step,
        model=comparison.model,
        input=sets.fitted,
        target=GraphTarget().model_dump(mode="json"),
        parameters={name: v for name, v in choice.parameters.items() if name in fields},
        seed=comparison.seed,
    )


def score_requests(subjects: Iterable[Request]) -> tuple[Request, ...]:
    """The faithfulness of each explanation, and of random rankings: a request without a subject."""
    subjects = tuple(subjects)
    if not subjects:
        return ()
    first = subjects[0]
    return tuple(
        Request(
            family=first.family,
            explainer=GraphFaithfulness.id,
            model=first.model,
            input=first.input,
            target=first.target,
            seed=first.seed,
            subject=subject,
        )
        for subject in (*subjects, None)
    )


def suite_choices(comparison: Comparison) -> tuple[Choice, ...]:
    """The explainers that are scored over many graphs.

    A consensus is of explanations of one input, so it is not among them; a study scores it.
    """
    return tuple(c for c in comparison.choices if c.explainer != consensus.ID)


def suite_requests(comparison: Comparison, sets: Sets, graphs: int) -> tuple[Request, ...]:
    """One request of each of `suite_choices`, and one of random rankings: scores of many graphs.

    Args:
        graphs: how many items, from the set's test items in their order.
    """
    chosen = suite_choices(comparison)
    named = [(c, {"explainer": c.explainer, "settings": c.parameters}) for c in chosen]
    label = GraphTarget().model_dump(mode="json")
    shared: dict[str, Any] = {
        "family": comparison.family,
        "explainer": GraphSuite.id,
        "model": comparison.model,
        "input": sets.explained,
        "target": label,
        "seed": comparison.seed,
    }
    found = [
        Request(
            **shared,
            parameters={**values, "graphs": graphs},
            subject=fit_request(comparison, choice, sets),
        )
        for choice, values in named
    ]
    return (*found, Request(**shared, parameters={"explainer": "", "graphs": graphs}))


def learns(explainer: Explainer) -> bool:
    """Whether it is fitted to a GNN before it explains."""
    return _fit(explainer) is not None


def _fit(explainer: Explainer) -> str | None:
    found: str | None = getattr(explainer, "fit", None)
    return found


def _named(comparison: Comparison, explainer: str) -> Request:
    """A request that names an explainer and nothing else, for the catalogue."""
    return Request(
        family=comparison.family,
        explainer=explainer,
        model=comparison.model,
        input=comparison.input,
    )


def _plain(comparison: Comparison) -> dict[str, JsonValue]:
    asked = GraphTarget.model_validate(comparison.target)
    return asked.model_copy(update={"recipe": None}).model_dump(mode="json")
