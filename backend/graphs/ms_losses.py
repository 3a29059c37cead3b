"""What a mask at each scale is asked for while the scorer learns."""

from __future__ import annotations

import itertools

from torch import Tensor
from torch.nn import functional

from backend.graphs.batch import Batch
from backend.graphs.classifier import Classifier

COMPLEMENT, CONSISTENCY, SEPARATION, ENTROPY, NESTING = 1.0, 0.5, 0.25, 0.1, 0.1
"""Weights beside the key loss, whose own is 1."""


def loss(
    classifier: Classifier, batch: Batch, masks: Tensor, labels: Tensor, readout: Tensor
) -> Tensor:
    """The mean over scales of the losses of masks [K, edges]; readout [items, R] of the whole."""
    total = masks.new_zeros(())
    keys: list[Tensor] = []
    for mask in masks:
        key, rest = classifier.output(batch, mask), classifier.output(batch, 1 - mask)
        left = rest.logits.softmax(dim=1).gather(1, labels[:, None])
        apart = functional.cosine_similarity(key.readout, rest.readout)
        same = functional.cosine_similarity(key.readout, readout)
        p = mask.clamp(1e-6, 1 - 1e-6)
        total = total + functional.cross_entropy(key.logits, labels)
        total = total - COMPLEMENT * (1 - left).clamp(min=1e-4).log().mean()
        total = total + CONSISTENCY * (1 - same).mean()
        total = total + SEPARATION * (apart - 0.5).relu().mean()
        total = total - ENTROPY * (p * p.log() + (1 - p) * (1 - p).log()).mean()
        keys.append(key.readout)
    for finer, coarser in itertools.pairwise(keys):
        same = functional.cosine_similarity(finer, coarser.detach())
        total = total + CONSISTENCY * (1 - same).mean()
    if len(masks) > 1:
        total = total + NESTING * (masks[:-1] - masks[1:]).relu().mean() * (len(masks) - 1)
    return total / len(masks)
