"""Monte Carlo tree search over connected subgraphs, each valued by a sampled Shapley value."""

from __future__ import annotations

import dataclasses
from typing import Any

import networkx as nx
import numpy as np

from backend.explainer import Run
from backend.graphs.classifier import probabilities
from backend.graphs.explained import Decision

Nodes = frozenset[int]


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
    """

    def __init__(self, decision: Decision, parameters: Any, run: Run) -> None:
        self.decision, self.parameters, self.progress = decision, parameters, run
        self.generator = run.numpy_generator()
        self.graph = nx.Graph()
        self.graph.add_nodes_from(range(len(decision.part.node_ids)))
        self.graph.add_edges_from(map(tuple, decision.part.edges.tolist()))
        self.values: dict[Nodes, float] = {}
        self.states: dict[Nodes, State] = {}
        depth = decision.classifier.gnn.architecture.layers
        self.reach = {
            v: set(nx.single_source_shortest_path_length(self.graph, v, cutoff=depth))
            for v in self.graph
        }

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
        inner = self.graph.subgraph(nodes)
        removable = [v for v in inner if v != self.decision.part.node]
        order = sorted(removable, key=lambda v: (inner.degree[v], v))[: self.parameters.children]
        found = dict.fromkeys(self._piece(nodes - {v}) for v in order)
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
            return float(mean + self.parameters.exploration * self.values[child] * spread)

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
        if new:
            samples = self.parameters.samples
            keep = np.concatenate([self._coalitions(nodes, samples) for nodes in new])
            logits = self.decision.classifier.cut(self.decision.part, keep)
            said = probabilities(logits)[:, self.decision.label].reshape(len(new), 2, samples)
            gains = (said[:, 0] - said[:, 1]).mean(axis=1)
            self.values.update(zip(new, map(float, gains), strict=True))
            self.progress.count(forward=len(keep))
        return {nodes: self.values[nodes] for nodes in asked}

    def _coalitions(self, nodes: Nodes, samples: int) -> np.ndarray:
        """[2 * samples, e] edges that stay: first with the subgraph, then without it."""
        around = sorted(set().union(*(self.reach[v] for v in nodes)) - nodes)
        present = np.zeros((samples, len(self.graph)), dtype=bool)
        # A player's coalition is what came before it in a random order: any size is as likely.
        share = self.generator.random((samples, 1))
        present[:, around] = self.generator.random((samples, len(around))) < share
        without = present.copy()
        present[:, list(nodes)] = True
        u, v = self.decision.part.edges.T
        return np.concatenate([part[:, u] & part[:, v] for part in (present, without)])
