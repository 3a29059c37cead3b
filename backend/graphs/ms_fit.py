"""Fits the scorer to one GNN, and measures on held-out graphs whether to use it.

1. The start is the consensus of three simple scores (`backend.graphs.priors`), or one of them where
   it is ahead of the consensus by AHEAD on held-out training graphs: edges outside the key part,
   then those inside it, are deleted for good, and fidelity is the mean over scales and graphs of
   p(key part) - p(rest). Where none reaches TELLING, deletion is no guide, and it is the consensus.
2. The scorer learns to give that score from what it reads of an edge: the same for all graphs, so
   that what is chance in one graph is averaged out.
3. From there each start goes on with the losses of `backend.graphs.ms_losses`, with a pull back.
4. Of the simple score, the scorer after step 2 and those after step 3 the most faithful is used; a
   later one has to be better by MARGIN, and where deletion is no guide it is that of step 2. No
   known reason of a graph is ever looked at.

Why the losses alone do not do, which this guards against: a soft mask, or a graph with most edges
gone, is no graph the GNN was trained on, and batch norm of such graphs is off; a class that is
predicted by default keeps its probability whatever is deleted. For such a class the inverse answer,
everything but the reason, satisfies every loss as well.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from backend.explainer import Run
from backend.graphs import ms_losses, priors
from backend.graphs.batch import parts
from backend.graphs.classifier import Classifier, probabilities
from backend.graphs.edge_features import Item
from backend.graphs.ms_scorer import Scorer, sharp, thresholds

BATCH = 64
HELD = 100
"""Held-out items at most, and no more than a fifth."""
STEPS = 300
"""Of learning the simple score, all edges at once."""
AHEAD = 0.1
"""Of fidelity: what a single score must be ahead of the consensus."""
TELLING = 0.15
"""Fidelity below which deletion is no guide: no simple score reaches it."""
MARGIN = 0.01
"""Of fidelity: what a candidate must be ahead of the simpler one before it."""
PRIOR, SCORER = "prior", "scorer"


@dataclasses.dataclass(frozen=True, eq=False)
class Fitted:
    """A scorer with what its inputs are standardised by.

    Attributes:
        prior: name of the simple score it started from.
        use: PRIOR where that score itself is shown, else SCORER.
    """

    scorer: Scorer
    mean: np.ndarray
    deviation: np.ndarray
    budgets: tuple[float, ...]
    prior: str
    use: str = SCORER

    @property
    def shows_prior(self) -> bool:
        """Whether items must come with their priors."""
        return self.use == PRIOR

    @torch.no_grad()
    def masks(self, item: Item, offset: np.ndarray | None = None) -> np.ndarray:
        """[K, e] float32 without noise, at a temperature set by the spread of the scores.

        Args:
            offset: [e], added to the scores of all scales, see `backend.graphs.refine`.
        """
        raw = self.raw([item]).double().cpu().numpy()
        return sharp(raw if offset is None else raw + offset, self.budgets)

    def raw(self, found: Sequence[Item]) -> Tensor:
        """[K, edges] scores of items side by side; items with priors where one is shown."""
        if self.shows_prior:
            simple = [item.priors[self.prior] for item in found]
            return torch.from_numpy(np.concatenate(simple)).expand(len(self.budgets), -1)
        features = np.concatenate([item.features for item in found])
        scaled = ((features - self.mean) / self.deviation).astype(np.float32)
        scores: Tensor = self.scorer(torch.from_numpy(scaled))
        return scores


def fit(
    classifier: Classifier, found: Sequence[Item], parameters: Any, run: Run
) -> tuple[Fitted, dict[str, Any]]:
    """The chosen scorer, and what was measured (`values["guard"]`).

    Args:
        found: items with their priors.
    """
    generator = run.numpy_generator()
    order = generator.permutation(len(found))
    held = [found[i] for i in order[: max(1, min(HELD, len(found) // 5))]]
    training = [found[i] for i in order[len(held) :]] or held
    budgets = tuple(parameters.budgets)
    simple = _simplest(classifier, training, held, budgets)
    fidelities = {name: pair[1].mean for name, pair in simple.items()}
    telling, best = tells(fidelities), simple[start(fidelities)]
    learned = _distilled(best[0], training, int(generator.integers(2**31)), run)
    candidates = [best[0], learned]
    for restart in range(parameters.restarts):
        one = dataclasses.replace(learned, scorer=copy.deepcopy(learned.scorer))
        seed = int(generator.integers(2**31))
        _train(classifier, one, training, parameters, run, seed, restart)
        candidates.append(one)
    measured = [best[1], *(Fidelity.of(classifier, one, held) for one in candidates[1:])]
    # Without a guide a scorer of step 3 could be anything; that of step 2 is known.
    chosen = choose([one.mean for one in measured]) if telling else 1
    return candidates[chosen], {
        "prior": best[0].prior,
        "priors": fidelities,
        "distilled": measured[1].mean,
        "starts": [one.mean for one in measured[2:]],
        "chosen": ("prior", "distilled")[chosen] if chosen < 2 else f"start {chosen - 1}",
        "classes": measured[chosen].by_class([item.label for item in held]),
        "held_out": len(held),
        "telling": telling,
    }


def choose(fidelities: Sequence[float]) -> int:
    """The simplest candidate that none after it beats by MARGIN.

    The scorer that learned the simple score (the second) is cheaper than that score itself (the
    first), so it need only be no more than MARGIN behind.
    """
    first = 1 if fidelities[1] >= fidelities[0] - MARGIN else 0
    best = max(range(first, len(fidelities)), key=lambda i: fidelities[i])
    return best if fidelities[best] > fidelities[first] + MARGIN else first


@dataclasses.dataclass(frozen=True, eq=False)
class Fidelity:
    """[items, 2] probability of the class of key parts and of the rest, by real deletion."""

    rows: np.ndarray

    @classmethod
    def of(cls, classifier: Classifier, one: Fitted, held: Sequence[Item]) -> Fidelity:
        """Measured on held-out items, a mean over the scales."""
        rows = []
        for item in held:
            key = keys(one.masks(item).mean(axis=0), one.budgets)
            logits = classifier.cut(item.part, np.concatenate([key, ~key]))
            p = probabilities(logits)[:, item.label]
            rows.append([p[: len(key)].mean(), p[len(key) :].mean()])
        return cls(np.array(rows))

    @property
    def mean(self) -> float:
        """Of key part less rest."""
        return float((self.rows[:, 0] - self.rows[:, 1]).mean())

    def by_class(self, labels: Sequence[int]) -> dict[str, dict[str, float]]:
        """kept and rest of each class."""
        found = {}
        for label in sorted(set(labels)):
            own = self.rows[np.array(labels) == label].mean(axis=0)
            found[str(label)] = {"kept": float(own[0]), "rest": float(own[1])}
        return found


def keys(
    scores: np.ndarray, budgets: Sequence[float], order: np.ndarray | None = None
) -> np.ndarray:
    """[K, e] bool: at each scale the first share of the ranking, so smaller parts are nested."""
    order = np.argsort(-scores, kind="stable") if order is None else order
    found = np.zeros((len(budgets), len(scores)), dtype=bool)
    for row, budget in zip(found, budgets, strict=True):
        row[order[: min(len(scores), max(1, round(budget * len(scores))))]] = True
    return found


def tells(fidelities: Mapping[str, float]) -> bool:
    """Whether deletion is a guide for this GNN: it is for one of the simple scores."""
    return max(fidelities.values()) >= TELLING


def start(fidelities: Mapping[str, float]) -> str:
    """Name of the simple score to start from, by the fidelity of each."""
    best = max(priors.SINGLE, key=lambda name: fidelities[name])
    ahead = fidelities[best] > fidelities[priors.CONSENSUS] + AHEAD
    return best if ahead and tells(fidelities) else priors.CONSENSUS


def _simplest(
    classifier: Classifier,
    training: Sequence[Item],
    held: Sequence[Item],
    budgets: tuple[float, ...],
) -> dict[str, tuple[Fitted, Fidelity]]:
    """Each simple score as a candidate, with its fidelity."""
    features = np.concatenate([item.features for item in training]).astype(np.float64)
    mean = features.mean(axis=0)
    deviation = np.maximum(features.std(axis=0), 1e-3)
    found = {}
    for name in priors.NAMES:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            scorer = Scorer(features.shape[1], len(budgets))
        one = Fitted(scorer, mean, deviation, budgets, name, PRIOR)
        found[name] = (one, Fidelity.of(classifier, one, held))
    return found


def _distilled(simple: Fitted, training: Sequence[Item], seed: int, run: Run) -> Fitted:
    """A scorer that has learned the simple score."""
    features = np.concatenate([item.features for item in training])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        scorer = Scorer(features.shape[1], len(simple.budgets))
    inputs = torch.from_numpy(((features - simple.mean) / simple.deviation).astype(np.float32))
    wanted = torch.from_numpy(np.concatenate([item.priors[simple.prior] for item in training]))
    optimiser = torch.optim.Adam(scorer.parameters(), lr=3e-3)
    for step in range(STEPS):
        run.progress(step, STEPS, f"learning the simple score ({simple.prior})")
        loss = ((scorer(inputs) - wanted) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return dataclasses.replace(simple, scorer=scorer, use=SCORER)


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
            raw = one.raw(some).to(classifier.device)
            masks = noisy(raw, batch.owners, batch.count, one.budgets, temperature, generator)
            labels = torch.tensor([item.label for item in some], device=classifier.device)
            readout = torch.from_numpy(np.stack([item.readout for item in some]))
            simple = torch.from_numpy(np.concatenate([item.priors[one.prior] for item in some]))
            total = (
                ms_losses.loss(classifier, batch, masks, labels, readout.to(classifier.device))
                + parameters.pull * ((raw - simple.to(raw.device)) ** 2).mean()
            )
            optimiser.zero_grad()
            total.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            run.count(forward=2 * len(masks) * len(some), backward=2 * len(masks) * len(some))
        done = restart * parameters.epochs + epoch + 1
        run.progress(done, parameters.restarts * parameters.epochs, "learning what decides")


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
