"""What a needle suite asks of an attribution: does it find the evidence, do its tokens matter?

The metrics are those of the faithfulness score (`backend.tokens.metrics`), with the same
candidates and the same removals, but only the ones the suite reports, so that many prompts can be
scored on a CPU:

- recovery: the planted tokens among the top 10 %. No pass of the model.
- RISE and MAS, where curves are asked for: one removal curve, most relevant tokens first, with the
  keys of removed tokens hidden. `groups` + 1 forward passes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from backend.explainer import Explainer, Run
from backend.explanation import Frozen
from backend.tokens import metrics
from backend.tokens.ablation import Ablations, Operator, Ranking
from backend.tokens.explanation import Prompt, Target, TokenExplanation
from backend.tokens.faithfulness import random_rows, subject_scores
from backend.tokens.subject import Subject

OPERATOR: Operator = "key_masking"


class NeedleScoreParameters(Frozen):
    """How a ranking is made and tested."""

    rank_by: metrics.RankBy = Field(
        "signed",
        title="Rank by",
        description="`signed` ranks the most positive score first and the most negative last; "
        "`absolute` ranks by size.",
    )
    curves: bool = Field(
        True, title="Curves", description="Whether to remove tokens for RISE and MAS."
    )
    groups: Annotated[int, Field(ge=2, le=200)] = Field(
        20, title="Steps", description="Steps in which a removal curve removes all tokens."
    )
    draws: Annotated[int, Field(ge=1, le=200)] = Field(
        20, title="Random draws", description="Random rankings whose recovery is averaged."
    )
    curve_draws: Annotated[int, Field(ge=1, le=200)] = Field(
        1, title="Random curves", description="How many of them have a removal curve."
    )


class NeedleScore(Explainer):
    """Score of the attribution `run.subject`, or of random rankings where there is none.

    Values:
        metrics: {"recovery", "rise", "mas"} -> float, or None where it is not defined or was not
            asked for; means over the draws for random rankings.
        undefined: {metric: reason} for each that was asked for and is None.
        tokens, gold: how many candidates, and how many of them are evidence.
        ceiling: the highest recovery any ranking can have (None without evidence).

    Arrays ([points] along the curve, first draw of random rankings; only with curves):
        fractions: share of the candidates removed.
        logprob/morf: summed log-probability of the explained tokens (nats).
    """

    id = "needle_score"
    title = "Needle score"
    family = "tokens"
    role = "score"
    how_to_read = (
        "Recovery: the share of the planted tokens among the top 10 %. RISE and MAS: areas under "
        "the answer's log-probability while tokens go, small where the first ones mattered."
    )
    uses_seed = True
    Parameters = NeedleScoreParameters

    def explain(
        self, model: Any, input: Prompt, target: Target, parameters: Any, run: Run
    ) -> TokenExplanation:
        """Score the subject.

        Raises:
            InputError: the target has no answer tokens, or the subject is not an attribution of
                this input and target.
        """
        about = Subject.of(model, input, target)
        sequence = about.sequence
        candidates = np.array(sequence.candidates(), dtype=np.int64)
        rows = _rows(about, candidates, parameters, run)
        rankings = [Ranking(row, parameters.groups) for row in rows]
        places = {int(position): index for index, position in enumerate(candidates)}
        gold = frozenset(places[p] for p in sequence.gold if p in places)
        curved = rankings[: parameters.curve_draws] if parameters.curves else []
        ablations = Ablations(model, sequence, about.explained)
        ablations.compute((mask for r in curved for mask in r.morf()), run, (OPERATOR,))
        curves = [_curve(ranking, ablations) for ranking in curved]
        found, undefined = _metrics(rankings, curved, curves, gold)
        n = len(candidates)
        run.progress(1, 1, "scoring")
        top = metrics.level_count(n, metrics.RECOVERY_SHARE)
        return TokenExplanation(
            arrays={"fractions": curved[0].counts / n, "logprob/morf": curves[0]} if curves else {},
            values={
                "metrics": found,
                "undefined": undefined,
                "tokens": n,
                "gold": len(gold),
                "ceiling": min(1.0, top / len(gold)) if gold else None,
            },
            sequence=sequence,
            explained=about.explained,
            unit="probability",
        )


def _rows(about: Subject, candidates: np.ndarray, parameters: Any, run: Run) -> list[np.ndarray]:
    """The candidates' scores [n] of the subject, or those of each random ranking."""
    if run.subject is None:
        return random_rows(len(candidates), parameters.draws, run.numpy_generator())
    scores = subject_scores(run.subject, about.sequence, about.explained)[candidates]
    return [metrics.usable(scores, parameters.rank_by)]


def _curve(ranking: Ranking, ablations: Ablations) -> np.ndarray:
    """Summed log-probability [points] as the most relevant tokens go."""
    return np.array([ablations.logprob(OPERATOR, mask) for mask in ranking.morf()])


def _metrics(
    rankings: list[Ranking],
    curved: list[Ranking],
    curves: list[np.ndarray],
    gold: frozenset[int],
) -> tuple[dict[str, float | None], dict[str, str]]:
    """Means over the rankings, and why a mean is missing."""
    measures: dict[str, list[Callable[[], float]]] = {
        "recovery": [partial(metrics.recovery, r.order, gold) for r in rankings],
        "rise": [partial(metrics.rise, curve) for curve in curves],
        "mas": [partial(_mas, r, curve) for r, curve in zip(curved, curves, strict=True)],
    }
    found: dict[str, float | None] = {}
    undefined: dict[str, str] = {}
    for name, each in measures.items():
        try:
            if len(rankings[0].order) < 2:
                raise metrics.Undefined("the prompt has one token to rank, so there is no ranking")
            # A mean over the draws that happen to be defined would favour some rankings.
            found[name] = float(np.mean([measure() for measure in each])) if each else None
        except metrics.Undefined as error:
            found[name], undefined[name] = None, str(error)
    return found, undefined


def _mas(ranking: Ranking, curve: np.ndarray) -> float:
    remaining = metrics.density(ranking.scores, ranking.order, ranking.counts)
    return metrics.mas(curve, remaining)
