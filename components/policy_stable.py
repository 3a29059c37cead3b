"""How far each method's explanation of a choice stays when its seed, or the experience, changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import streamlit as st

from backend.explanation import Comparison, Explanation, Request
from backend.policies import plan
from backend.policies.bootstrap_experience import bootstrapped
from backend.policies.explanation import Experience, PolicyExplanation
from backend.stability import Stability
from components import stable
from components.compare import Item
from components.policy_views import RANKED
from components.session import engine


def panel(opened: Comparison, experience: Experience, done: Sequence[Item], prefix: str) -> None:
    """Explain again with other seeds and on other experience, and compare."""
    stable.panel(done, Shaken(experience), opened.key(), prefix)


class Shaken:
    """The same choice in the same state, the experience drawn anew."""

    about = (
        "Bootstrap: episodes drawn anew with replacement; the causal graph is learned again from "
        "them. State and actions stay."
    )
    change = "bootstrap"
    share = 0.5
    ranked = RANKED

    def __init__(self, experience: Experience) -> None:
        self.experience = experience

    def shaken(self, item: Item, run: int) -> Request:
        request = item.request
        digest = _drawn(request.input, run, self.experience, request.family)
        target = plan.at_state(cast(PolicyExplanation, item.explanation))
        return plan.moved(request, digest, target)

    def aligned(self, found: Sequence[Explanation]) -> list[np.ndarray]:
        return [one.arrays["scores"].astype(np.float64) for one in found]

    def drawn(self, first: Item, runs: Sequence[Explanation], measured: Stability) -> None:
        """Nothing more: the bars of mean and spread are the variables' own drawing."""


@st.cache_resource(max_entries=64, show_spinner=False)
def _drawn(whole: str, seed: int, _experience: Experience, family: str) -> str:  # noqa: ARG001
    """Digest of a bootstrap of the experience, stored."""
    return engine().put_input(bootstrapped(_experience, seed), family)
