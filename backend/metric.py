"""A number by which explanations are compared."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Metric:
    """One column of a scoreboard."""

    id: str
    title: str
    higher_is_better: bool
    how_to_read: str
