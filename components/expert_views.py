"""The view of a mixture of experts: what each expert says, and who is asked when."""

from __future__ import annotations

from typing import Any, cast

import streamlit as st

from backend.concepts.explanation import ConceptExplanation
from components.compare import Item
from components.figures import experts
from components.plain import plain
from components.session import theme_name


def panel(item: Item) -> None:
    """The verdicts, the formulas, and the plots two a row."""
    found = cast(ConceptExplanation, item.explanation)
    for verdict in found.values.get("verdicts", ()):
        st.markdown(f"- {plain(str(verdict))}")
    _formulas(found)
    plots = experts.plots(found, theme_name())
    for start in range(0, len(plots), 2):
        for place, column in enumerate(st.columns(2, gap="medium"), start=start):
            if place < len(plots):
                with column:
                    key = f"experts.{item.request.explainer}.{place}"
                    st.plotly_chart(
                        plots[place].figure, theme=None, key=key, alt=plots[place].title
                    )
                    st.caption(plots[place].how_to_read)


def _formulas(found: ConceptExplanation) -> None:
    formulas: list[dict[str, Any]] = found.values.get("formulas", [])
    if not formulas:
        return
    with st.expander("Formulas", expanded=len(formulas) <= 6):
        for formula in formulas:
            st.caption(f"Expert {formula['expert'] + 1} · {plain(str(formula['class']))}")
            if formula.get("latex"):
                st.latex(formula["latex"])
            st.code(formula["text"], language=None, wrap_lines=True)
