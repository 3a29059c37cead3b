"""A study's tables: means over the inputs, every input, and the explanation behind a cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from backend import consensus, study_files
from backend.study import FEWEST, LEVEL, Cell, Studied, Study, direction
from backend.study_files import RANKINGS
from components.figures import scores
from components.frame import wide
from components.greyed import greyed
from components.permalink import PARAMETER
from components.plain import plain
from components.session import engine, theme_name

MIME = {"csv": "text/csv", "tex": "text/x-tex", "html": "text/html"}
_ARROWS = {1: " ↑", -1: " ↓", 0: ""}


def means(found: Study, titles: Sequence[str], prefix: str) -> None:
    """A row a metric, a column a method; what is best, and what is surely behind."""
    names = [*titles, RANKINGS]
    rows = [
        {
            "metric": f"{metric.title}{_ARROWS[direction(metric)]}",
            **{
                name: _shown(cell) for name, cell in zip(names, found.cells[metric.id], strict=True)
            },
        }
        for metric in found.metrics
    ]
    won = found.won_by_control
    st.dataframe(
        greyed(rows, rows={i for i, metric in enumerate(found.metrics) if metric.id in won}),
        hide_index=True,
        height="content",
        key=f"{prefix}.means",
        alt="Means over the inputs",
    )
    for said in study_files.won_by_control(found, names):
        st.caption(f"Greyed: {plain(said)}")
    st.caption(
        "Means with 95 % bootstrap intervals over the inputs. ★ best. ∗ behind the best, "
        f"p < {LEVEL} by Wilcoxon's signed-rank test on the same inputs, with Holm's correction "
        f"over the methods; from {FEWEST} inputs on."
    )
    with st.expander("How to read these numbers"):
        for metric in found.metrics:
            st.markdown(f"**{metric.title}**. {metric.how_to_read}")


def agreement(found: Study, titles: Sequence[str], prefix: str) -> None:
    """How far each two methods agree, a mean over the inputs with its interval."""
    if len(titles) < 2:
        return
    cells = found.agreement

    def matrix(part: str) -> np.ndarray:
        values = [[getattr(one, part) for one in row] for row in cells]
        return np.array(values, dtype=np.float64)

    with st.expander("How far the methods agree"):
        wide(f"{prefix}.agreement").plotly_chart(
            scores.agreement(
                list(titles),
                matrix("mean"),
                theme=theme_name(),
                title="Rank correlation (Spearman)",
                ends=(matrix("low"), matrix("high")),
            ),
            theme=None,
            key=f"{prefix}.agreement",
            alt="Mean rank correlation of each two methods",
        )
        st.caption("Means over the inputs, with 95 % bootstrap intervals.")


def every(found: Study, asked: Studied, prefix: str) -> None:
    """One metric of every input; a click on a cell opens that explanation."""
    by = {metric.title: metric for metric in found.metrics}
    picked = st.selectbox("Metric", list(by), key=f"{prefix}.metric")
    values = found.values[by[str(picked)].id]
    names = [*asked.titles, RANKINGS]
    rows = [
        {"input": case, **{name: _number(values[m, c]) for m, name in enumerate(names)}}
        for c, case in enumerate(found.cases)
    ]
    number = st.column_config.NumberColumn(format="%.3f")
    event: Any = st.dataframe(
        rows,
        hide_index=True,
        column_config=dict.fromkeys(names, number),
        key=f"{prefix}.every.{picked}",
        on_select="rerun",
        selection_mode="single-cell",
        alt=f"{picked} of every input",
    )
    cells = event.selection.cells
    if not cells or cells[0][1] not in asked.titles or cells[0][0] >= len(asked.cases):
        st.caption("Click a cell to open the explanation behind it.")
        return
    row, method = cells[0]
    _link(asked, int(row), asked.titles.index(method))


def downloads(found: Study, asked: Studied, prefix: str) -> None:
    """The study as CSV, LaTeX and HTML, and what its command needs."""
    contents = study_files.files(found, asked)
    with st.container(horizontal=True):
        for name, data in contents.items():
            st.download_button(
                name,
                data,
                name,
                MIME.get(name.rpartition(".")[2], "application/octet-stream"),
                icon=":material/download:",
                key=f"{prefix}.{name}",
                on_click="ignore",
            )
    st.code(asked.command, language="bash", wrap_lines=True)


def _link(asked: Studied, row: int, method: int) -> None:
    """The way to a case's explanation by one method, on the family's page."""
    case = asked.cases[row]
    chosen = consensus.needed(case.opens.choices, asked.methods[method])
    opens = case.opens.model_copy(update={"choices": chosen})
    st.page_link(
        f"pages/{opens.family}.py",
        label=f"Open {plain(case.title)} by {asked.titles[method]}",
        icon=":material/open_in_new:",
        query_params={PARAMETER: engine().put_comparison(opens)},
    )


def _shown(cell: Cell) -> str:
    mean = cell.mean
    if mean.mean is None:
        return "–"
    mark = "★ " if cell.best else ""
    text = f"{mark}{study_files.shown(mean.mean)}{' ∗' if cell.behind else ''}"
    if mean.low is None or mean.high is None:
        return text
    return f"{text}  [{study_files.shown(mean.low)}, {study_files.shown(mean.high)}]"


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
