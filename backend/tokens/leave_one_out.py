"""Leave-one-out: how much less probable the answer is without each token, word or sentence.

Zeiler & Fergus, "Visualizing and Understanding Convolutional Networks", ECCV 2014 (occlusion);
Li, Monroe & Jurafsky, "Understanding Neural Networks through Representation Erasure", 2016:

    score(group) = f(prompt) - f(prompt without the group),   f = Σ log p(explained token)

Tokens are removed by position and never as text, so nothing is tokenised anew; every removal is a
whole forward pass without a key-value cache, so no later answer token sees a stale prompt.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.tokens.explanation import TokenExplanation
from backend.tokens.objective import Objective, Operator
from backend.tokens.sequence import Level

LEVEL: Any = Field(
    "token",
    title="Remove by",
    description="What is removed at once. A word's or a sentence's score is shared equally by "
    "its tokens, so that their sum is the score.",
)


class LeaveOneOutParameters(Frozen):
    """How and what is removed."""

    operator: Operator = Field(
        "neutral",
        title="Operator",
        description="`neutral` puts the model's padding or end token in the place; `delete` takes "
        "the token out, and what follows moves up; `key_masking` leaves it in its place and hides "
        "it from later tokens.",
    )
    level: Level = LEVEL


class LeaveOneOut(Explainer):
    """Drop of the answer's log-probability when a token is taken away.

    Arrays (S explained tokens, N tokens):
        by_answer: [S, N] float32, the drop of each explained token's log-probability; NaN from
            the first explained token on.

    Values:
        value: f with nothing removed (nats). operator, level: as chosen.
    """

    id = "leave_one_out"
    title = "Leave one out"
    family = "tokens"
    reference = Reference(
        authors="Li, Monroe, Jurafsky",
        title="Understanding Neural Networks through Representation Erasure",
        year=2016,
        link="https://arxiv.org/abs/1612.08220",
    )
    how_to_read = (
        "How many nats of log-probability the answer loses when the token is taken away. "
        "Positive: the token speaks for the answer. Negative: the answer would be more probable "
        "without it. Two tokens that say the same may both score low."
    )
    Parameters = LeaveOneOutParameters

    def explain(
        self, model: Any, input: Any, target: Any, parameters: Any, run: Run
    ) -> TokenExplanation:
        objective = Objective(model, input, target, run)
        drops = objective.drops(
            objective.groups(parameters.level), parameters.operator, "leaving out tokens"
        )
        return drops.explanation({"operator": parameters.operator, "level": parameters.level})
