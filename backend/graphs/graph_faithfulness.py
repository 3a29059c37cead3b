"""How faithful scores of edges are: what deleting and keeping their key part does to the class.

Fidelity: Pope et al. 2019, Yuan et al. 2022; characterisation: Amara et al., "GraphFramEx", 2022;
robust fidelity: Zheng et al., "Towards Robust Fidelity for Evaluating Explainability of GNNs", ICLR
2024. Edges are deleted for good and degrees computed anew.
"""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from backend.bundle import Arrays
from backend.cost import cost
from backend.errors import InputError
from backend.explainer import Explainer, Reference, Run
from backend.explanation import Explanation, Frozen
from backend.graphs import graph_metrics as metrics
from backend.graphs.explanation import GraphExplanation, GraphSet, GraphTarget

NO_REASON = "the reason is not known for this graph or node"
NO_EDGES = "the graph has no edges"
RANDOM_HALVES = 5
"""Random halves a random ranking is tried with; over many rankings that is enough."""
AT_ONCE = 2_000_000
"""Edges of cut copies between two looks at whether the job was cancelled."""


class Parameters(Frozen):
    """How edges are ranked, and how often chance is tried."""

    rank_by: Literal["value", "absolute"] = Field(
        "value",
        title="Rank by",
        description="`value`: what speaks for the class comes first; `absolute`: what moves it.",
    )
    draws: Annotated[int, Field(ge=1, le=200)] = Field(
        20,
        title="Draws",
        description="Random rankings, or of an explanation random halves for robust fidelity.",
    )


@dataclasses.dataclass(frozen=True)
class Scored:
    """The numbers of one ranking: METRICS by id (None where undefined), and its two curves."""

    metrics: dict[str, float | None]
    keep: np.ndarray
    remove: np.ndarray


class GraphFaithfulness(Explainer):
    """Numbers of an explanation, or of random rankings where there is none.

    Arrays: fractions [l]; curve/edges/keep, curve/edges/remove [l]: probability of the class with
    only, and without, that share of the highest scores; of random rankings means, with
    spread/edges/keep and spread/edges/remove [2, l] (2.5 and 97.5 %).

    Values: kind "score", metrics (by id), spread (of random rankings, [low, high]), undefined (a
    reason by id), seconds and passes of what was scored, key_edges by share.
    """

    id = "graph_faithfulness"
    title = "Faithfulness of edge scores"
    family = "graphs"
    role = "score"
    reference = Reference(
        authors="Amara, Ying, Zhang, Han, Shan, Brandes, Schemm, Zhang",
        title="GraphFramEx: Towards Systematic Evaluation of Explainability Methods for Graph "
        "Neural Networks",
        year=2022,
        link="https://arxiv.org/abs/2206.09677",
    )
    how_to_read = "Key parts are deleted, or kept alone, for good; degrees are computed anew."
    libraries = ("torch", "torch_geometric", "numpy")
    uses_seed = True
    Parameters = Parameters

    def explain(
        self, model: Any, input: GraphSet, target: GraphTarget, parameters: Any, run: Run
    ) -> GraphExplanation:
        """The numbers.

        Raises:
            InputError: there is no such graph, node or class, or the subject has no scores of the
                edges of this part.
        """
        from backend.graphs.explained import Decision

        decision = Decision(input, target, run.device)
        generator = run.numpy_generator()
        notes: tuple[str, ...] = ()
        if run.subject is None:
            rankings = [generator.random(len(decision.part)) for _ in range(parameters.draws)]
            halves = min(parameters.draws, RANDOM_HALVES)
            parameters = parameters.model_copy(update={"draws": halves})
        else:
            rankings = [subject_scores(run.subject, decision)]
            notes = ties(ranked(rankings[0], parameters))
        found = []
        for done, scores in enumerate(rankings):
            run.progress(done, len(rankings), "rankings of edges")
            found.append(scored(decision, scores, parameters, generator, run))
        arrays, values = told(found, decision)
        return GraphExplanation(
            arrays=arrays,
            values={
                "kind": "score",
                **values,
                **cost(run.subject),
                "graph": decision.part.graph.number,
                "label": decision.label,
                "edges": len(decision.part),
            },
            notes=notes,
        )


