"""Pure functions from an explanation to a plotly figure."""

from __future__ import annotations

import plotly.graph_objects as go

from backend.concepts.explanation import ConceptExplanation
from backend.explanation import Explanation
from backend.graphs.explanation import GraphExplanation
from backend.images.explanation import ImageExplanation
from backend.policies.explanation import PolicyExplanation
from backend.tokens.explanation import TokenExplanation


def figure(explanation: Explanation, theme: str = "light", title: str = "") -> go.Figure:
    """The figure that shows an explanation as a whole.

    Raises:
        TypeError: no figure is known for this kind of explanation.
    """
    if isinstance(explanation, TokenExplanation):
        return _tokens(explanation, theme, title)
    if isinstance(explanation, ConceptExplanation):
        return _concepts(explanation, theme, title)
    if isinstance(explanation, GraphExplanation):
        return _graphs(explanation, theme, title)
    if isinstance(explanation, ImageExplanation):
        return _images(explanation, theme, title)
    if isinstance(explanation, PolicyExplanation):
        return _policies(explanation, theme, title)
    raise TypeError(f"there is no figure of a {type(explanation).__name__}")


def _tokens(explanation: TokenExplanation, theme: str, title: str) -> go.Figure:
    from components.figures import tokens, views

    if explanation.values.get("view") in views.PLOTS:
        return views.plots(explanation, theme)[0].figure
    return tokens.strip(explanation, theme=theme, title=title)


def _concepts(explanation: ConceptExplanation, theme: str, title: str) -> go.Figure:
    from components.figures import decision, experts, slices

    kind = explanation.values.get("kind")
    if kind == "slices":
        return slices.overview(explanation, theme, title)
    if kind == "decision":
        return decision.contributions(explanation, theme, title)
    if kind == "experts":
        return experts.plots(explanation, theme)[0].figure
    raise TypeError(f"there is no figure of a ConceptExplanation of kind {kind!r}")


def _graphs(explanation: GraphExplanation, theme: str, title: str) -> go.Figure:
    from components.figures import graph

    kind = explanation.values.get("kind")
    if kind == "edges":
        return graph.figure(explanation, theme, title)
    raise TypeError(f"there is no figure of a GraphExplanation of kind {kind!r}")


def _images(explanation: ImageExplanation, theme: str, title: str) -> go.Figure:
    from components.figures import image_map, tcav

    kind = explanation.values.get("kind")
    if kind == "map":
        return image_map.figure(explanation, theme, title)
    if kind == "tcav":
        return tcav.figure(explanation, theme, title)
    raise TypeError(f"there is no figure of an ImageExplanation of kind {kind!r}")


def _policies(explanation: PolicyExplanation, theme: str, title: str) -> go.Figure:
    from components.figures import policy_bars, policy_graph, policy_terms

    kind = explanation.values.get("kind")
    if kind == "variables":
        return policy_bars.bars(explanation, theme, title)
    if kind == "terms":
        return policy_terms.terms(explanation, theme, title)
    if kind == "graph":
        return policy_graph.graph(explanation, theme, title)
    raise TypeError(f"there is no figure of a PolicyExplanation of kind {kind!r}")
