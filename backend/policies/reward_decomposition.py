"""Reward decomposition: which terms of the reward speak for an action."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from backend.bundle import Bundle
from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.policies import sentences
from backend.policies.environment import OWN, find
from backend.policies.explained import about
from backend.policies.explanation import Experience, PolicyExplanation, PolicyTarget
from backend.policies.moment import moment
from backend.policies.reward_terms import TERMS

RESAMPLES = 400


class RewardDecompositionParameters(Frozen):
    """How often and how far both actions are followed."""

    draws: Annotated[int, Field(ge=2, le=500)] = Field(
        100,
        title="Draws",
        description="How often each action is followed to the end of the episode, chance drawn "
        "anew.",
    )
    discount: Annotated[float, Field(gt=0, le=1)] = Field(
        0.99, title="Discount", description="What a reward is worth for every step it comes later."
    )


class RewardDecomposition(Explainer):
    """The return after each action, term by term, and the terms that decide between the two.

    Q_c(s, a) is the discounted sum of term c of the reward when a is taken in s and the agent goes
    on; here the mean over continuations in the true environment, both actions through the same
    draws. The difference of a term is Q_c(s, a) - Q_c(s, a'); the differences sum to that of the
    whole return. The minimal sufficient explanation is the fewest terms for the action that
    outweigh all those against it.

    Arrays: terms/action, terms/instead, terms/difference, terms/low, terms/high: [C] float32, with
    95 % intervals of the mean difference by bootstrap over draws.

    Values: kind "terms"; those of `explained.about`; term_names; sufficient (numbers of terms, []
    where the action is not the better one); whole {difference, low, high}; draws, discount;
    sentences {why}.
    """

    id = "reward_decomposition"
    title = "Reward decomposition"
    family = "policies"
    role = "view"
    reference = Reference(
        authors="Juozapaitis, Koul, Fern, Erwig, Doshi-Velez",
        title="Explainable Reinforcement Learning via Reward Decomposition",
        year=2019,
        link="https://web.engr.oregonstate.edu/~erwig/papers/ExplainableRL_XAI19.pdf",
    )
    how_to_read = (
        "How much more of each term of the reward the action brings than the other one, until the "
        "episode ends. Bars sum to the difference of the whole return."
    )
    libraries = ("gymnasium", "numpy")
    uses_seed = True
    Parameters = RewardDecompositionParameters

    def supports(self, config: dict[str, Any], input: Bundle) -> str | None:
        """Why the reward has no terms, or None."""
        if not isinstance(input, Experience) or not len(input):
            return None
        if input.environment in TERMS:
            return None
        known = " and ".join(find(name).title for name in TERMS)
        own = input.environment in ("", OWN)
        of = "a table of trajectories" if own else find(input.environment).title
        return f"The reward of {of} comes as one number; its terms are known of {known}."

    def explain(
        self, model: Any, input: Experience, target: PolicyTarget, parameters: Any, run: Run
    ) -> PolicyExplanation:
        """Follow both actions.

        Raises:
            InputError: there is no such moment, or the environment cannot be brought to it.
        """
        from backend.policies.acting import acting
        from backend.policies.continuations import returns

        at = moment(input, target)
        agent, notes = acting(input, run.seed)
        both = (at.action, at.instead)
        found = returns(
            input, agent, at, both, parameters.draws, parameters.discount, run.seed, run.progress
        )
        differences = found[0] - found[1]
        mean, low, high = _interval(differences, run.numpy_generator())
        whole, under, over = _interval(
            differences.sum(axis=1, keepdims=True), run.numpy_generator()
        )
        names, decide = TERMS[input.environment], sufficient(mean)
        total = {"difference": float(whole[0]), "low": float(under[0]), "high": float(over[0])}
        arrays = {
            "action": found[0].mean(axis=0),
            "instead": found[1].mean(axis=0),
            "difference": mean,
            "low": low,
            "high": high,
        }
        action, instead = (input.action_names[number] for number in both)
        return PolicyExplanation(
            arrays={f"terms/{name}": array.astype(np.float32) for name, array in arrays.items()},
            values={
                "kind": "terms",
                **about(input, at),
                "term_names": list(names),
                "sufficient": list(decide),
                "whole": total,
                "draws": parameters.draws,
                "discount": parameters.discount,
                "sentences": {
                    "why": sentences.by_terms(action, instead, names, mean, decide, total)
                },
            },
            notes=notes,
        )


def sufficient(differences: np.ndarray) -> tuple[int, ...]:
    """The fewest terms [C] that outweigh all those against the action; none where none do."""
    against = -differences[differences < 0].sum()
    chosen: list[int] = []
    total = 0.0
    for i in np.argsort(-differences, kind="stable"):
        if differences[i] <= 0:
            return ()
        chosen.append(int(i))
        total += float(differences[i])
        if total > against:
            return tuple(chosen)
    return ()


def _interval(
    draws: np.ndarray, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean of draws [D, C] and its 95 % interval by bootstrap, [C] each."""
    again = generator.integers(len(draws), size=(RESAMPLES, len(draws)))
    low, high = np.percentile(draws[again].mean(axis=1), (2.5, 97.5), axis=0)
    return draws.mean(axis=0), low, high
