"""Monte Carlo tree search over connected subgraphs, each valued by a sampled Shapley value.

Directions of edges do not matter to the search: what hangs together in either direction is
connected, and within reach. They do to the GNN that values a subgraph.

Moves take away the nodes with fewest neighbours. Which of equal ones goes first, which of equally
large pieces is kept and which coalitions are drawn depends on the numbers of the nodes: the same
graph numbered otherwise is searched as with another seed.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import networkx as nx
import numpy as np

from backend.errors import InputError
from backend.explainer import Run
from backend.graphs.classifier import AT_ONCE, probabilities
from backend.graphs.explained import Decision

Nodes = frozenset[int]

LARGE = 50
"""Nodes up to which a move takes one node away."""
SHARE = 8
"""Of more nodes a move takes one in this many, so that some 25 moves lead from 1,000 to 50."""
MOST_NODES, MOST_EDGES = 1000, 10_000
"""Of the largest part that is searched: a walk through it takes a minute on one core."""


@dataclasses.dataclass
class State:
    """A subgraph in the tree: how often it was on a path, and what those paths were worth."""

    children: list[Nodes] | None = None
    visits: int = 0
    total: float = 0.0


class Search:
    """One search.

    Args:
        parameters: of `backend.graphs.subgraphx`.

    Raises:
        InputError: the part has more than `MOST_NODES` nodes or `MOST_EDGES` edges.
    """

    def __init__(self, decision: Decision, parameters: Any, run: Run) -> None:
        self.decision, self.parameters, self.progress = decision, parameters, run
        self.generator = run.numpy_generator()
        count = len(decision.part.node_ids)
        if count > MOST_NODES or len(decision.part) > MOST_EDGES:
            raise InputError(
                f"SubgraphX searches at most {MOST_NODES:,} nodes and {MOST_EDGES:,} edges; here "
                f"are {count:,} and {len(decision.part):,}.",
                todo="Choose a smaller graph, or another method.",
            )
        self.graph = nx.Graph()
        self.graph.add_nodes_from(range(count))
        self.graph.add_edges_from(map(tuple, decision.part.edges.tolist()))
        self.values: dict[Nodes, float] = {}
        self.states: dict[Nodes, State] = {}

    def run(self) -> dict[Nodes, float]:
        """The value of every subgraph that was visited."""
        for rollout in range(self.parameters.rollouts):
            self.progress.progress(rollout, self.parameters.rollouts, "rollouts of the search")
            self._rollout(self._piece(frozenset(self.graph)))
        return self.values

    def _rollout(self, root: Nodes) -> None:
        path = [root]
        while len(path[-1]) > self.parameters.size:
            self.progress.check_cancelled()
            state = self.states.setdefault(path[-1], State())
            if state.children is None:
                state.children = self._expanded(path[-1])
            if not state.children:
                break
            path.append(self._chosen(state))
        worth = self._valued([path[-1]])[path[-1]]
        for nodes in path:
            state = self.states.setdefault(nodes, State())
            state.visits += 1
            state.total += worth

    def _expanded(self, nodes: Nodes) -> list[Nodes]:
        """What moves lead to: the first takes the nodes with fewest neighbours, and so on."""
        inner = self.graph.subgraph(nodes)
        removable = [v for v in inner if v != self.decision.part.node]
        step = 1 if len(nodes) <= LARGE else len(nodes) // SHARE
        order = sorted(removable, key=lambda v: (inner.degree[v], v))
        order = order[: step * self.parameters.children]
        taken = [order[i : i + step] for i in range(0, len(order), step)]
        found = dict.fromkeys(self._piece(nodes - set(some)) for some in taken)
        children = [child for child in found if child]
        self._valued(children)
        return children

    def _chosen(self, state: State) -> Nodes:
        children = state.children or []
        visits = sum(self.states.get(child, State()).visits for child in children)

        def promise(child: Nodes) -> float:
            known = self.states.get(child, State())
            mean = known.total / known.visits if known.visits else 0.0
            spread = np.sqrt(max(visits, 1)) / (1 + known.visits)
            return mean + float(self.parameters.exploration * self.values[child] * spread)

        return max(children, key=promise)

    def _piece(self, nodes: Nodes) -> Nodes:
        """The connected piece that holds the target, or the largest one."""
        pieces = [frozenset(p) for p in nx.connected_components(self.graph.subgraph(nodes))]
        target = self.decision.part.node
        if target is not None:
            return next((p for p in pieces if target in p), frozenset())
        return max(pieces, key=lambda p: (len(p), -min(p)), default=frozenset())

    def _valued(self, asked: list[Nodes]) -> dict[Nodes, float]:
        """Shapley values of subgraphs, each as one player against the nodes within its reach."""
        new = [nodes for nodes in asked if nodes not in self.values]
        samples, part = self.parameters.samples, self.decision.part
        size = max(1, AT_ONCE // (2 * samples * (2 * len(part) + len(self.graph))))
        for start in range(0, len(new), size):
            self.progress.check_cancelled()
            some = new[start : start + size]
            keep = np.concatenate([self._coalitions(nodes, samples) for nodes in some])
            said = probabilities(self.decision.classifier.cut(part, keep))[:, self.decision.label]
            with_, without = said.reshape(len(some), 2, samples).swapaxes(0, 1)
            gains = (with_ - without).mean(axis=1)
            self.values.update(zip(some, map(float, gains), strict=True))
            self.progress.count(forward=len(keep))
        return {nodes: self.values[nodes] for nodes in asked}

    def _around(self, nodes: Nodes) -> np.ndarray:
        """Nodes from which messages reach these, but for themselves; ascending."""
        u, v = self.decision.part.edges.T
        own = np.zeros(len(self.graph), dtype=bool)
        own[list(nodes)] = True
        near = own.copy()
        for _ in range(self.decision.classifier.gnn.architecture.layers):
            grown = near.copy()
            grown[v[near[u]]] = True
            grown[u[near[v]]] = True
            near = grown
        return np.flatnonzero(near & ~own)

    def _coalitions(self, nodes: Nodes, samples: int) -> np.ndarray:
        """[2 * samples, e] edges that stay: first with the subgraph, then without it."""
        around = self._around(nodes)
        present = np.zeros((samples, len(self.graph)), dtype=bool)
        # A player's coalition is what came before it in a random order: any size is as likely.
        share = self.generator.random((samples, 1))
        present[:, around] = self.generator.random((samples, len(around))) < share
        without = present.copy()
        present[:, list(nodes)] = True
        u, v = self.decision.part.edges.T
        return np.concatenate([part[:, u] & part[:, v] for part in (present, without)])
