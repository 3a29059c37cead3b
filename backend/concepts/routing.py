"""Who gets which sample, in words: a shallow tree that predicts the selector's choice.

A tree grown greedily cannot see a choice by the exclusive or of two concepts, as neither helps
alone: where there are not too many concepts, trees on each two of them are tried as well, and the
tree that is right on most training samples is kept.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

SMALLEST = 0.01
"""Share of the training samples that a leaf must hold."""
MOST_PAIRED = 20
"""Concepts up to which all pairs are tried."""


@dataclasses.dataclass(frozen=True)
class Rule:
    """One line of a tree that is written out: a condition, below those with less depth."""

    depth: int
    condition: str
    expert: int | None
    """Where it ends, the expert; None where more conditions follow."""
    samples: int
    """Held-out samples that reach this line."""
    right: float
    """Share of them that go where the tree sends them."""

    def text(self) -> str:
        """The line, indented by two spaces a step."""
        goes = "" if self.expert is None else f": expert {self.expert + 1}"
        return f"{'  ' * self.depth}if {self.condition}{goes}"


@dataclasses.dataclass(frozen=True)
class Tree:
    """A decision tree on concepts; `fidelity` is its share of right guesses on held-out samples."""

    fidelity: float
    majority: float
    """Share of held-out samples that go to the expert that got most of the training samples."""
    rules: tuple[Rule, ...]

    @property
    def explained(self) -> float:
        """Of what the most used expert leaves open, the share that the tree tells; at least 0."""
        return max(0.0, (self.fidelity - self.majority) / max(1e-9, 1.0 - self.majority))

    def value(self) -> dict[str, Any]:
        """As an explanation's plain value."""
        rules = [dataclasses.asdict(rule) | {"text": rule.text()} for rule in self.rules]
        return {"fidelity": self.fidelity, "majority": self.majority, "rules": rules}


def routing_tree(
    concepts: np.ndarray,
    choices: np.ndarray,
    held_out: np.ndarray,
    names: Sequence[str],
    *,
    depth: int = 3,
    binary: bool = True,
    seed: int = 0,
) -> Tree:
    """Fit a tree to the training samples' choices.

    Args:
        concepts: [n, k] as the experts see them.
        choices: [n] the expert of each sample.
        held_out: [n] bool, samples that only judge the tree.
        binary: whether concepts are 0 or 1, so that a condition is "present" or "absent".
    """
    train = ~held_out
    tree, used = _grown(concepts[train], choices[train], depth, seed)
    rest, gone = concepts[held_out][:, used], choices[held_out]
    most = int(np.bincount(choices[train]).argmax())
    return Tree(
        fidelity=float(tree.score(rest, gone)),
        majority=float((gone == most).mean()),
        rules=tuple(_rules(tree, rest, gone, [names[j] for j in used], binary)),
    )


def _grown(
    concepts: np.ndarray, choices: np.ndarray, depth: int, seed: int
) -> tuple[Any, list[int]]:
    """The best tree and the concepts it may ask for; all of them where pairs are no better."""
    from sklearn.tree import DecisionTreeClassifier  # type: ignore[import-untyped]

    k = concepts.shape[1]
    allowed: list[list[int]] = [list(range(k))]
    if 2 < k <= MOST_PAIRED and depth > 1:
        allowed += [list(pair) for pair in itertools.combinations(range(k), 2)]
    leaf = max(1, int(SMALLEST * len(choices)))
    found = []
    for used in allowed:
        tree = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=leaf, random_state=seed)
        tree.fit(concepts[:, used], choices)
        found.append((tree, used))
    return max(found, key=lambda one: one[0].score(concepts[:, one[1]], choices))


def _rules(
    tree: Any, concepts: np.ndarray, choices: np.ndarray, names: Sequence[str], binary: bool
) -> Iterator[Rule]:
    """Lines in reading order; a split whose sides end alike is left out."""
    nodes = tree.tree_

    def says(node: int) -> int:
        return int(tree.classes_[nodes.value[node, 0].argmax()])

    def ends(node: int) -> set[int]:
        left, right = int(nodes.children_left[node]), int(nodes.children_right[node])
        return {says(node)} if left < 0 else ends(left) | ends(right)

    def walk(node: int, rows: np.ndarray, depth: int, condition: str) -> Iterator[Rule]:
        last = ends(node)
        expert = last.pop() if len(last) == 1 else None
        guessed = says(node) if expert is None else expert
        right = float((choices[rows] == guessed).mean()) if rows.any() else 0.0
        if condition or expert is not None:
            yield Rule(depth, condition or "any sample", expert, int(rows.sum()), right)
        if expert is not None:
            return
        j, threshold = int(nodes.feature[node]), float(nodes.threshold[node])
        low = concepts[:, j] <= threshold
        below = depth + 1 if condition else depth
        for child, side, over in (
            (nodes.children_left[node], low, False),
            (nodes.children_right[node], ~low, True),
        ):
            yield from walk(
                int(child), rows & side, below, _condition(names[j], over, threshold, binary)
            )

    yield from walk(0, np.ones(len(choices), dtype=bool), 0, "")


def _condition(name: str, over: bool, threshold: float, binary: bool) -> str:
    if binary:
        return f"{name} is {'present' if over else 'absent'}"
    return f"{name} {'>' if over else '≤'} {threshold:.2f}"
