"""Explanations in words: templates that are filled with numbers, and never say more than those."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from backend.policies.imagined import Path


def number(value: float, unit: str = "") -> str:
    """Three digits, with the unit behind."""
    return f"{value:.3g}{f' {unit}' if unit else ''}"


def listed(names: Sequence[str]) -> str:
    """a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def why(
    action: str,
    names: Sequence[str],
    values: Sequence[str],
    sufficient: Sequence[int],
    share: float,
    chain: Sequence[dict[str, Any]],
) -> list[str]:
    """What the choice rests on, and what the action does next.

    Args:
        values: of the variables in the state, in words.
    """
    if len(sufficient) == len(names):
        found = [f"The agent chooses “{action}” by all {len(names)} variables together."]
    elif sufficient:
        held = [f"{names[i]} = {values[i]}" for i in sufficient]
        found = [
            f"With {listed(held)} the agent chooses “{action}” in {share:.0%} of draws of all "
            "other variables."
        ]
    else:
        found = [
            f"The agent chooses “{action}” in {share:.0%} of the states it visits, whatever the "
            "variables are."
        ]
    first = [link for link in chain if link["step"] == 1]
    if first:
        parts = [
            f"{link['target']} by {number(link['effect'])} [{number(link['low'])}, "
            f"{number(link['high'])}]"
            for link in first
        ]
        found.append(f"Against the other action it moves {listed(parts)} within a step.")
    for step in sorted({link["step"] for link in chain} - {1}):
        parts = [
            f"{link['source']} moves {link['target']}" for link in chain if link["step"] == step
        ]
        found.append(f"In step {step}, {listed(parts)}.")
    return found


def why_not(
    action: str,
    instead: str,
    names: Sequence[str],
    units: Sequence[str],
    difference: Path,
    carriers: Sequence[dict[str, Any]],
    importance: np.ndarray,
    found_states: int,
) -> list[str]:
    """What differs after H steps, and which states would have led to the other action."""
    if action == instead:
        return [f"There is no other action than “{action}”."]
    horizon = len(difference.expected) - 1
    total, low, high = (
        float(each[-1, -1]) for each in (difference.expected, difference.low, difference.high)
    )
    said = (
        f"After {horizon} steps “{action}” has brought {number(total)} of reward against "
        f"“{instead}”"
    )
    bounds = f" [{number(low)}, {number(high)}]" if np.isfinite([low, high]).all() else ""
    found = [f"{said}{bounds}{', which may be none' if low <= 0 <= high else ''}."]
    if carriers:
        i = list(names).index(carriers[0]["variable"])
        found.append(
            f"The paths differ most in {names[i]}: by "
            f"{number(float(difference.expected[-1, i]), units[i])} at the end, "
            f"{carriers[0]['share']:.0%} of all differences in standard deviations."
        )
    if not found_states:
        found.append(f"In no visited state does the agent choose “{instead}”.")
    else:
        # None stands out where the states differ in nothing that is compared.
        order = [i for i in np.argsort(-importance, kind="stable") if importance[i] > 0]
        parts = [f"{names[i]} ({importance[i]:.0%})" for i in order[:3]]
        said = f"{found_states} states near this one lead to “{instead}”"
        found.append(f"{said}; they change {listed(parts)}." if parts else f"{said}.")
    return found


def what_if(
    action: str, instead: str, names: Sequence[str], path: Path, true: np.ndarray | None
) -> list[str]:
    """How far the imagined path after the other action is from the true one."""
    if action == instead:
        return []
    if true is None:
        return ["The true environment cannot be put into this state: there is no path to compare."]
    steps = len(true)
    outside = np.maximum(path.low[:steps] - true, true - path.high[:steps])
    inside: Any = outside <= 0
    steps_inside = int(inside.all(axis=1)[1:].sum())
    found = [
        f"After “{instead}” in place of “{action}” the true environment stays within the models' "
        f"band for {steps_inside} of {steps - 1} steps."
    ]
    if not inside.all():
        columns = [*names, "the reward so far"]
        left = [columns[j] for j in np.flatnonzero(~inside.all(axis=0))]
        found.append(f"It leaves it in {listed(left)}.")
    if steps < len(path.expected):
        found.append(f"The true episode ends after {steps - 1} steps.")
    return found


def pursues(regions: Sequence[dict[str, Any]]) -> list[str]:
    """Each region of the state space in a sentence."""
    found = []
    for region in regions:
        names = [cause["variable"] for cause in region["causes"]]
        where = "Everywhere" if region["rule"] == "everywhere" else f"Where {region['rule']}"
        on = (
            f"choices rest on {listed(names)}" if names else "no variable is needed to tell choices"
        )
        found.append(
            f"{where} ({region['share']:.0%} of the visited states) {on}; the agent mostly chooses "
            f"“{region['action']}” ({region['action_share']:.0%})."
        )
    return found


def by_terms(
    action: str,
    instead: str,
    names: Sequence[str],
    differences: np.ndarray,
    decide: Sequence[int],
    whole: dict[str, float],
) -> list[str]:
    """What an action brings more than the other one, and by which terms of the reward."""
    total, low, high = whole["difference"], whole["low"], whole["high"]
    unsure = ", which may be none" if low <= 0 <= high and low < high else ""
    found = [
        f"Until the episode ends “{action}” brings {number(total)} of reward against “{instead}” "
        f"[{number(low)}, {number(high)}]{unsure}."
    ]
    against = [i for i in np.argsort(differences, kind="stable") if differences[i] < 0]
    if decide:
        gains = [f"{names[i]} ({number(float(differences[i]))})" for i in decide]
        found.append(f"For it, and enough to outweigh what is against it: {listed(gains)}.")
    if against:
        losses = [f"{names[i]} ({number(float(differences[i]))})" for i in against]
        found.append(f"Against it: {listed(losses)}.")
    return found
