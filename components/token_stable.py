"""How far each method's explanation stays when its seed, or a few tokens of the prompt, change."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import cast

import numpy as np
import streamlit as st

from backend.explanation import Comparison, Explanation, Request
from backend.stability import Stability
from backend.tokens.explanation import Prompt, TokenExplanation
from backend.tokens.noise import NOISE, aligned, noisy
from components import stable, token_views
from components.compare import Item
from components.figures.graph_parts import percent
from components.session import engine


def panel(
    opened: Comparison, continuation: TokenExplanation, done: Sequence[Item], prefix: str
) -> None:
    """Explain again with other seeds and with a few tokens replaced, and compare."""
    given = cast(Prompt | None, engine().get_input(opened.family, opened.input))
    if given is None:
        st.warning("The prompt is no longer stored. Bring it again.", icon=":material/history:")
        return
    stable.panel(done, Shaken(given, continuation, prefix), opened.key(), prefix)


class Shaken:
    """The same answer to a prompt with a few tokens replaced."""

    about = (
        f"Noise: {percent(NOISE)} of the prompt's tokens, at least one, replaced with others of "
        "the same prompt, none of the planted evidence; the answer stays, and a replaced token is "
        "not compared."
    )
    change = "noise"
    share = 0.1
    ranked = token_views.RANKED

    def __init__(self, prompt: Prompt, continuation: TokenExplanation, prefix: str) -> None:
        self.prompt, self.continuation, self.prefix = prompt, continuation, prefix

    def shaken(self, item: Item, run: int) -> Request:
        request = item.request
        digest = _noisy(request.input, run, self.prompt, self.continuation, request.family)
        return request.moved(digest, request.target)

    def aligned(self, found: Sequence[Explanation]) -> list[np.ndarray]:
        return aligned([cast(TokenExplanation, one) for one in found])

    def drawn(self, first: Item, runs: Sequence[Explanation], measured: Stability) -> None:
        mean = dataclasses.replace(
            cast(TokenExplanation, runs[0]),
            arrays={"scores": measured.mean.astype(np.float32)},
            values={},
        )
        faint = np.flatnonzero(~measured.stable).tolist()
        shown = dataclasses.replace(first, explanation=mean)
        token_views.strip(shown, "token", None, f"{self.prefix}.mean", faint)


@st.cache_resource(max_entries=64, show_spinner=False)
def _noisy(
    prompt: str,  # noqa: ARG001
    seed: int,
    _prompt: Prompt,
    _continuation: TokenExplanation,
    family: str,
) -> str:
    """Digest of a noisy copy, stored."""
    return engine().put_input(noisy(_prompt, _continuation.sequence, seed), family)
