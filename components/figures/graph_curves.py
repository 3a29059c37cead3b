"""What is left of the decision as edges are kept or deleted, the highest scores first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from backend.graphs.graph_metrics import OPERATOR
from components.figures import curves as removal
from components.figures.curves import Wording

WORDING = Wording(
    title="Keeping and deleting edges",
    orders={"remove": "deleted: highest scores first", "keep": "kept: highest scores first"},
    x="share of the edges",
    y="probability of the class",
    notes=("Edges are deleted for good, degrees computed anew.",),
    gone="of the edges",
)


def curves(scores: Mapping[str, Any], theme: str = "light") -> go.Figure:
    """One line a method and a band for random rankings; a panel each for deleting and keeping."""
    return removal.curves(scores, OPERATOR, theme, WORDING)
