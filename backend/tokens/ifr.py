"""Information flow routes, position by position: exact, and as slow as the span is long.

Ferrando & Voita, "Information Flow Routes: Automatically Interpreting Language Models at Scale",
EMNLP 2024. The routes into each explained position alone (`routes.of_each`), summed over layers,
mean over the positions. FlashTrace's hop 0 is its fast approximation.
"""

from __future__ import annotations

from typing import Any

from backend.explainer import Explainer, Reference, Run
from backend.tokens.explanation import Prompt, Target, TokenExplanation
from backend.tokens.flashtrace import UNIT, RouteParameters
from backend.tokens.subject import Subject


class InformationFlowRoutes(Explainer):
    """The mean over the explained positions of what each took from every token.

    Arrays (N tokens, L layers, H heads):
        scores: [N]. layer_tokens: [L, N], heads: [L, H], residual: [L], feed_forward: [L]; in a
            layer the tokens and the residual sum to 1, and the heads and the residual.
    """

    id = "information_flow_routes"
    title = "Information flow routes"
    family = "tokens"
    reference = Reference(
        authors="Ferrando, Voita",
        title="Information Flow Routes: Automatically Interpreting Language Models at Scale",
        year=2024,
        link="https://arxiv.org/abs/2403.00824",
    )
    how_to_read = (
        "How much nearer each token's vectors bring an explained position to where it ends, in "
        "every layer, mean over the explained positions. Slow on long answers: FlashTrace adds "
        "the span up first and is close to this."
    )
    Parameters = RouteParameters

    def explain(
        self, model: Any, input: Prompt, target: Target, parameters: Any, run: Run
    ) -> TokenExplanation:
        """The routes into every explained position.

        Raises:
            InputError: no answer.
        """
        from backend.tokens import routes

        subject = Subject.of(model, input, target)
        positions = parameters.positions(subject.explained)
        found = routes.of_each(
            model, subject.sequence.ids, positions, run, threshold=parameters.threshold
        )
        scores = subject.scores(
            found.tokens.sum(axis=0),
            first=parameters.exclude_first,
            special=parameters.exclude_special,
        )
        return TokenExplanation(
            arrays={
                "scores": scores,
                "layer_tokens": subject.masked(found.tokens),
                "heads": found.heads,
                "residual": found.residual,
                "feed_forward": found.feed_forward,
            },
            values={"explained_span": list(positions)},
            sequence=subject.sequence,
            explained=subject.explained,
            unit=UNIT,
            signed=False,
        )
