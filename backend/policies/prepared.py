"""The preparations of a comparison, one after the other: agent, experience, graph.

A page holds the jobs of these requests one by one; the command line finishes them in turn. Both ask
here what comes next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from backend.explanation import Comparison, Explanation, Request
from backend.policies import plan
from backend.policies.collected import experience_of
from backend.policies.explanation import Experience, PolicyExplanation

Finish = Callable[[Request], Explanation | None]
"""The result of a request, None where it is not there yet."""
Keep = Callable[[Experience], str]
"""Stores an input; its digest."""


def experience(
    comparison: Comparison, given: Experience, finish: Finish, keep: Keep
) -> tuple[str, Experience] | None:
    """The experience a comparison is about and its digest; None while one is being made."""
    if not plan.collects(comparison):
        return comparison.input, given
    agent = comparison.input
    first = None
    if plan.brings_agent(given):
        first = plan.read_request(comparison)
    elif plan.needs_training(comparison, given):
        first = plan.train_request(comparison)
    if first is not None:
        found = finish(first)
        if found is None:
            return None
        agent = keep(experience_of(cast(PolicyExplanation, found)))
    collected = finish(plan.collect_request(comparison, agent))
    if collected is None:
        return None
    made = experience_of(cast(PolicyExplanation, collected))
    return keep(made), made
