"""Tables whose errors are planted groups."""

from __future__ import annotations

import numpy as np

from backend.concepts.explanation import ConceptTable


def planted(sizes=(60, 60, 60, 60), right=200, k=6, spread=8.0, seed=0, embedding=0, classes=2):
    """Errors in one round cloud of logits a group, and `right` samples predicted rightly.

    Group g's errors have true class g modulo `classes` and are predicted as the next class. The
    samples are shuffled.
    """
    generator = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    centres = spread * generator.choice([-1.0, 1.0], size=(len(sizes), k))
    centres += spread * np.eye(len(sizes), k)
    logits = centres[groups] + generator.normal(size=(len(groups), k))
    logits = np.concatenate([logits, generator.normal(size=(right, k))])
    labels = np.concatenate([groups % classes, generator.integers(0, classes, right)])
    predictions = labels.copy()
    predictions[: len(groups)] = (labels[: len(groups)] + 1) % classes
    order = generator.permutation(len(logits))
    arrays = {
        "logits": logits[order].astype(np.float32),
        "concepts": (logits[order] > 0).astype(np.int8),
        "labels": labels[order].astype(np.int32),
        "predictions": predictions[order].astype(np.int32),
        "groups": np.concatenate([groups, np.full(right, -1)])[order].astype(np.int32),
    }
    if embedding:
        turned = generator.normal(size=(k, embedding))
        arrays["embedding"] = (arrays["logits"] @ turned).astype(np.float32)
    names = tuple(f"group {g}" for g in range(len(sizes)))
    return ConceptTable(
        arrays=arrays,
        concept_names=tuple(f"concept {j}" for j in range(k)),
        class_names=tuple(f"class {c}" for c in range(classes)),
        group_names=names,
        planted=names,
    )


def error_groups(table):
    """[e] the group of each error."""
    return table.arrays["groups"][table.errors]
