"""The view of a mixture of experts: what each expert says, and who is asked when."""

from __future__ import annotations

from typing import Any, cast

import streamlit as st

from backend.concepts.explanation import ConceptExplanation
from components.compare import Item
from components.figures import experts
from components.figures.plot import Plot
from components.frame import wide
from components.plain import plain
from components.session import theme_name

LONGEST_RENDERED = 400
"""Characters of LaTeX; a longer formula is shown as text alone."""


def panel(item: Item) -> None:
    """The verdicts, the formulas, and the plots; rules need the width of the page."""
    found = cast(ConceptExplanation, item.explanation)
    for verdict in found.values.get("verdicts", ()):
        st.markdown(f"- {plain(str(verdict))}")
    _formulas(found)
    plots = [p for p in experts.plots(found, theme_name()) if p.title != experts.FORMULAS]
    pairs = [p for p in plots if p.title != experts.ROUTING]
    for start in range(0, len(pairs), 2):
        for column, plot in zip(
            st.columns(2, gap="medium"), pairs[start : start + 2], strict=False
        ):
            with column:
                _plot(item, plot)
    for plot in plots:
        if plot.title == experts.ROUTING:
            _plot(item, plot)


def _plot(item: Item, plot: Plot) -> None:
    key = f"experts.{item.request.explainer}.{plot.title}"
    place = wide("experts.rules") if plot.title == experts.ROUTING else st.container()
    place.plotly_chart(plot.figure, theme=None, key=key, alt=plot.title)
    st.caption(plot.how_to_read)


def _formulas(found: ConceptExplanation) -> None:
    """Each expert's formula for each class, rendered and to be copied."""
    formulas: list[list[dict[str, Any]]] = found.values["formulas"]
    classes = found.values["class_names"]
    with st.expander("Formulas", expanded=sum(map(len, formulas)) <= 6):
        for number, of_expert in enumerate(formulas, start=1):
            for place, formula in enumerate(of_expert):
                which = classes[-1] if len(of_expert) == 1 else classes[place]
                st.caption(f"Expert {number} · logit of {plain(str(which))}")
                if len(formula["latex"]) <= LONGEST_RENDERED:
                    st.latex(formula["latex"])
                st.code(formula["text"], language=None, wrap_lines=True)
