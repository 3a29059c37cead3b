"""Training a GNN on the labelled items of a set."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch

from backend.explainer import Run
from backend.graphs import batch as batches
from backend.graphs.architecture import Architecture
from backend.graphs.batch import Batch
from backend.graphs.explanation import TEST, TRAIN, VALIDATION, GraphSet
from backend.graphs.gnn import Gnn
from backend.graphs.recipes import Training

SHARES = (0.8, 0.1)
"""Of the items, for training and for validation; the rest is for testing."""
WEIGHT_DECAY = 1e-5
AT_ONCE = 500
"""Graphs in one pass that only looks."""
CHECK_EVERY = 5
"""Epochs between looks at the validation items."""
AVERAGING = {"gat": "GAT", "sage": "GraphSAGE"}
"""What takes means over neighbours with shares that add up to 1."""


def split(labels: np.ndarray, seed: int) -> np.ndarray:
    """[items] int8: TRAIN, VALIDATION or TEST, each class in the same shares."""
    generator = np.random.default_rng([seed, 1])
    found = np.full(len(labels), TEST, dtype=np.int8)
    for label in np.unique(labels):
        among = generator.permutation(np.flatnonzero(labels == label))
        first, second = (np.cumsum(SHARES) * len(among)).round().astype(int)
        found[among[:first]] = TRAIN
        found[among[first:second]] = VALIDATION
    return found


def learned_from(labels: np.ndarray, parts: np.ndarray, recipe: Training) -> np.ndarray:
    """[items] the labels that are learned from: those of training and validation may be shuffled.

    Each part keeps its own, so that both have as many of a class as before.
    """
    if recipe.labels == "true":
        return labels
    generator = np.random.default_rng([recipe.seed, 3])
    found = labels.copy()
    for part in (TRAIN, VALIDATION):
        among = np.flatnonzero(parts == part)
        found[among] = labels[generator.permutation(among)]
    return found


def train(graphs: GraphSet, recipe: Training, run: Run) -> tuple[Gnn, np.ndarray, np.ndarray]:
    """A trained GNN, [items, C] float32 logits of all items, and the split.

    Adam on the cross-entropy. The weights kept are those of the epoch with the best accuracy on the
    validation items, among equals the one of the smallest loss.
    """
    parts = split(graphs.arrays["labels"], recipe.seed)
    labels = learned_from(graphs.arrays["labels"], parts, recipe)
    if recipe.kind in AVERAGING and len(np.unique(graphs.arrays["x"], axis=0)) == 1:
        run.warn(
            f"All nodes have equal features, and a {AVERAGING[recipe.kind]} averages over "
            "neighbours: it sees no structure here. Choose a GIN or a GCN."
        )
    architecture = Architecture(
        kind=recipe.kind,
        task=graphs.task,
        features=graphs.arrays["x"].shape[1],
        hidden=recipe.hidden,
        layers=recipe.layers,
        classes=len(graphs.class_names),
        pooling=recipe.pooling,
        batch_norm=recipe.batch_norm,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        gnn = Gnn(architecture)
        kind = _Graphs if graphs.task == "graph" else _Nodes
        feed = kind(graphs, parts, labels)
        _fit(gnn, feed, recipe, run)
    gnn.eval().requires_grad_(False)
    return gnn, feed.logits(gnn), parts


class _Graphs:
    """Batches of graphs, drawn anew each epoch."""

    def __init__(self, graphs: GraphSet, parts: np.ndarray, labels: np.ndarray) -> None:
        self.parts, self.directed = parts, graphs.directed
        self.found = [graphs.graph(number) for number in range(len(graphs))]
        self.labels = torch.from_numpy(labels.astype(np.int64))
        self.every = [self._batch(chunk) for chunk in _chunks(np.arange(len(graphs)), AT_ONCE)]

    def epoch(self, size: int, generator: np.random.Generator) -> Any:
        """(batch, rows of the logits that count, labels) one after the other."""
        order = generator.permutation(np.flatnonzero(self.parts == TRAIN))
        for chunk in _chunks(order, size):
            yield self._batch(chunk), slice(None), self.labels[torch.from_numpy(chunk)]

    def _batch(self, numbers: np.ndarray) -> Batch:
        return batches.together([self.found[i] for i in numbers], self.directed)

    @torch.no_grad()
    def logits(self, gnn: Gnn) -> np.ndarray:
        return np.concatenate([gnn(one).logits.numpy() for one in self.every])


class _Nodes:
    """All graphs at once; the nodes of the training part count."""

    def __init__(self, graphs: GraphSet, parts: np.ndarray, labels: np.ndarray) -> None:
        self.batch: Batch = batches.whole(graphs, range(len(graphs)))
        self.rows = torch.from_numpy(np.flatnonzero(parts == TRAIN))
        self.labels = torch.from_numpy(labels.astype(np.int64))
        self.parts = parts

    def epoch(self, size: int, generator: np.random.Generator) -> Any:
        yield self.batch, self.rows, self.labels[self.rows]

    @torch.no_grad()
    def logits(self, gnn: Gnn) -> np.ndarray:
        return np.asarray(gnn(self.batch).logits.numpy())


def _fit(gnn: Gnn, feed: _Graphs | _Nodes, recipe: Training, run: Run) -> None:
    generator = np.random.default_rng([recipe.seed, 2])
    optimiser = torch.optim.Adam(
        gnn.parameters(), lr=recipe.learning_rate, weight_decay=WEIGHT_DECAY
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, recipe.epochs)
    best, kept = (-1.0, -np.inf), copy.deepcopy(gnn.state_dict())
    for epoch in range(recipe.epochs):
        run.progress(epoch, recipe.epochs, f"training epoch {epoch + 1} of {recipe.epochs}")
        gnn.train()
        for batch, rows, wanted in feed.epoch(recipe.batch, generator):
            optimiser.zero_grad()
            loss = torch.nn.functional.cross_entropy(gnn(batch).logits[rows], wanted)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            run.count(forward=batch.count, backward=batch.count)
        schedule.step()
        if epoch % CHECK_EVERY and epoch + 1 < recipe.epochs:
            continue
        gnn.eval()
        said = torch.from_numpy(feed.logits(gnn))
        held = torch.from_numpy(np.flatnonzero(feed.parts == VALIDATION))
        surprise = float(torch.nn.functional.cross_entropy(said[held], feed.labels[held]))
        right = float((said[held].argmax(dim=1) == feed.labels[held]).float().mean())
        if (right, -surprise) > best:
            best, kept = (right, -surprise), copy.deepcopy(gnn.state_dict())
    gnn.load_state_dict(kept)


def _chunks(order: np.ndarray, size: int) -> list[np.ndarray]:
    return [order[start : start + size] for start in range(0, len(order), size)]
