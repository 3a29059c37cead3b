"""The score of an attribution to state variables: do those it ranks highest carry the choice?

One harness for every method: the same moment and action, the same draws, the same steps. Without an
attribution to score it scores random rankings, the baseline each method has to beat.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from backend.bundle import Arrays
from backend.cost import cost
from backend.errors import InputError
from backend.explainer import Explainer, Reference, Run
from backend.explanation import Explanation, Frozen
from backend.policies import policy_metrics
from backend.policies.explanation import Experience, PolicyExplanation, PolicyTarget
from backend.policies.moment import Moment, moment
from backend.policies.policy_metrics import METRICS, half, ranking

OPERATOR = "redrawn"
"""The one way in which a variable is taken away: it is drawn anew from the visited states."""
SPREAD = (2.5, 97.5)
CURVES = ("deletion", "insertion")


class VariableFaithfulnessParameters(Frozen):
    """How rankings are made and tested."""

    rank_by: Literal["signed", "absolute"] = Field(
        "absolute",
        title="Rank by",
        description="`absolute` ranks by size; `signed` ranks the most positive score first and "
        "the most negative last.",
    )
    states: Annotated[int, Field(ge=10, le=5000)] = Field(
        300, title="States", description="Visited states that variables are drawn from."
    )
    draws: Annotated[int, Field(ge=2, le=200)] = Field(
        20, title="Random draws", description="Random rankings behind the baseline row."
    )


class VariableFaithfulness(Explainer):
    """Score of the attribution `run.subject`, or of random rankings where there is none.

    The result's `values`:
        kind: "score". episode, step, action: what it is about.
        metrics: {"redrawn": {metric: float}}, ids of `policy_metrics.METRICS`.
        undefined: {}. spread: {"redrawn": {metric: [low, high]}}, 2.5 and 97.5 % over the draws;
            random row only.
        seconds, forward_passes, backward_passes, peak_memory_bytes: what the scored attribution
            cost.
        variables, draws: how many variables and rankings.

    Arrays ([S + 1] along the curves, means over the draws for random rankings):
        fractions; curve/redrawn/deletion, curve/redrawn/insertion: probability of the action;
        spread/redrawn/...: [2, S + 1], random row only.
    """

    id = "variable_faithfulness"
    title = "Faithfulness"
    family = "policies"
    role = "score"
    reference = Reference(
        authors="Petsiuk, Das, Saenko",
        title="RISE: Randomized Input Sampling for Explanation of Black-box Models",
        year=2018,
        link="https://arxiv.org/abs/1806.07421",
    )
    how_to_read = (
        "State variables are drawn anew from the visited states in the order of the scores, and "
        "the probability of the action is watched. A faithful ranking makes it fall at once; "
        "compare with the row `random`."
    )
    libraries = ("numpy", "scikit-learn")
    uses_seed = True
    Parameters = VariableFaithfulnessParameters

    def explain(
        self, model: Any, input: Experience, target: PolicyTarget, parameters: Any, run: Run
    ) -> PolicyExplanation:
        """Score the subject.

        Raises:
            InputError: there is no such moment, or the subject is no attribution of it.
        """
        from backend.policies.acting import acting

        at = moment(input, target)
        agent, notes = acting(input, run.seed)
        generator = np.random.default_rng(run.seed)
        visited = input.arrays["states"]
        pool = visited[generator.integers(len(visited), size=parameters.states)].astype(np.float64)
        size = len(at.state)
        if run.subject is None:
            orders = [generator.permutation(size) for _ in range(parameters.draws)]
        else:
            scores = subject_scores(run.subject, at)
            orders = [ranking(np.abs(scores) if parameters.rank_by == "absolute" else scores)]
        found = []
        for done, order in enumerate(orders):
            run.progress(done, len(orders), "rankings of variables")
            found.append(_curves(agent, at, pool, order))
        run.count(forward=2 * len(orders) * (size + 1) * len(pool))
        arrays, values = _told(found, random=run.subject is None)
        return PolicyExplanation(
            arrays=arrays,
            values={
                "kind": "score",
                "episode": at.episode,
                "step": at.step,
                "action": at.action,
                **values,
                **cost(run.subject),
                "variables": size,
                "draws": len(orders),
            },
            notes=notes,
        )


def subject_scores(subject: Explanation, at: Moment) -> np.ndarray:
    """The scores [S] of an attribution of this very choice.

    Raises:
        InputError: it has no scores of variables, or is of another moment or action.
    """
    if not isinstance(subject, PolicyExplanation) or subject.values.get("kind") != "variables":
        raise InputError("This explanation has no scores of state variables.")
    scores = subject.arrays["scores"].astype(np.float64)
    same = np.allclose(subject.values["state"], at.state) and subject.values["action"] == at.action
    if scores.shape != at.state.shape or not same:
        raise InputError("The explanation is of another choice than the score asks about.")
    return scores


def _curves(
    agent: Any, at: Moment, pool: np.ndarray, order: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Deletion and insertion [S + 1], and the share of draws that the top half alone keeps."""
    size = len(order)
    deletion, insertion = np.zeros(size + 1), np.zeros(size + 1)
    kept = 0.0
    for count in range(size + 1):
        top = order[:count]
        without = np.repeat(at.state[None].astype(np.float64), len(pool), axis=0)
        without[:, top] = pool[:, top]
        only = pool.copy()
        only[:, top] = at.state[top]
        deletion[count] = agent.probabilities(without)[:, at.action].mean()
        insertion[count] = agent.probabilities(only)[:, at.action].mean()
        if count == half(size):
            kept = float((agent.act(only) == at.action).mean())
    return deletion, insertion, kept


def _told(
    found: list[tuple[np.ndarray, np.ndarray, float]], random: bool
) -> tuple[Arrays, dict[str, Any]]:
    """Arrays and values: means over the rankings, and their spread where they are random."""
    arrays: Arrays = {"fractions": np.linspace(0, 1, len(found[0][0]))}
    for curve, draws in zip(CURVES, zip(*((d, i) for d, i, _ in found), strict=True), strict=True):
        rows = np.stack(draws)
        arrays[f"curve/{OPERATOR}/{curve}"] = rows.mean(axis=0)
        if random:
            arrays[f"spread/{OPERATOR}/{curve}"] = np.percentile(rows, SPREAD, axis=0)
    told = [policy_metrics.metrics(*one) for one in found]
    means = {m.id: float(np.mean([row[m.id] for row in told])) for m in METRICS}
    spread = {m.id: np.percentile([row[m.id] for row in told], SPREAD).tolist() for m in METRICS}
    return arrays, {
        "metrics": {OPERATOR: means},
        "undefined": {},
        "spread": {OPERATOR: spread} if random else {},
    }
