"""The score of an attribution to concepts: do the concepts it ranks highest carry the decision?

One harness for every method: the same sample and class, the same reference, the same steps. Without
an attribution to score it scores random rankings, the baseline each method has to beat.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from backend.bundle import Arrays
from backend.concepts import concept_metrics as metrics
from backend.concepts.decided import remarks
from backend.concepts.decision import BASELINE, Baseline, Decision
from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget
from backend.cost import cost
from backend.errors import InputError
from backend.explainer import Explainer, Reference, Run
from backend.explanation import Explanation, Frozen

OPERATOR = "baseline"
"""The one way in which a concept is taken away: it gets the reference's value."""
CURVES = ("deletion", "insertion")
ONE_CONCEPT = "the table has one concept, so there is no ranking"


class ConceptFaithfulnessParameters(Frozen):
    """How rankings are made and tested."""

    baseline: Baseline = BASELINE
    rank_by: Literal["signed", "absolute"] = Field(
        "signed",
        title="Rank by",
        description="`signed` ranks the most positive score first and the most negative last; "
        "`absolute` ranks by size.",
    )
    draws: Annotated[int, Field(ge=2, le=200)] = Field(
        20, title="Random draws", description="Random rankings behind the baseline row."
    )


class ConceptFaithfulness(Explainer):
    """Score of the attribution `run.subject`, or of random rankings where there is none.

    The result's `values`:
        kind: "score". sample, label: whose decision it is about.
        metrics: {"baseline": {metric: float or None}}, ids of `concept_metrics.METRICS`.
        undefined: {"baseline/metric": reason} for each None.
        spread: {"baseline": {metric: [low, high]}}, 2.5 and 97.5 % over the draws; random row only.
        seconds, forward_passes, backward_passes, peak_memory_bytes: what the scored attribution
            cost (None where its provenance is not known; the random row costs nothing).
        concepts, draws: how many concepts and rankings.

    Arrays ([points] along the curves, means over the draws for random rankings):
        fractions: share of the concepts changed.
        curve/baseline/deletion, curve/baseline/insertion: probability of the class.
        logit/baseline/deletion, logit/baseline/insertion: the explained logit.
        spread/baseline/..., logit_spread/baseline/...: [2, points], random row only.
    """

    id = "faithfulness"
    title = "Faithfulness"
    family = "concepts"
    role = "score"
    reference = Reference(
        authors="Petsiuk, Das, Saenko",
        title="RISE: Randomized Input Sampling for Explanation of Black-box Models",
        year=2018,
        link="https://arxiv.org/abs/1806.07421",
    )
    how_to_read = (
        "Concepts are set to the reference in the order of the scores, and the probability of the "
        "class is watched. A faithful ranking makes it fall at once; compare with the row `random`."
    )
    libraries = ("scikit-learn",)
    uses_seed = True
    Parameters = ConceptFaithfulnessParameters

    def explain(
        self, model: Any, input: ConceptTable, target: ConceptTarget, parameters: Any, run: Run
    ) -> ConceptExplanation:
        """Score the subject.

        Raises:
            InputError: there is no such sample or class, or the subject is no attribution of this
                very decision.
        """
        decision = Decision.of(input, target, parameters.baseline)
        k = len(decision.x)
        notes = list(remarks(decision, run))
        if run.subject is None:
            generator = run.numpy_generator()
            orders = [generator.permutation(k) for _ in range(parameters.draws)]
        else:
            scores = subject_scores(run.subject, decision)
            ranked = np.abs(scores) if parameters.rank_by == "absolute" else scores
            orders = [metrics.ranking(ranked)]
            notes += _ties(ranked)
        found = []
        for done, order in enumerate(orders):
            run.progress(done, len(orders), "rankings of concepts")
            found.append(curves(decision, order))
        run.count(forward=2 * len(orders) * (len(found[0].fractions) + len(metrics.LEVELS)))
        random = run.subject is None
        arrays, values = _told(found, random, k)
        return ConceptExplanation(
            arrays=arrays,
            values={
                "kind": "score",
                "sample": decision.sample,
                "label": decision.label,
                **values,
                **cost(run.subject),
                "concepts": k,
                "draws": len(orders),
            },
            notes=tuple(notes),
            unit="probability",
        )


def curves(decision: Decision, order: np.ndarray) -> metrics.Curves:
    """What one ranking [k] of the concepts does to the class."""
    k, x, b = len(order), decision.x, decision.baseline
    at, levels = metrics.counts(k), metrics.level_counts(k)
    deleted = metrics.changed(x, b, order, at)
    inserted = metrics.changed(b, x, order, at)
    return metrics.Curves(
        fractions=at / k,
        deletion=decision.probability(deleted),
        insertion=decision.probability(inserted),
        deletion_logit=decision.value(deleted),
        insertion_logit=decision.value(inserted),
        without=decision.probability(metrics.changed(x, b, order, levels)),
        only=decision.probability(metrics.changed(b, x, order, levels)),
    )


def subject_scores(subject: Explanation, decision: Decision) -> np.ndarray:
    """The scores [k] of an attribution of this very decision.

    Raises:
        InputError: it has no scores of concepts, or is of another sample, class or table.
    """
    if not isinstance(subject, ConceptExplanation) or subject.values.get("kind") != "decision":
        raise InputError(
            "This explanation has no scores of concepts.",
            todo="Score an attribution of one decision, not slices or experts.",
        )
    scores = subject.arrays["scores"].astype(np.float64)
    about = (subject.values["sample"], subject.values["label"])
    if about != (decision.sample, decision.label) or scores.shape != decision.x.shape:
        raise InputError("The explanation is of another decision than the score asks about.")
    return scores


def _told(found: list[metrics.Curves], random: bool, k: int) -> tuple[Arrays, dict[str, Any]]:
    """Arrays and values: means over the rankings, and their spread where they are random."""
    arrays: Arrays = {"fractions": found[0].fractions}
    for kind, name in (("curve", "{}"), ("logit", "{}_logit")):
        for curve in CURVES:
            draws = np.stack([getattr(one, name.format(curve)) for one in found])
            arrays[f"{kind}/{OPERATOR}/{curve}"] = draws.mean(axis=0)
            if random:
                spread = "spread" if kind == "curve" else "logit_spread"
                arrays[f"{spread}/{OPERATOR}/{curve}"] = np.percentile(
                    draws, metrics.SPREAD, axis=0
                )
    names = [metric.id for metric in metrics.METRICS]
    if k < 2:
        undefined = {f"{OPERATOR}/{name}": ONE_CONCEPT for name in names}
        nothing = {OPERATOR: dict.fromkeys(names)}
        return arrays, {"metrics": nothing, "undefined": undefined, "spread": {}}
    rows = [one.metrics() for one in found]
    draws_of = {name: np.array([row[name] for row in rows]) for name in names}
    means = {name: float(draws.mean()) for name, draws in draws_of.items()}
    spreads = {
        name: np.percentile(draws, metrics.SPREAD).tolist() for name, draws in draws_of.items()
    }
    return arrays, {
        "metrics": {OPERATOR: means},
        "undefined": {},
        "spread": {OPERATOR: spreads} if random else {},
    }


def _ties(scores: np.ndarray) -> list[str]:
    if len(scores) > 1 and (scores == scores[0]).all():
        return [f"All scores are equal ({scores[0]:g}): the ranking is the order of the table."]
    if len(np.unique(scores)) < len(scores):
        return ["Concepts with equal scores are ranked in the order of the table."]
    return []
