"""A study of the Graphs family: the chosen methods on many graphs or nodes of a set."""

from __future__ import annotations

from backend.catalogue import draws, find
from backend.explanation import Comparison
from backend.graphs import files, items, plan
from backend.graphs.explanation import GraphSet
from backend.graphs.graph_metrics import METRICS
from backend.graphs.naming import item_name
from backend.graphs.plan import Sets
from backend.study import Case, Studied


def studied(
    comparison: Comparison, sets: Sets, graphs: GraphSet, most: int, seeds: int = 1
) -> Studied:
    """The study of a comparison's methods; see `cases`."""
    chosen = [find(request) for request in plan.requests(comparison, sets)]
    return Studied(
        cases=cases(comparison, sets, graphs, most, seeds),
        methods=[explainer.id for explainer in chosen],
        titles=[explainer.title for explainer in chosen],
        controls=[explainer.id for explainer in chosen if explainer.control],
        metrics=METRICS,
        about=graphs.title,
        command=files.study_command(comparison, graphs, most, seeds),
        beside=lambda: files.beside(graphs),
    )


def cases(
    comparison: Comparison, sets: Sets, graphs: GraphSet, most: int, seeds: int = 1
) -> list[Case]:
    """One case an item, of the test items first those with a known reason.

    Args:
        graphs: the explained set.
        most: items at most.
        seeds: explanations of each item by a method that draws random numbers.
    """
    found = []
    for item in items.to_score(graphs, most).tolist():
        target = items.target(graphs, item).model_dump(mode="json")
        one = comparison.model_copy(update={"target": target})
        asked = plan.requests(one, sets)
        again = tuple(
            tuple(request.at_seed(seed) for seed in range(1, seeds if draws(request) else 1))
            for request in asked
        )
        recipe = comparison.target.get("recipe")
        found.append(
            Case(
                title=item_name(graphs, item),
                opens=one.model_copy(update={"target": {**target, "recipe": recipe}}),
                asked=asked,
                again=again,
                scores=plan.score_requests(asked),
                command="\n".join(files.command(request, graphs) for request in asked),
            )
        )
    return found
