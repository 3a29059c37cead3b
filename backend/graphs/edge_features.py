"""What the scorer reads of an edge: the states of its ends, and how the decision leans on it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch

from backend.graphs.batch import parts
from backend.graphs.classifier import Classifier
from backend.graphs.consensus import consensus, gradients, standardised
from backend.graphs.part import Part


@dataclasses.dataclass(frozen=True, eq=False)
class Item:
    """A part as the scorer reads it.

    Attributes:
        label: the explained class.
        features: [e, width] float32. [h_u + h_v, |h_u - h_v|] of the states of both ends, alike for
            both directions; of a node task also the target's state; the gradient of the log-odds at
            a mask of ones and its size, standardised within the graph.
        prior: [e] float32, the consensus.
        readout: [R] float32, of the whole part.
    """

    part: Part
    label: int
    features: np.ndarray
    prior: np.ndarray
    readout: np.ndarray


def items(classifier: Classifier, found: Sequence[Part], labels: Sequence[int]) -> list[Item]:
    """Parts as items; features are not yet standardised over the set."""
    batch = parts(found, classifier.device)
    with torch.no_grad():
        output = classifier.output(batch)
    ends = np.cumsum([len(part.node_ids) for part in found])[:-1]
    states = np.split(output.states.cpu().numpy(), ends)
    slopes = gradients(classifier, found, labels)
    priors = consensus(classifier, found, labels)
    rows = zip(found, labels, states, slopes, priors, output.readout.cpu().numpy(), strict=True)
    return [
        Item(part, label, _features(part, h, slope), prior, readout)
        for part, label, h, slope, prior, readout in rows
    ]


def _features(part: Part, h: np.ndarray, slope: np.ndarray) -> np.ndarray:
    u, v = h[part.edges[:, 0]], h[part.edges[:, 1]]
    columns = [u + v, np.abs(u - v)]
    if part.node is not None:
        columns.append(np.broadcast_to(h[part.node], u.shape))
    columns += [standardised(slope)[:, None], standardised(np.abs(slope))[:, None]]
    return np.concatenate(columns, axis=1).astype(np.float32)
