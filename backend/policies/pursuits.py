"""What an agent pursues: regions of the state space, and for each what its choices rest on.

1. At states it visited, the sufficient set of variables is found (`policy_causes`).
2. A shallow tree over the state tells which set goes with which region.
3. Each region is described by its bounds, its share of the visited states, the variables that most
   of its sufficient sets name, the action taken most often, and the effects of that action there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.explainer import Progress
from backend.policies.acting import Acting
from backend.policies.effects import EffectModels
from backend.policies.policy_causes import sufficient

STATES = 150
DRAWS = 60
DEPTH = 2
LEAF = 0.08
NAMED = 0.5
"""Share of a region's sufficient sets that a variable must be in to be named."""


def pursuits(
    agent: Acting,
    models: EffectModels,
    generator: np.random.Generator,
    progress: Progress = lambda *_: None,
) -> list[dict[str, Any]]:
    """Regions, the largest first: rule, share, states, causes, action, action_share, effects.

    `causes` has {variable, share}; `effects` {target, effect}, in the target's own unit: what the
    action does there against the mean of all actions, for each edge of the action.
    """
    from sklearn.tree import DecisionTreeClassifier

    transitions = models.transitions
    states = generator.permutation(transitions.states)[:STATES]
    pool = generator.permutation(transitions.states)[:DRAWS]
    actions = agent.act(states)
    named = np.zeros(states.shape, dtype=bool)
    for number, (state, action) in enumerate(zip(states, actions, strict=True)):
        if number % 10 == 0:
            progress(number, len(states), "asking what choices rest on")
        chosen, _ = sufficient(agent, state, int(action), pool, np.zeros(len(state)))
        named[number, list(chosen)] = True
    kinds = np.unique(named, axis=0, return_inverse=True)[1].reshape(-1)
    tree = DecisionTreeClassifier(max_depth=DEPTH, min_samples_leaf=LEAF, random_state=0)
    leaves = tree.fit(states, kinds).apply(states)
    found = [
        _region(tree, int(leaf), leaves == leaf, states, actions, named, models)
        for leaf in np.unique(leaves)
    ]
    return sorted(found, key=lambda region: -region["share"])


def _region(
    tree: Any,
    leaf: int,
    inside: np.ndarray,
    states: np.ndarray,
    actions: np.ndarray,
    named: np.ndarray,
    models: EffectModels,
) -> dict[str, Any]:
    transitions = models.transitions
    shares = named[inside].mean(axis=0)
    counts = np.bincount(actions[inside], minlength=len(transitions.action_names))
    action = int(counts.argmax())
    return {
        "rule": _rule(tree.tree_, leaf, transitions.variables),
        "share": float(inside.mean()),
        "states": int(inside.sum()),
        "causes": [
            {"variable": transitions.variables[i].name, "share": float(shares[i])}
            for i in np.argsort(-shares)
            if shares[i] >= NAMED
        ],
        "action": transitions.action_names[action],
        "action_share": float(counts[action] / counts.sum()),
        "effects": _effects(models, states[inside], action),
    }


def _effects(models: EffectModels, states: np.ndarray, action: int) -> list[dict[str, Any]]:
    transitions = models.transitions
    numbers = range(len(transitions.action_names))
    model, columns = models.models[0], transitions.columns()
    every = np.stack([model.change(states, np.full(len(states), a)) for a in numbers])
    apart = (every[action] - every.mean(axis=0)).mean(axis=0)
    return [
        {"target": transitions.target_names[j], "effect": float(apart[columns[j].start])}
        for j in np.flatnonzero(models.structure.present[-1])
        if columns[j].stop - columns[j].start == 1
    ]


def _rule(tree: Any, leaf: int, variables: Any) -> str:
    """The bounds of a leaf in words; "everywhere" of a tree of one."""
    parents = {
        int(child): (node, side)
        for node in range(tree.node_count)
        for child, side in ((tree.children_left[node], "≤"), (tree.children_right[node], ">"))
        if child >= 0
    }
    parts = []
    while leaf in parents:
        leaf, side = parents[leaf]
        variable = variables[tree.feature[leaf]]
        bound = f"{tree.threshold[leaf]:.3g}"
        parts.append(
            f"{variable.name} {side} {bound}{f' {variable.unit}' if variable.unit else ''}"
        )
    return " and ".join(reversed(parts)) or "everywhere"
