"""What a suite measured: the figure, the table with intervals, the comparisons, the numbers."""

from __future__ import annotations

from typing import Any

import streamlit as st

from backend.bootstrap import Interval
from backend.tokens import suite_table
from backend.tokens.measured import MEASURED
from components.figures import needles
from components.plain import plain
from components.session import theme_name
from components.suite_run import Running

FEW = 10
WORDS = {
    "above": "better: the interval lies above zero",
    "below": "better: the interval lies below zero",
    "not above": "not shown to be better",
    "not below": "not shown to be better",
    "unknown": "too few prompts to tell",
}


def show(running: Running, titles: dict[str, str], prefix: str) -> None:
    """Draw what is measured so far.

    Args:
        titles: explainer -> what a person calls it.
    """
    found, seed = running.found, running.conditions.seed
    st.plotly_chart(
        needles.recovery(suite_table.by_kind(found, seed), titles, theme_name()),
        theme=None,
        key=f"{prefix}.figure",
        alt="Recovery of the planted evidence by kind of prompt and explainer, with intervals",
    )
    st.dataframe(
        [_line(row, titles) for row in suite_table.rows(found, seed)],
        hide_index=True,
        key=f"{prefix}.table",
        alt="Recovery, RISE and MAS of each explainer by kind and length of the prompts",
    )
    _notes(running)
    _compared(running, titles, prefix)
    st.download_button(
        "CSV of every measurement",
        data=suite_table.numbers(found),
        file_name="suite.csv",
        mime="text/csv",
        key=f"{prefix}.csv",
        icon=":material/download:",
        on_click="ignore",
    )


def _line(row: suite_table.Row, titles: dict[str, str]) -> dict[str, Any]:
    return {
        "prompts": needles.heading(row.kind) if row.kind != suite_table.ALL else "All",
        "tokens": "–" if row.size is None else f"{row.size:,}",
        "explainer": titles.get(row.explainer, row.explainer),
        "cases": row.cases,
        **{
            f"{suite_table.TITLES[m]} {'↑' if suite_table.HIGHER[m] else '↓'}": _cell(
                row.metrics[m], row.cases
            )
            for m in MEASURED
        },
    }


def _cell(found: Interval, cases: int) -> str:
    """A mean with its interval, and its number of cases where it is fewer."""
    if found.mean is None:
        return "–"
    ends = f" [{found.low:.3f}, {found.high:.3f}]" if found.low is not None else ""
    few = "" if found.n == cases else f" ({found.n})"
    return f"{found.mean:.3f}{ends}{few}".replace("-", "−")


def _notes(running: Running) -> None:
    st.caption(
        "↑ higher is better, ↓ lower is better. [ ]: 95 % bootstrap interval of the mean over the "
        "cases. ( ): over how many of them, where a case has no value. random: random rankings."
    )
    if running.measured < FEW:
        st.caption(f"Intervals of fewer than {FEW} cases are too narrow to trust.")
    for reason, names in suite_table.reasons(running.found).items():
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        st.caption(f"No value: {plain(reason)} · {plain(', '.join(names[:4]))}{more}")


def _compared(running: Running, titles: dict[str, str], prefix: str) -> None:
    """The first explainer against each other one, over all prompts."""
    found = suite_table.differences(running.found, running.conditions.seed)
    over = [one for one in found if one.kind == suite_table.ALL]
    first = titles.get(over[0].first, over[0].first)
    st.markdown(f"**{plain(first)}** less each other, on the prompts both have")
    st.dataframe(
        [
            {
                "number": suite_table.TITLES[one.metric],
                "other": titles.get(one.other, one.other),
                "difference": _cell(one.difference, one.difference.n),
                "cases": one.difference.n,
                first: WORDS[one.verdict],
            }
            for one in over
        ],
        hide_index=True,
        key=f"{prefix}.differences",
        alt=f"{first} compared with each other explainer",
    )
