"""An experience as the explanation that a step gives, and back."""

from __future__ import annotations

from typing import Any

from backend.policies.explanation import Experience, PolicyExplanation

KIND = "experience"


def explanation(experience: Experience, notes: tuple[str, ...] = ()) -> PolicyExplanation:
    """An experience as an explanation of kind "experience"."""
    arrays, values = experience.parts()
    return PolicyExplanation(arrays=arrays, values={"kind": KIND, **values}, notes=notes)


def experience_of(found: PolicyExplanation) -> Experience:
    """The experience that a step found.

    Raises:
        ValueError: the explanation holds none.
    """
    values: dict[str, Any] = {k: v for k, v in found.values.items() if k != "kind"}
    if found.values.get("kind") != KIND:
        raise ValueError(f"this explanation holds {found.values.get('kind')!r}, no experience")
    return Experience.build(values, found.arrays)
