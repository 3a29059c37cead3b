"""Tables with random label heads, and one sample's decision explained."""

from __future__ import annotations

import itertools
import math

import numpy as np

from backend.concepts.explanation import ConceptTable, ConceptTarget
from backend.concepts.head import Head
from tests.fake import FakeRun


def table(k=5, m=3, hidden=(), *, n=40, bottleneck="hard", seed=0, with_head=True, **fields):
    """n samples of k random concepts; the predictions are the head's own, a third of them wrong."""
    rng = np.random.default_rng(seed)
    sizes = [k, *hidden, 1 if m == 2 else m]
    head = Head(
        tuple(rng.normal(size=(b, a)) for a, b in itertools.pairwise(sizes)),
        tuple(rng.normal(size=b) for b in sizes[1:]),
    )
    logits = (3 * rng.normal(size=(n, k))).astype(np.float32)
    found = {
        "bottleneck": bottleneck,
        "concept_names": tuple(f"concept {j} of {k}" for j in range(k)),
        "class_names": tuple(f"kind {c}" for c in range(m)),
    } | fields
    arrays = {"logits": logits, **head.arrays()}
    bare = ConceptTable(arrays=arrays, **found)
    predictions = bare.head().predictions(bare.head_inputs()).astype(np.int32)
    wrong = rng.random(n) < 0.33
    arrays |= {
        "concepts": (logits + rng.normal(size=(n, k)) > 0).astype(np.int8),
        "labels": np.where(wrong, (predictions + 1) % m, predictions).astype(np.int32),
        "predictions": predictions,
    }
    if not with_head:
        arrays = {name: a for name, a in arrays.items() if not name.startswith("head/")}
    return ConceptTable(arrays=arrays, **found)


def decide(explainer, given, *, sample=3, label=None, run=None, **parameters):
    """What an explainer says of one sample of a table."""
    about = ConceptTarget(sample=sample, label=label)
    chosen = explainer.Parameters(**parameters)
    return explainer().explain(None, given, about, chosen, run or FakeRun())


def scores(found):
    return found.arrays["scores"].astype(np.float64)


def network(head):
    """The head as a torch module in float64, from concepts to class logits as `Head.outputs`."""
    import torch

    layers = []
    for weight, bias in zip(head.weights, head.biases, strict=True):
        layer = torch.nn.Linear(weight.shape[1], weight.shape[0], dtype=torch.float64)
        layer.weight.data = torch.from_numpy(weight.copy())
        layer.bias.data = torch.from_numpy(bias.copy())
        layers += [layer, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def brute_force_shapley(worth, k):
    """Shapley values by their definition; `worth` takes a tuple of members."""
    shares = np.zeros(k)
    for j in range(k):
        others = [i for i in range(k) if i != j]
        for size in range(k):
            weight = math.factorial(size) * math.factorial(k - size - 1) / math.factorial(k)
            for members in itertools.combinations(others, size):
                shares[j] += weight * (worth((*members, j)) - worth(members))
    return shares