def scored(
    decision: Any,
    scores: np.ndarray,
    parameters: Parameters,
    generator: np.random.Generator,
    run: Run,
) -> Scored:
    """The numbers of one ranking by scores [e]; `draws` random halves for robust fidelity."""
    from backend.graphs.classifier import probabilities

    part, e = decision.part, len(decision.part)
    scores = ranked(scores, parameters)
    names = [metric.id for metric in metrics.METRICS]
    if not e:
        nothing = np.full(2, decision.probability)
        return Scored(dict.fromkeys(names), nothing, nothing)
    at = metrics.fractions(e)
    held = metrics.top(metrics.ranking(scores), np.round(at * e).astype(int))
    sizes = np.array([metrics.size_of(share, e) for share in metrics.SHARES])
    key = metrics.top(metrics.ranking(scores), sizes)
    halves = generator.random((parameters.draws, len(sizes), e)) < 0.5
    less_key = ~(key[None] & halves)
    less_rest = key[None] | halves
    copies = np.concatenate(
        [held, ~held, key, ~key, less_key.reshape(-1, e), less_rest.reshape(-1, e)]
    )
    every = probabilities(_cut(decision, copies, run))
    said = every[:, decision.label]
    ends = np.cumsum([len(held), len(held), len(key), len(key), less_key[..., 0].size])
    keep, remove, only, without, robust_key, robust_rest = np.split(said, ends)
    p = decision.probability
    plus, minus = float((p - without).mean()), float((p - only).mean())
    middle = 2 * len(held) + len(sizes) // 2
    numbers = (
        None if part.truth is None else metrics.auc(scores, part.truth),
        None if part.truth is None else metrics.precision(scores, part.truth),
        plus,
        minus,
        metrics.characterisation(plus, minus),
        float((p - robust_key).mean()),
        float((p - robust_rest).mean()),
        metrics.unfaithfulness(probabilities(decision.logits), every[middle]),
        metrics.area(at, keep),
        metrics.area(at, remove),
    )
    return Scored(dict(zip(names, numbers, strict=True)), keep, remove)


def ranked(scores: np.ndarray, parameters: Parameters) -> np.ndarray:
    """[e] what the ranking goes by: the scores, or their sizes."""
    return np.abs(scores) if parameters.rank_by == "absolute" else scores


def _cut(decision: Any, copies: np.ndarray, run: Run) -> np.ndarray:
    """Logits [copies, classes] of a part cut in many ways; can be cancelled on the way."""
    size = max(1, AT_ONCE // copies.shape[1])
    found = []
    for start in range(0, len(copies), size):
        run.check_cancelled()
        found.append(decision.classifier.cut(decision.part, copies[start : start + size]))
    run.count(forward=len(copies))
    return np.concatenate(found)


def subject_scores(subject: Explanation, decision: Any) -> np.ndarray:
    """[e] float64 scores of an explanation of this very part and class.

    Raises:
        InputError: it has none, or is of another graph, node or class.
    """
    if not isinstance(subject, GraphExplanation) or subject.values.get("kind") != "edges":
        raise InputError(
            "This explanation has no scores of edges.", todo="Score one that has, not a fit or set."
        )
    same = (
        subject.values["graph"] == decision.part.graph.number
        and subject.values["target"] == decision.part.node
        and subject.values["label"] == decision.label
        and len(subject.arrays["scores"]) == len(decision.part)
    )
    if not same:
        raise InputError("The explanation is of another decision than the score asks about.")
    return np.asarray(subject.arrays["scores"], dtype=np.float64)


def told(found: list[Scored], decision: Any) -> tuple[Arrays, dict[str, Any]]:
    """Arrays and values of one ranking, or the means and spreads of several."""
    e = len(decision.part)
    at = metrics.fractions(e) if e else np.array([0.0, 1.0])
    arrays: Arrays = {"fractions": at}
    for name in ("keep", "remove"):
        curves = np.stack([getattr(one, name) for one in found])
        arrays[f"curve/{metrics.OPERATOR}/{name}"] = curves.mean(axis=0)
        if len(found) > 1:
            arrays[f"spread/{metrics.OPERATOR}/{name}"] = np.percentile(
                curves, metrics.SPREAD, axis=0
            )
    means: dict[str, float | None] = {}
    spread: dict[str, list[float]] = {}
    undefined: dict[str, str] = {}
    for metric in metrics.METRICS:
        values = [v for one in found if (v := one.metrics[metric.id]) is not None]
        if not values:
            means[metric.id] = None
            undefined[metric.id] = NO_EDGES if not e else NO_REASON
            continue
        means[metric.id] = float(np.mean(values))
        if len(found) > 1:
            spread[metric.id] = np.percentile(values, metrics.SPREAD).tolist()
    sizes = {str(share): metrics.size_of(share, e) for share in metrics.SHARES} if e else {}
    return arrays, {
        "metrics": means,
        "spread": spread,
        "undefined": undefined,
        "key_edges": sizes,
    }


def ties(scores: np.ndarray) -> tuple[str, ...]:
    """A note where equal scores leave the ranking to the order of the file."""
    if len(scores) > 1 and (scores == scores[0]).all():
        return (f"All scores are equal ({scores[0]:g}): the ranking is the order of the file.",)
    if len(np.unique(scores)) < len(scores):
        return ("Edges with equal scores are ranked in the order of the file.",)
    return ()
