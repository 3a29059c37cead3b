"""What a part of the prompt contributed to: the answer's tokens, one number each.

The way back of FlashTrace's routes (`routes.of_source`): how much of each later position's residual
stream the source's vectors closed.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field, model_validator

from backend.errors import InputError
from backend.explainer import Explainer, Run
from backend.explanation import Frozen
from backend.tokens.explanation import Prompt, Target, TokenExplanation
from backend.tokens.subject import Subject

Position = Annotated[int, Field(ge=0, le=10_000_000)]


class Source(Frozen):
    """Tokens [first, stop) of prompt and answer."""

    first: Position = Field(0, description="Position of the source's first token.")
    stop: Position = Field(1, description="Position after its last.")

    @model_validator(mode="after")
    def _ordered(self) -> Source:
        if self.stop <= self.first:
            raise ValueError(f"stop is {self.stop}, not after first, {self.first}")
        return self


class Contributed(Explainer):
    """How much each later token took from a source.

    Arrays (N tokens):
        scores: [N], all NaN: nothing is explained.
        received: [N] float32, shares of each position's residual stream after attention, mean over
            layers; 0 up to the source's first token.
    """

    id = "contributed"
    title = "What a source contributed to"
    family = "tokens"
    role = "view"
    how_to_read = (
        "The share of each later token's residual stream that the source's vectors closed."
    )
    Parameters = Source

    def explain(
        self, model: Any, input: Prompt, target: Target, parameters: Any, run: Run
    ) -> TokenExplanation:
        """Follow the source forward.

        Raises:
            InputError: no answer, or a source that is not before its end.
        """
        from backend.tokens import routes

        subject = Subject.of(model, input, target)
        if parameters.stop >= len(subject):
            raise InputError(
                f"The source ends at token {parameters.stop}; prompt and answer have "
                f"{len(subject)}, and the last can give nothing.",
                "stop",
                "Choose an earlier source.",
            )
        source = range(parameters.first, parameters.stop)
        received = routes.of_source(model, subject.sequence.ids, source, run)
        return TokenExplanation(
            arrays={
                "scores": np.full(len(subject), np.nan, dtype=np.float32),
                "received": received.astype(np.float32),
            },
            values={"source": [parameters.first, parameters.stop]},
            sequence=subject.sequence,
            explained=subject.explained,
            unit="share of the residual stream",
            signed=False,
        )
