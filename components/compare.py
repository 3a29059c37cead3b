"""Side by side: one panel an explainer, each arriving on its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from backend.catalogue import find
from backend.engine.job import Job
from backend.explainer import Explainer
from backend.explanation import Explanation, Request
from components import jobs
from components.choose import about
from components.plain import plain
from components.session import explanation


@dataclass(frozen=True)
class Item:
    """One explainer of a comparison: its request, its job, and its explanation once there."""

    request: Request
    explainer: Explainer
    job: Job | str
    explanation: Explanation | None
    live: bool = False
    """Whether the job could still bring something when the page looked for its explanation."""

    @property
    def title(self) -> str:
        return self.explainer.title


def items(requests: Sequence[Request]) -> tuple[Item, ...]:
    """Submit or rejoin the job of each request.

    Those that need no preparation come first: a quick map does not wait for another's.
    """
    first = sorted(range(len(requests)), key=lambda i: _prepared(requests[i]))
    held = {i: jobs.hold(requests[i]) for i in first}
    found = []
    for i, request in enumerate(requests):
        job = held[i]
        # Asked once: a job may end between this line and where its panel is drawn.
        live = isinstance(job, Job) and not job.finished
        done = isinstance(job, Job) and not live and job.state == "done"
        found.append(
            Item(
                request=request,
                explainer=find(request),
                job=job,
                explanation=explanation(job.key) if done and isinstance(job, Job) else None,
                live=live,
            )
        )
    return tuple(found)


def _prepared(request: Request) -> bool:
    """Whether it stands on a preparation, which may take long."""
    return request.subject is not None and find(request.subject).role == "preparation"


def cancel_button(compared: Sequence[Item], key: str) -> None:
    """A button that stops every job of these that is still live; in the main script."""
    live = [item.job.key for item in compared if isinstance(item.job, Job) and item.live]
    if live:
        st.button(
            f"Cancel {len(live)} running" if len(live) > 1 else "Cancel",
            key=key,
            icon=":material/stop_circle:",
            on_click=jobs.cancel,
            args=(live,),
        )


def grid(compared: Sequence[Item], draw: Callable[[Item], None], key: str, across: int = 2) -> None:
    """Draw one bordered panel an item.

    Args:
        draw: draws a finished item's explanation.
        key: makes the widgets of the panels unique.
        across: panels a row.
    """
    for start in range(0, len(compared), across):
        row = compared[start : start + across]
        for column, item in zip(st.columns(across), row, strict=False):
            with column, st.container(border=True):
                _panel(item, draw, f"{key}.{item.request.explainer}")


def _panel(item: Item, draw: Callable[[Item], None], key: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{item.title}**", width="stretch")
        with st.popover("", icon=":material/info:", type="tertiary"):
            about(type(item.explainer))
            _cost(item)
    if item.explanation is None:
        absent(item, key)
        return
    draw(item)
    for note in (*item.explanation.notes, *item.explanation.source().warnings):
        st.caption(f":material/info: {plain(note)}")


def first_absent(among: Sequence[Item], what: str, key: str) -> None:
    """The first of these that has ended and brought nothing, with the way to try again.

    Args:
        what: what the item is of, behind its title.
    """
    for number, item in enumerate(among):
        if item.explanation is None and not item.live:
            st.caption(f"{item.title}, {what}:")
            absent(item, f"{key}.{number}")
            return


def absent(item: Item, key: str) -> None:
    """What stands in place of an explanation: why there is none, or how far it is."""
    if isinstance(item.job, str):
        st.warning(plain(item.job), icon=":material/block:")
    elif item.live:
        jobs.waiting([item.job])
    elif item.job.state == "done":
        st.warning("This result is no longer stored.", icon=":material/history:")
        st.button("Compute again", key=f"again.{key}", on_click=jobs.retry, args=(item.request,))
    else:
        jobs.outcome(item.job, item.request, key)


def _cost(item: Item) -> None:
    if item.explanation is None:
        return
    source = item.explanation.source()
    passes = f"{source.forward_passes} forward"
    if source.backward_passes:
        passes += f", {source.backward_passes} backward"
    st.caption(
        f"{source.seconds:.2f} s · {passes} passes · {source.device} · {source.dtype}"
        + (" · from the library" if isinstance(item.job, Job) and item.job.cached else "")
    )


def pick(label: str, among: Sequence[Item], key: str) -> Item:
    """Let a person pick one of the items by its title."""
    titles = [item.title for item in among]
    return among[titles.index(st.selectbox(label, titles, key=key))]
