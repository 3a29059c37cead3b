"""Pure functions from an explanation to a plotly figure."""

from __future__ import annotations

import plotly.graph_objects as go

from backend.explanation import Explanation
from backend.tokens.explanation import TokenExplanation


def figure(explanation: Explanation, theme: str = "light", title: str = "") -> go.Figure:
    """The figure that shows an explanation as a whole.

    Raises:
        TypeError: no figure is known for this kind of explanation.
    """
    from components.figures import tokens, views

    if not isinstance(explanation, TokenExplanation):
        raise TypeError(f"there is no figure of a {type(explanation).__name__}")
    if explanation.values.get("view") in views.PLOTS:
        return views.plots(explanation, theme)[0].figure
    return tokens.strip(explanation, theme=theme, title=title)
