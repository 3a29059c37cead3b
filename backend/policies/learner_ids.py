"""The learners of structure by name."""

from __future__ import annotations

from typing import Literal

LearnerId = Literal[
    "loco", "bart", "fcit", "lasso", "pc", "gated", "correlation", "random_graph"
]
