"""The score of an attribution: does removing the tokens it ranks highest change the answer most?

One harness for every method: the same candidate tokens (the prompt without special tokens), the
same removals, the same target (the explained answer tokens). Without an attribution to score it
scores random rankings, the baseline each method has to beat.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from backend.cost import cost
from backend.errors import InputError
from backend.explainer import Explainer, Run
from backend.explanation import Explanation, Frozen
from backend.tokens import metrics
from backend.tokens.ablation import OPERATORS, Ablations, Operator, Ranking
from backend.tokens.explanation import Prompt, Target, TokenExplanation
from backend.tokens.scoring import score, single, summary
from backend.tokens.sequence import Sequence
from backend.tokens.subject import Subject


class FaithfulnessParameters(Frozen):
    """How rankings are made and tested."""

    rank_by: metrics.RankBy = Field(
        "signed",
        title="Rank by",
        description="`signed` ranks the most positive score first and the most negative last; "
        "`absolute` ranks by size.",
    )
    groups: Annotated[int, Field(ge=2, le=200)] = Field(
        20, title="Steps", description="Steps in which a removal curve removes all tokens."
    )
    draws: Annotated[int, Field(ge=2, le=200)] = Field(
        20, title="Random draws", description="Random rankings behind the baseline row."
    )
    operators: Literal["both", "key_masking", "neutral"] = Field(
        "both",
        title="Operators",
        description="How tokens are taken away: their keys hidden, a neutral token in their place, "
        "or one way and then the other.",
    )

    @property
    def chosen(self) -> tuple[Operator, ...]:
        """The operators by name."""
        return OPERATORS if self.operators == "both" else (self.operators,)


class Faithfulness(Explainer):
    """Score of the attribution `run.subject`, or of random rankings where there is none.

    The result's `values`:
        metrics: {operator: {metric: float or None}}; metric ids are those of
            `backend.tokens.metrics.METRICS` and `DETAILS`.
        undefined: {"operator/metric": reason} for each None.
        spread: {operator: {metric: [low, high]}}, 2.5 and 97.5 % over the draws; random row only.
        seconds, forward_passes, backward_passes, peak_memory_bytes: what the scored attribution
            cost (None where its provenance is not known; the random row costs nothing).
        tokens, draws: how many candidates and rankings.

    Arrays ([points] along the curves, means over the draws for random rankings):
        fractions: share of the candidates removed.
        curve/<operator>/morf, curve/<operator>/lerf: geometric-mean probability of the explained
            tokens. logprob/<operator>/...: their summed log-probability.
        spread/<operator>/morf, spread/<operator>/lerf: [2, points], random row only.
    """

    id = "faithfulness"
    title = "Faithfulness"
    family = "tokens"
    role = "score"
    how_to_read = (
        "Tokens are removed in the order of the scores and the answer's probability is watched. "
        "A faithful ranking makes it fall at once; compare with the row `random`."
    )
    uses_seed = True
    Parameters = FaithfulnessParameters

    def explain(
        self, model: Any, input: Prompt, target: Target, parameters: Any, run: Run
    ) -> TokenExplanation:
        """Score the subject.

        Raises:
            InputError: the target has no answer tokens, or the subject is not an attribution of
                this input and target.
        """
        about = Subject.of(model, input, target)
        sequence, explained = about.sequence, about.explained
        candidates = np.array(sequence.candidates(), dtype=np.int64)
        notes: list[str] = []
        if run.subject is None:
            rows = random_rows(len(candidates), parameters.draws, run.numpy_generator())
        else:
            scores = subject_scores(run.subject, sequence, explained)[candidates]
            rows = [metrics.usable(scores, parameters.rank_by)]
            notes += _remarks(rows[0])
        rankings = [Ranking(row, parameters.groups) for row in rows]
        ablations = Ablations(model, sequence, explained)
        removals = (mask for r in rankings for mask in r.removals())
        ablations.compute(removals, run, parameters.chosen)
        places = {int(position): index for index, position in enumerate(candidates)}
        gold = frozenset(places[p] for p in sequence.gold if p in places)
        scored = [score(ranking, ablations, gold, parameters.chosen) for ranking in rankings]
        arrays, values = summary(scored) if run.subject is None else single(scored[0])
        return TokenExplanation(
            arrays={"fractions": rankings[0].counts / len(candidates), **arrays},
            values={
                **values,
                **cost(run.subject),
                "tokens": len(candidates),
                "draws": len(rankings),
            },
            notes=tuple(notes),
            sequence=sequence,
            explained=explained,
            unit="probability",
            signed=True,
        )


def subject_scores(
    subject: Explanation, sequence: Sequence, explained: tuple[int, ...]
) -> np.ndarray:
    """The scores [N] of an attribution of these very tokens.

    Raises:
        InputError: it has no token scores, or is of another input, answer or span.
    """
    if not isinstance(subject, TokenExplanation) or "scores" not in subject.arrays:
        raise InputError(
            "This explanation has no token scores.", todo="Score an attribution, not a view."
        )
    scores = subject.arrays["scores"]
    if subject.sequence.ids != sequence.ids or subject.explained != explained:
        raise InputError("The explanation is of another input or answer than the score asks about.")
    if scores.shape != (len(sequence),):
        raise InputError(f"The explanation has {scores.shape} scores for {len(sequence)} tokens.")
    return scores


def random_rows(n: int, draws: int, generator: np.random.Generator) -> list[np.ndarray]:
    """Random rankings [draws][n] of the numbers 1 to n, every second one the reverse of the last.

    Each is uniform on its own, and a reversed ranking removes the same sets of tokens: half the
    forward passes.
    """
    rows: list[np.ndarray] = []
    while len(rows) < draws:
        row = generator.permutation(n) + 1.0
        rows += [row, n + 1.0 - row]
    return rows[:draws]


def _remarks(scores: np.ndarray) -> list[str]:
    """What a person must know about a ranking before believing its score."""
    absent = int(np.isnan(scores).sum())
    present = scores[~np.isnan(scores)]
    remarks = []
    if absent:
        remarks.append(f"{absent} of {len(scores)} tokens have no score and are ranked last.")
    if len(present) > 1 and (present == present[0]).all():
        remarks.append(
            f"All scores are equal ({present[0]:g}): the ranking is the order of the text."
        )
    elif len(np.unique(present)) < len(present):
        remarks.append("Tokens with equal scores are ranked in the order of the text.")
    return remarks
