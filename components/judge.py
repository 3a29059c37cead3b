"""How far to trust what is shown: the faithfulness scoreboard."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import plotly.graph_objects as go
import streamlit as st

from backend.control import words
from backend.cost import cost
from backend.engine.job import Job
from backend.explanation import Explanation, Request
from backend.metric import Metric
from components import jobs
from components.compare import Item, cancel_button
from components.figures import scores
from components.frame import wide
from components.greyed import greyed
from components.plain import plain
from components.session import theme_name


@dataclasses.dataclass(frozen=True)
class Board:
    """What a family's scores are.

    `operators`: names of the ways something is taken away, by id; none where nothing is.
    `curves`: (scores by method, operator, theme) -> figure, where there are curves.
    """

    metrics: Sequence[Metric]
    operators: Mapping[str, str] = dataclasses.field(default_factory=dict)
    curves: Callable[[Mapping[str, Any], str, str], go.Figure] | None = None
    curves_alt: str = ""
    what: str = ""
    """What stands before the operators, e.g. "A token is taken away by"."""
    title: str = "Faithfulness"


def scoreboard(scored: Sequence[tuple[str, Item, Item | None]], board: Board, prefix: str) -> None:
    """The faithfulness of every method by one harness, with a random row.

    Args:
        scored: (name, the score's item, the item it is about or None for the random row).
    """
    operator = next(iter(board.operators), "")
    if len(board.operators) > 1:
        picked = st.segmented_control(
            board.what,
            list(board.operators),
            format_func=board.operators.__getitem__,
            default=operator,
            required=True,
            key=f"{prefix}.operator",
        )
        operator = str(picked)
    done = [entry for entry in scored if entry[1].explanation is not None]
    _pending(scored, prefix)
    if not done:
        return
    rows = [_row(name, score, about, operator) for name, score, about in done]
    wide(f"{prefix}.board").plotly_chart(
        scores.scoreboard(rows, board.metrics, theme_name(), board.title),
        theme=None,
        key=f"{prefix}.board",
        alt="Scores of each method beside random ones",
    )
    won = scores.won(rows, board.metrics)
    for said in words(won, {metric.id: metric.title for metric in board.metrics}):
        st.caption(f"Greyed: {plain(said)}")
    _numbers(rows, board.metrics, won)
    _undefined(done, operator, board.metrics)
    if board.curves is not None:
        curves = {name: score.explanation for name, score, _ in done}
        st.plotly_chart(
            board.curves(curves, operator, theme_name()),
            theme=None,
            key=f"{prefix}.curves",
            alt=board.curves_alt,
        )
    with st.expander("How to read these numbers"):
        for metric in board.metrics:
            better = "higher is better" if metric.higher_is_better else "lower is better"
            st.markdown(f"**{metric.title}** ({better}). {metric.how_to_read}")


def _pending(scored: Sequence[tuple[str, Item, Item | None]], prefix: str) -> None:
    """What is still to come, and what went wrong."""
    items = [score for _, score, _ in scored]
    for item in items:
        if isinstance(item.job, str):
            st.warning(plain(item.job), icon=":material/block:")
        elif item.job.state == "failed":
            jobs.outcome(item.job, item.request, f"{prefix}.{item.job.key}")
    stopped = [i.request for i in items if isinstance(i.job, Job) and i.job.state == "cancelled"]
    if stopped:
        st.info(f"{len(stopped)} scores were cancelled.", icon=":material/cancel:")
        st.button("Score again", key=f"{prefix}.again", on_click=_again, args=(stopped,))
    live = [item.job for item in items if isinstance(item.job, Job) and item.live]
    if live:
        st.caption(f"{len(live)} of {len(scored)} scores still to come")
        cancel_button(items, f"{prefix}.cancel")
        jobs.waiting(live[:1])


def _again(requests: Sequence[Request]) -> None:
    for request in requests:
        jobs.retry(request)


def _row(name: str, score: Item, about: Item | None, operator: str) -> scores.ScoreRow:
    values = cast(Explanation, score.explanation).values
    subject = about.explanation if about else None
    spread, spent = values.get("spread", {}), cost(subject)
    return scores.ScoreRow(
        name=name,
        metrics=values["metrics"][operator] if operator else values["metrics"],
        spread=spread.get(operator, {}) if operator else spread,
        seconds=spent["seconds"] if subject else None,
        forward_passes=int(spent["forward_passes"] or 0) if subject else None,
        control=about is None or about.explainer.control,
    )


def _numbers(
    rows: Sequence[scores.ScoreRow], metrics: Sequence[Metric], won: Mapping[str, str]
) -> None:
    titles = {metric.id: metric.title for metric in metrics}
    table = []
    for row in rows:
        line: dict[str, Any] = {"method": row.name}
        line |= {title: row.metrics.get(name) for name, title in titles.items()}
        line |= {"seconds": row.seconds}
        if any(other.forward_passes for other in rows):
            line |= {"forward passes": row.forward_passes}
        table.append(line)
    number = st.column_config.NumberColumn(format="%.3f")
    formats = dict.fromkeys([*titles.values(), "seconds"], "{:.3f}")
    if "forward passes" in table[0]:
        formats["forward passes"] = "{:.0f}"
    st.dataframe(
        greyed(table, columns={titles[name] for name in won}, formats=formats),
        hide_index=True,
        column_config=dict.fromkeys([*titles.values(), "seconds"], number),
        alt="Score numbers",
    )


def _undefined(
    done: Sequence[tuple[str, Item, Item | None]], operator: str, known: Sequence[Metric]
) -> None:
    reasons: dict[str, set[str]] = {}
    titles = {metric.id: metric.title for metric in known}
    for _, score, _ in done:
        undefined = score.explanation.values["undefined"] if score.explanation else {}
        for name, reason in undefined.items():
            where, _, metric = name.rpartition("/")
            if where in ("", operator):
                reasons.setdefault(reason, set()).add(titles.get(metric, metric))
    for reason, metrics in reasons.items():
        st.caption(f"Not defined: {', '.join(sorted(metrics))}: {plain(reason)}")
