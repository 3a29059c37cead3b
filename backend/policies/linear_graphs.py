"""Learners that see straight lines, and those that see nothing: LASSO, PC, correlation, chance."""

from __future__ import annotations

import numpy as np

from backend.policies.loco import Learned, tested
from backend.policies.sources import blocks, standard_targets
from backend.policies.transitions import Transitions

SMALL = 0.01
"""A standardised LASSO coefficient under this is none."""
CORRELATED = 0.1
"""A correlation under this is none."""
LEVEL = 0.01
MOST_ROWS = 4000
"""Rows for PC, whose test finds anything among many."""
EDGES = 0.5
"""Share of the pairs that a random graph has."""


def lasso(transitions: Transitions, seed: int) -> Learned:
    """Sources with a coefficient in a cross-validated LASSO (Tibshirani, 1996) of the change."""
    from sklearn.linear_model import LassoCV

    pairs, learned = tested(transitions), ~transitions.held
    parts = blocks(transitions)
    x = np.concatenate([part[learned] for part in parts], axis=1)
    owner = np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts])
    strength = np.zeros(pairs.shape)
    for j, target in enumerate(standard_targets(transitions)):
        if transitions.flat[j]:
            continue
        for column in target[learned].T:
            found = np.abs(LassoCV(cv=3, alphas=30, random_state=seed).fit(x, column).coef_)
            for i in range(len(parts)):
                strength[i, j] = max(strength[i, j], found[owner == i].max())
    return Learned((strength > SMALL) & pairs, strength, np.ones(pairs.shape), pairs)


def pc(transitions: Transitions, seed: int) -> Learned:
    """Edges of the PC algorithm (Spirtes & Glymour, 1991) with Fisher's z, by causal-learn.

    Sources come before targets, and edges among sources or among targets are forbidden. The action
    and categorical variables enter as numbers.
    """
    from causallearn.graph.GraphNode import GraphNode
    from causallearn.search.ConstraintBased.PC import pc as search
    from causallearn.utils.PCUtils.BackgroundKnowledge import BackgroundKnowledge

    pairs = tested(transitions)
    generator = np.random.default_rng(seed)
    rows = np.flatnonzero(~transitions.held)
    rows = np.sort(generator.permutation(rows)[:MOST_ROWS])
    sources = np.column_stack([transitions.states, transitions.actions])[rows]
    changes = np.column_stack([_first(target) for target in transitions.targets()])[rows]
    moving = np.flatnonzero(~transitions.still & (sources.std(axis=0) > 0))
    changing = np.flatnonzero(~transitions.flat & (changes.std(axis=0) > 0))
    table = np.column_stack([sources[:, moving], changes[:, changing]])
    # A little noise: columns that are the same line would make the test's matrix singular.
    table = table + generator.normal(size=table.shape) * 1e-3 * table.std(axis=0)
    nodes = [GraphNode(f"X{k + 1}") for k in range(table.shape[1])]
    knowledge = BackgroundKnowledge()
    for k, node in enumerate(nodes):
        knowledge.add_node_to_tier(node, int(k >= len(moving)))
    found = search(table, LEVEL, "fisherz", background_knowledge=knowledge, show_progress=False)
    adjacent = found.G.graph[: len(moving), len(moving) :] != 0
    present = np.zeros(pairs.shape, dtype=bool)
    present[np.ix_(moving, changing)] = adjacent
    return Learned(present & pairs, present.astype(np.float64), np.ones(pairs.shape), pairs)


def correlation(transitions: Transitions, seed: int) -> Learned:  # noqa: ARG001
    """Sources that go along with the change: a control that knows no cause."""
    pairs = tested(transitions)
    strength = np.zeros(pairs.shape)
    targets = standard_targets(transitions)
    for i, part in enumerate(blocks(transitions)):
        for j, target in enumerate(targets):
            strength[i, j] = np.abs(part.T @ target / len(part)).max()
    return Learned((strength > CORRELATED) & pairs, strength, np.ones(pairs.shape), pairs)


def random_graph(transitions: Transitions, seed: int) -> Learned:
    """Edges drawn at random, half of the pairs: a control that knows nothing."""
    pairs = tested(transitions)
    strength = np.random.default_rng([seed, 7]).random(pairs.shape)
    return Learned((strength < EDGES) & pairs, strength, np.ones(pairs.shape), pairs)


def _first(target: np.ndarray) -> np.ndarray:
    """One column of a target: of a categorical the number of its value."""
    column: np.ndarray = target[:, 0] if target.shape[1] == 1 else target.argmax(axis=1)
    return column
