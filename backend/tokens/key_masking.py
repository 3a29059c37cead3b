"""Key masking: how much less probable the answer is when nobody may look at a token.

The attention of every later position to the token is forbidden in all layers and heads before the
softmax, so that its share goes to the other tokens (attention knockout: Geva, Bastings, Filippova
& Globerson, "Dissecting Recall of Factual Associations in Auto-Regressive Language Models",
EMNLP 2023). The token keeps its place and still sees itself, so positions do not move and no
unusual token enters the text.

    score(group) = f(prompt) - f(prompt, group hidden),   f = Σ log p(explained token)
"""

from __future__ import annotations

from typing import Any

from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.tokens.explanation import TokenExplanation
from backend.tokens.leave_one_out import LEVEL
from backend.tokens.objective import Objective
from backend.tokens.sequence import Level


class KeyMaskingParameters(Frozen):
    """What is hidden at once."""

    level: Level = LEVEL


class KeyMasking(Explainer):
    """Drop of the answer's log-probability when a token is hidden from all later ones.

    Arrays (S explained tokens, N tokens):
        by_answer: [S, N] float32, the drop of each explained token's log-probability; NaN from
            the first explained token on.

    Values:
        value: f with nothing hidden (nats). operator, level: as chosen.
    """

    id = "key_masking"
    title = "Key masking"
    family = "tokens"
    reference = Reference(
        authors="Geva, Bastings, Filippova, Globerson",
        title="Dissecting Recall of Factual Associations in Auto-Regressive Language Models",
        year=2023,
        link="https://arxiv.org/abs/2304.14767",
    )
    how_to_read = (
        "How many nats of log-probability the answer loses when no later token may attend to the "
        "token. Positive: what others read there speaks for the answer. Negative: the answer "
        "would be more probable without it. The last token before the answer keeps its direct "
        "way to the output."
    )
    Parameters = KeyMaskingParameters

    def explain(
        self, model: Any, input: Any, target: Any, parameters: Any, run: Run
    ) -> TokenExplanation:
        objective = Objective(model, input, target, run)
        drops = objective.drops(objective.groups(parameters.level), "key_masking", "hiding tokens")
        return drops.explanation({"operator": "key_masking", "level": parameters.level})
