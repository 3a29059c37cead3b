"""What the scorer reads of an edge: the states of its ends, and how the decision leans on it.

All of it comes from one forward and one backward pass, so that a fitted scorer is cheap.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch

from backend.graphs import priors
from backend.graphs.batch import parts
from backend.graphs.classifier import Classifier
from backend.graphs.part import Part


@dataclasses.dataclass(frozen=True, eq=False)
class Item:
    """A part as the scorer reads it.

    Attributes:
        label: the explained class.
        features: [e, width] float32. [h_u + h_v, |h_u - h_v|] of the states of both ends, alike for
            both directions; of a node task also the target's state; the gradient of the log-odds at
            a mask of ones, its size, and the sum and the smaller of the ends' evidence, each
            standardised within the graph.
        readout: [R] float32, of the whole part.
        priors: by name [e] float32, see `backend.graphs.priors`; only where asked for.
    """

    part: Part
    label: int
    features: np.ndarray
    readout: np.ndarray
    priors: dict[str, np.ndarray]


def items(
    classifier: Classifier,
    found: Sequence[Part],
    labels: Sequence[int],
    *,
    with_priors: bool = False,
) -> list[Item]:
    """Parts as items; features are not yet standardised over the set."""
    batch = parts(found, classifier.device)
    wanted = torch.tensor(list(labels), dtype=torch.long, device=classifier.device)
    weights = torch.ones(batch.edges, device=classifier.device, requires_grad=True)
    output = classifier.output(batch, weights)
    slope = priors.slopes(output.logits, weights, wanted)
    ends = np.cumsum([len(part.node_ids) for part in found])[:-1]
    states = np.split(output.states.detach().cpu().numpy(), ends)
    nodes = priors.evidence(classifier, batch, output, wanted).cpu().numpy()
    slopes = priors.split(found, slope)
    evidence = np.split(nodes, ends)
    paths = (
        priors.split(found, priors.path(classifier, found, wanted))
        if with_priors
        else [np.zeros(0)] * len(found)
    )
    rows = zip(
        found,
        labels,
        states,
        slopes,
        evidence,
        paths,
        output.readout.detach().cpu().numpy(),
        strict=True,
    )
    made = []
    for part, label, h, slope, of_nodes, along, readout in rows:
        known = {}
        if with_priors:
            known = {
                "evidence": priors.of_ends(part, of_nodes),
                "gradient": priors.standardised(priors.ranks(np.abs(slope))),
                "path": priors.standardised(priors.ranks(along)),
            }
            known[priors.CONSENSUS] = priors.agreed(known, part)
        made.append(Item(part, label, _features(part, h, slope, of_nodes), readout, known))
    return made


def _features(part: Part, h: np.ndarray, slope: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    u, v = h[part.edges[:, 0]], h[part.edges[:, 1]]
    columns = [u + v, np.abs(u - v)]
    if part.node is not None:
        columns.append(np.broadcast_to(h[part.node], u.shape))
    ends = nodes[part.edges]
    leans = (slope, np.abs(slope), ends.sum(axis=1), ends.min(axis=1))
    columns += [priors.standardised(values)[:, None] for values in leans]
    return np.concatenate(columns, axis=1).astype(np.float32)
