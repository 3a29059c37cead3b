"""The way from an action to the reward: which effects follow one another, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.policies.effects import EffectModels
from backend.policies.imagined import Path
from backend.policies.local_graph import LocalGraph

LINKS = 6
STEPS = 3


def chain(models: EffectModels, local: LocalGraph) -> list[dict[str, Any]]:
    """Links {source, target, step, effect, low, high}, from the action on, the strongest each step.

    Effects are those of `LocalGraph`. A variable that moved in one step is a source of the next;
    its own past is left out, which goes on as it is.
    """
    transitions = models.transitions
    sizes = np.array([*transitions.next_states.std(axis=0), transitions.rewards.std()])
    weight = np.abs(local.effect) / np.where(sizes > 0, sizes, np.inf)
    sources, found = [len(transitions.variables)], []
    reached: set[int] = set()
    for step in range(STEPS):
        links = [
            (weight[i, j], i, j)
            for i in sources
            for j in np.flatnonzero(local.present[i])
            if i != j and j not in reached
        ]
        links = sorted(links, reverse=True)[:LINKS]
        if not links:
            break
        for _, i, j in links:
            found.append(
                {
                    "source": transitions.source_names[i],
                    "target": transitions.target_names[j],
                    "step": step + 1,
                    "effect": float(local.effect[i, j]),
                    "low": float(local.low[i, j]),
                    "high": float(local.high[i, j]),
                }
            )
        sources = sorted({int(j) for _, _, j in links if j < len(transitions.variables)})
        reached |= {int(j) for _, _, j in links}
    return found


def carriers(models: EffectModels, difference: Path) -> list[dict[str, Any]]:
    """Which variables carry the difference of two paths: {variable, share}, the largest first.

    A variable's share is of the absolute differences at the last step, in standard deviations.
    """
    spread = models.transitions.next_states.std(axis=0)
    last = np.abs(difference.expected[-1, :-1]) / np.where(spread > 0, spread, np.inf)
    total = last.sum()
    if not total > 0:
        return []
    names = [variable.name for variable in models.transitions.variables]
    order = np.argsort(-last, kind="stable")
    return [{"variable": names[i], "share": float(last[i] / total)} for i in order if last[i] > 0]
