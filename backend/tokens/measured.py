"""What a suite notes down of one explainer on one prompt."""

from __future__ import annotations

import dataclasses

CURVED = ("rise", "mas")
"""Metrics that need a removal curve."""
MEASURED = ("recovery", *CURVED)
RANDOM = "random"
"""Name of the random rankings among the explainers."""
FILE = "file"
"""Kind of the prompts that are brought in."""


@dataclasses.dataclass(frozen=True)
class Measured:
    """What one explainer got on one case."""

    kind: str
    size: int | None
    number: int
    explainer: str
    values: dict[str, float | None]
    """metric -> value, for `MEASURED`."""
    reasons: dict[str, str]
    """metric -> why it has no value."""
    tokens: int | None = None
    """Candidates that were ranked."""
    ceiling: float | None = None
    """Highest recovery that any ranking can have."""
