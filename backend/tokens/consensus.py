"""The consensus of several attributions of one answer."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import numpy as np

from backend import consensus
from backend.explainer import Run
from backend.tokens.explanation import Prompt, Target, TokenExplanation


class TokenConsensus(consensus.Consensus):
    """Mean ranking of tokens; arrays and values as `backend.consensus.Consensus` has them."""

    family = "tokens"

    def told(
        self,
        input: Prompt,
        target: Target,
        run: Run,
        arrays: dict[str, np.ndarray],
        values: dict[str, Any],
    ) -> TokenExplanation:
        first = cast(TokenExplanation, run.members[0])
        return dataclasses.replace(
            first,
            arrays=arrays,
            values=values,
            notes=(),
            provenance=None,
            unit=consensus.UNIT,
            signed=False,
            additive=False,
        )
