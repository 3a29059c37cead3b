"""Training a concept bottleneck model: encoder, concept layer and label head.

Koh et al., "Concept Bottleneck Models", ICML 2020 (arXiv 2007.04612), with the losses of CB-SLICE
(arXiv 2605.29836):

    concepts     sum over the concepts of the binary cross-entropy
    label        cross-entropy of the classes; binary for two classes
    joint        label + concepts, every weight at once
    sequential   the concepts first; then the head on what the frozen encoder predicts
    independent  the concepts first; then the head on the true concepts

A hard bottleneck passes concepts thresholded at one half, every concept by itself even where just
one of a set can be true; in joint training the gradient passes as if by the sigmoid. A soft one
passes logits; true concepts stand there as logits of plus and minus `TRUE_LOGIT`.

Adam in place of the papers' SGD: seconds in place of an hour. The head has an L2 penalty, which
gives it one best solution: without it, how many rare combinations it has learnt depends on how
long it was trained.

Imports torch: only workers import this module.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from backend.concepts import encoder
from backend.concepts.encoder import Weights
from backend.concepts.explanation import Bottleneck, Recipe
from backend.concepts.samples import Samples
from backend.explainer import Run

TRUE_LOGIT = 4.0
BATCH = 64
LEARNING_RATE = 2e-3
HEAD_LEARNING_RATE = {"joint": 3e-2, "sequential": 1e-2, "independent": 1e-2}
HEAD_PENALTY = 1e-3
HEAD_PASSES = 6
"""Passes over the samples that a head trained by itself makes for each of the encoder's."""
OTHER_STREAM = 2**32
"""Added to the seed, so that the head's random numbers are not the encoder's over again."""


def train(samples: Samples, classes: int, recipe: Recipe, run: Run) -> Weights:
    """The weights of a trained model, by name: encoder/..., head/0/weight, head/0/bias.

    Equal samples and recipes give equal weights.

    Raises:
        Cancelled: between two batches.
    """
    return Training(samples, classes, recipe, run).weights()


class Training:
    """One training: the samples as tensors, and the weights as they are by now."""

    def __init__(self, samples: Samples, classes: int, recipe: Recipe, run: Run) -> None:
        self.recipe, self.run = recipe, run
        self.x = encoder.tensor(samples.inputs)
        self.concepts = torch.from_numpy(samples.concepts).float()
        self.labels = torch.from_numpy(learned_from(samples.labels, recipe)).long()
        self.random = torch.Generator().manual_seed(recipe.seed)
        self.head_random = torch.Generator().manual_seed(recipe.seed + OTHER_STREAM)
        count, outputs = self.concepts.shape[1], 1 if classes == 2 else classes
        self.encoder = {
            **encoder.initial(samples.inputs.shape[1:], self.random),
            **encoder.linear("encoder/concepts", encoder.FEATURES, count, self.random),
        }
        self.head = encoder.linear("head/0", count, outputs, self.head_random)
        for weight in (*self.encoder.values(), *self.head.values()):
            weight.requires_grad_()

    def weights(self) -> Weights:
        """Train, and give the weights without gradients."""
        together = self.recipe.training == "joint"
        self._train_concepts(with_label=together)
        if not together:
            self._train_head()
        return {name: weight.detach() for name, weight in (self.encoder | self.head).items()}

    def _train_concepts(self, with_label: bool) -> None:
        groups = [{"params": list(self.encoder.values()), "lr": LEARNING_RATE}]
        if with_label:
            groups.append(self._head_group())
        optimiser = torch.optim.Adam(groups)
        for epoch in range(self.recipe.epochs):
            total = 0.0
            for chosen in self._batches(self.random):
                logits = concept_logits(self.encoder, self.x[chosen])
                loss = concept_loss(logits, self.concepts[chosen])
                if with_label:
                    read = head_inputs(logits, self.recipe.bottleneck)
                    loss = loss + label_loss(self.head, read, self.labels[chosen])
                total += self._step(optimiser, loss, len(chosen))
                self.run.count(forward=len(chosen), backward=len(chosen))
            self._report("epoch", epoch, self.recipe.epochs, total)

    def _train_head(self) -> None:
        inputs = self._head_samples()
        optimiser = torch.optim.Adam([self._head_group()])
        passes = HEAD_PASSES * self.recipe.epochs
        for number in range(passes):
            total = 0.0
            for chosen in self._batches(self.head_random):
                loss = label_loss(self.head, inputs[chosen], self.labels[chosen])
                total += self._step(optimiser, loss, len(chosen))
            self._report("label head, pass", number, passes, total)

    def _head_samples(self) -> Tensor:
        """[n, k] what a head trained by itself reads."""
        if self.recipe.training == "independent":
            true = self.concepts
            return true if self.recipe.bottleneck == "hard" else (2 * true - 1) * TRUE_LOGIT
        with torch.no_grad():
            logits = encoder.encode(self.encoder, self.x)[1]
            return head_inputs(logits, self.recipe.bottleneck)

    def _head_group(self) -> dict[str, object]:
        return {
            "params": list(self.head.values()),
            "lr": HEAD_LEARNING_RATE[self.recipe.training],
            "weight_decay": HEAD_PENALTY,
        }

    def _batches(self, random: torch.Generator) -> Iterator[Tensor]:
        order = torch.randperm(len(self.labels), generator=random)
        for start in range(0, len(order), BATCH):
            self.run.check_cancelled()
            yield order[start : start + BATCH]

    def _step(self, optimiser: torch.optim.Optimizer, loss: Tensor, count: int) -> float:
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        return loss.item() * count

    def _report(self, what: str, number: int, of: int, total: float) -> None:
        loss = total / len(self.labels)
        self.run.progress(number + 1, of, f"{what} {number + 1} of {of}, loss {loss:.3f}")


def learned_from(labels: np.ndarray, recipe: Recipe) -> np.ndarray:
    """[n] the classes that are learned from: as they are, or those of other samples."""
    if recipe.labels == "true":
        return labels
    return np.random.default_rng([recipe.seed, 3]).permutation(labels)


def concept_logits(weights: Weights, x: Tensor) -> Tensor:
    """[n, k] concept logits of inputs as `encoder.tensor` gives them."""
    return encoder.concept_logits(weights, encoder.features(weights, x))


def head_inputs(logits: Tensor, bottleneck: Bottleneck) -> Tensor:
    """[n, k] what the head reads; through the threshold the sigmoid's gradient passes."""
    if bottleneck == "soft":
        return logits
    p = logits.sigmoid()
    return (logits > 0).float() + (p - p.detach())


def concept_loss(logits: Tensor, concepts: Tensor) -> Tensor:
    """Binary cross-entropy, summed over the concepts and averaged over the samples."""
    summed = functional.binary_cross_entropy_with_logits(logits, concepts, reduction="sum")
    return summed / len(logits)


def label_loss(head: Weights, inputs: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy of the classes; of the one output where there are two."""
    outputs = functional.linear(inputs, head["head/0/weight"], head["head/0/bias"])
    if outputs.shape[1] == 1:
        return functional.binary_cross_entropy_with_logits(outputs[:, 0], labels.float())
    return functional.cross_entropy(outputs, labels)
