"""Too long a prompt: say so, and offer the last part of it that fits."""

from __future__ import annotations

from typing import cast

import streamlit as st

from backend.engine.job import Job
from backend.explanation import Comparison
from backend.tokens import plan
from backend.tokens.explanation import Prompt
from backend.tokens.shorten import cut
from components import jobs
from components.permalink import PARAMETER
from components.plain import plain
from components.session import engine, explanation

_ASKED = "shorten"


def offer(opened: Comparison, failed: Job) -> None:
    """Show why the prompt was refused, and open its last part when that is asked for."""
    st.error(plain(failed.error), icon=":material/error:")
    if st.session_state.get(_ASKED) != opened.key():
        st.button(
            "Keep the last part that fits",
            icon=":material/content_cut:",
            on_click=_ask,
            args=(opened.key(),),
        )
        return
    request = plan.shorten_request(opened)
    job = jobs.hold(request)
    if isinstance(job, str):
        st.error(plain(job), icon=":material/error:")
    elif not job.finished:
        jobs.waiting([job])
    elif job.state == "done" and (found := explanation(job.key)) is not None:
        _open(opened, int(found.values["characters"]))
    else:
        jobs.outcome(job, request, "shorten")


def _ask(key: str) -> None:
    st.session_state[_ASKED] = key


def _open(opened: Comparison, characters: int) -> None:
    given = cast(Prompt, engine().get_input(opened.family, opened.input))
    shortened = engine().put_input(cut(given, characters), opened.family)
    st.query_params[PARAMETER] = engine().put_comparison(
        opened.model_copy(update={"input": shortened})
    )
    st.rerun()
