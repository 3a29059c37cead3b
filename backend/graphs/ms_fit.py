"""Fits the scorer to one GNN: several starts, chosen by real deletion, with the consensus as guard.

1. Each start learns a correction to the consensus, with a pull back to it.
2. On held-out training graphs the edges outside the key part, then those inside it, are deleted.
   A candidate's fidelity is the mean over scales and graphs of p(key part) - p(complement).
3. The best start is used, unless the consensus itself does better or the start's complement keeps
   more of the decision than its key part. No known reason of a graph is ever looked at.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from backend.explainer import Run
from backend.graphs import ms_losses
from backend.graphs.batch import parts
from backend.graphs.classifier import Classifier, probabilities
from backend.graphs.edge_features import Item
from backend.graphs.ms_scorer import Scorer, spread, thresholds

BATCH = 64
PULL = 0.05
"""Weight of the squared correction, the pull back to the consensus."""


@dataclasses.dataclass(frozen=True, eq=False)
class Fitted:
    """A scorer with what its inputs are standardised by; `use` False: the consensus alone."""

    scorer: Scorer
    mean: np.ndarray
    deviation: np.ndarray
    budgets: tuple[float, ...]
    use: bool

    @torch.no_grad()
    def masks(self, item: Item) -> np.ndarray:
        """[K, e] float32 without noise, at a temperature set by the spread of the scores."""
        raw = self.raw([item]).double()
        owners = torch.zeros(raw.shape[1], dtype=torch.long)
        rows = []
        for w, budget in zip(raw, self.budgets, strict=True):
            z = w / spread(w, owners, 1)
            rows.append(torch.sigmoid(z - thresholds(z, owners, 1, budget)))
        return np.asarray(torch.stack(rows).float().cpu().numpy())

    def raw(self, found: Sequence[Item]) -> Tensor:
        """[K, edges] scores of items side by side."""
        prior = torch.from_numpy(np.concatenate([item.prior for item in found]))
        if not self.use:
            return prior.expand(len(self.budgets), -1)
        features = np.concatenate([item.features for item in found])
        scaled = ((features - self.mean) / self.deviation).astype(np.float32)
        correction: Tensor = self.scorer(torch.from_numpy(scaled))
        return prior + correction


def fit(
    classifier: Classifier, found: Sequence[Item], parameters: Any, run: Run
) -> tuple[Fitted, dict[str, Any]]:
    """The chosen scorer, and what the guard did (`values["guard"]`)."""
    generator = run.numpy_generator()
    order = generator.permutation(len(found))
    held = [found[i] for i in order[: max(1, min(100, len(found) // 5))]]
    training = [found[i] for i in order[len(held) :]] or held
    features = np.concatenate([item.features for item in training]).astype(np.float64)
    width = features.shape[1]
    mean = features.mean(axis=0) if len(features) else np.zeros(width)
    deviation = np.maximum(features.std(axis=0), 1e-3) if len(features) else np.ones(width)
    candidates = []
    for restart in range(parameters.restarts):
        seed = int(generator.integers(2**31))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            scorer = Scorer(width, len(parameters.budgets))
        one = Fitted(scorer, mean, deviation, tuple(parameters.budgets), True)
        _train(classifier, one, training, parameters, run, seed, restart)
        candidates.append(one)
    candidates.append(dataclasses.replace(candidates[0], use=False))
    measured = [fidelity(classifier, one, held) for one in candidates]
    return _choose(candidates, measured, [item.label for item in held])


def _choose(
    candidates: list[Fitted], measured: list[np.ndarray], labels: list[int]
) -> tuple[Fitted, dict[str, Any]]:
    means = [rows.mean(axis=0) for rows in measured]
    gains = [float(kept - lost) for kept, lost in means]
    learned = int(np.argmax(gains[:-1]))
    fallback = gains[-1] > gains[learned] or gains[learned] <= 0
    chosen = len(gains) - 1 if fallback else learned
    rows = measured[chosen]
    classes = {}
    for label in sorted(set(labels)):
        own = rows[np.array(labels) == label].mean(axis=0)
        classes[str(label)] = {"kept": float(own[0]), "rest": float(own[1])}
    guard = {
        "fidelity": gains[:-1],
        "consensus": gains[-1],
        "restart": None if fallback else learned,
        "fallback": fallback,
        "classes": classes,
    }
    return candidates[chosen], guard


def fidelity(classifier: Classifier, one: Fitted, held: Sequence[Item]) -> np.ndarray:
    """[items, 2] probability of the class of key parts and of complements, by real deletion."""
    rows = []
    for item in held:
        key = keys(one.masks(item).mean(axis=0), one.budgets)
        logits = classifier.cut(item.part, np.concatenate([key, ~key]))
        p = probabilities(logits)[:, item.label]
        rows.append([p[: len(key)].mean(), p[len(key) :].mean()])
    return np.array(rows)


def keys(
    scores: np.ndarray, budgets: Sequence[float], order: np.ndarray | None = None
) -> np.ndarray:
    """[K, e] bool: at each scale the first share of the ranking, so smaller parts are nested."""
    order = np.argsort(-scores, kind="stable") if order is None else order
    found = np.zeros((len(budgets), len(scores)), dtype=bool)
    for row, budget in zip(found, budgets, strict=True):
        row[order[: min(len(scores), max(1, round(budget * len(scores))))]] = True
    return found


def _train(
    classifier: Classifier,
    one: Fitted,
    training: Sequence[Item],
    parameters: Any,
    run: Run,
    seed: int,
    restart: int,
) -> None:
    generator = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.Adam(one.scorer.parameters(), lr=parameters.learning_rate)
    for epoch in range(parameters.epochs):
        temperature = 2.0 * 0.25 ** (epoch / max(1, parameters.epochs - 1))
        order = torch.randperm(len(training), generator=generator).tolist()
        for start in range(0, len(order), BATCH):
            some = [training[i] for i in order[start : start + BATCH]]
            batch = parts([item.part for item in some], classifier.device)
            if not batch.edges:
                continue
            raw = one.raw(some).to(classifier.device)
            masks = noisy(raw, batch.owners, batch.count, one.budgets, temperature, generator)
            labels = torch.tensor([item.label for item in some], device=classifier.device)
            readout = torch.from_numpy(np.stack([item.readout for item in some]))
            prior = torch.from_numpy(np.concatenate([item.prior for item in some]))
            total = (
                ms_losses.loss(classifier, batch, masks, labels, readout.to(classifier.device))
                + PULL * ((raw - prior.to(raw.device)) ** 2).mean()
            )
            optimiser.zero_grad()
            total.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            run.count(forward=2 * len(masks) * len(some), backward=2 * len(masks) * len(some))
        done = restart * parameters.epochs + epoch + 1
        run.progress(done, parameters.restarts * parameters.epochs, "Learning what decides")


def noisy(
    raw: Tensor,
    owners: Tensor,
    count: int,
    budgets: Sequence[float],
    temperature: float,
    generator: torch.Generator,
) -> Tensor:
    """[K, edges] masks with one draw of logistic noise an edge, shared by the scales."""
    u = torch.rand(raw.shape[1], generator=generator).clamp(1e-6, 1 - 1e-6).to(raw.device)
    noise = u.log() - (1 - u).log()
    rows = [
        torch.sigmoid((w - thresholds(w.detach(), owners, count, budget) + noise) / temperature)
        for w, budget in zip(raw, budgets, strict=True)
    ]
    return torch.stack(rows)
