"""The plots of each view: explanations that give tokens no scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from backend.tokens.explanation import TokenExplanation
from components.figures import dimension, lens, origin, sinks
from components.figures.plot import Plot

Plots = Callable[[TokenExplanation, str], tuple[Plot, ...]]
"""(explanation, theme) -> its plots, the one that stands for all of them first."""


def _lens(found: TokenExplanation, theme: str) -> tuple[Plot, ...]:
    read = "Each row is a depth: the word the model would put next if it stopped there."
    return (Plot("Logit lens", lens.lens(found, theme), read),)


PLOTS: Mapping[str, Plots] = {
    "logit_lens": _lens,
    "attention_sinks": sinks.plots,
    "sink_origin": origin.plots,
    "effective_dimension": dimension.plots,
}
"""By the explanation's `values["view"]`."""


def plots(found: TokenExplanation, theme: str = "light") -> tuple[Plot, ...]:
    """The plots of a view.

    Raises:
        KeyError: the explanation is no view.
    """
    return PLOTS[found.values["view"]](found, theme)
