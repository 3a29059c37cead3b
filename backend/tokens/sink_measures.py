"""The measures of a sink, collected layer by layer in one pass."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from backend.bundle import Arrays
from backend.errors import InputError
from backend.explainer import Run
from backend.tokens import sink_layers
from backend.tokens.capture import LayerParts, capture
from backend.tokens.sink_curves import counterfactual, fit, group_means, groups, mean, thinned
from backend.tokens.sink_layers import Pair, SinkLayer
from backend.tokens.sink_search import Found
from backend.tokens.subject import Subject

if TYPE_CHECKING:
    from backend.tokens.attention_sinks import SinkParameters

LOGITS_AT_ONCE = 2**24
ROWS = ("opposition", "drift", "drift_without", "drift_renormalised", "update_norm")
"""The arrays [layers, rows] that are averaged over groups of queries."""


@dataclasses.dataclass(frozen=True)
class Swept:
    """The head and query whose attention to the sink is swept; from 0."""

    layer: int
    head: int
    query: int


@dataclasses.dataclass(frozen=True, eq=False)
class Measured:
    """All that the second pass found."""

    arrays: Arrays
    rows: tuple[int, ...]
    """Positions of the query rows after the sink."""
    swept: Swept
    undefined: int
    """Rows of layers whose output has no length."""


def check(model: Any, parameters: SinkParameters) -> None:
    """Raise where the model lacks the layer or head that is to be swept.

    Raises:
        InputError: it does.
    """
    for name, most in (("layer", model.layers), ("head", model.heads)):
        asked = getattr(parameters, name)
        if asked is not None and asked > most:
            raise InputError(
                f"{name.capitalize()} {asked} was asked for, the model has {most} {name}s.",
                name,
                f"Choose a {name} from 1 to {most}.",
            )


def read(
    model: Any, subject: Subject, found: Found, parameters: SinkParameters, run: Run
) -> Measured:
    """Run the model once and measure every layer at the sink."""
    collector = _Collector(model, found, parameters, _query(subject, found, parameters), run)
    whole = len(found.rows) == len(subject)
    residual = capture(model, subject.sequence.ids, collector.take, None if whole else found.rows)
    run.count(forward=1)
    confidence, entropy = _confidence(model, residual[list(collector.rows)])
    return collector.result(confidence, entropy)


def _query(subject: Subject, found: Found, parameters: SinkParameters) -> int:
    """The query that is swept: it must come after the sink."""
    if parameters.query is not None:
        if parameters.query <= found.sink:
            raise InputError(
                f"Query {parameters.query} cannot look at the sink, which is at {found.sink}.",
                "query",
                "Choose a later position.",
            )
        return parameters.query
    known = set(found.rows)
    later = (q for q in subject.queries if q > found.sink and q in known)
    return next(later, found.rows[-1])


class _Collector:
    """Takes layers in; keeps one number a head and row, and the vectors of one head."""

    def __init__(
        self, model: Any, found: Found, parameters: SinkParameters, query: int, run: Run
    ) -> None:
        self.model, self.found, self.run, self.query = model, found, run, query
        self.layer = None if parameters.layer is None else parameters.layer - 1
        self.head = None if parameters.head is None else parameters.head - 1
        self.rows = tuple(row for row in found.rows if row > found.sink)
        self.layers: list[SinkLayer] = []
        self.best = -1.0
        self.pair: tuple[Swept, Pair] | None = None

    def take(self, parts: LayerParts) -> None:
        """Measure one layer."""
        parts = sink_layers.after(parts, self.found.sink)
        measured = sink_layers.measure(parts, self.found.sink)
        self.layers.append(measured)
        self._sweep(parts, measured.attention.mean(axis=1))
        count = self.model.layers
        self.run.progress(count + parts.index + 1, 2 * count, "measuring layers")

    def _sweep(self, parts: LayerParts, rates: np.ndarray) -> None:
        """Keep the two vectors of the head with the highest sink rate so far.

        A head that leaves the other keys nothing at this query has no curve: it is kept only until
        one is found that has.
        """
        if self.layer is not None and parts.index != self.layer:
            return
        heads = range(len(rates)) if self.head is None else (self.head,)
        for head in heads:
            if self.pair is None or rates[head] > self.best:
                pair = sink_layers.pair(parts, self.found.sink, head, self.query)
                known = bool(np.isfinite(pair.rest).all())
                if known or self.pair is None:
                    self.pair = Swept(parts.index, head, self.query), pair
                    self.best = float(rates[head]) if known else -1.0

    def result(self, confidence: np.ndarray, entropy: np.ndarray) -> Measured:
        """The arrays, after the last layer."""
        if self.pair is None:
            raise ValueError("no layer was measured")
        swept, pair = self.pair
        undefined = sum(int(np.isnan(x.contribution[0]).sum()) for x in self.layers)
        arrays = {
            **_shares(self.layers),
            **_fits(self.layers),
            **_curve(pair),
            **_groups(self.layers, confidence, entropy),
        }
        arrays = {name: np.asarray(value, dtype=np.float32) for name, value in arrays.items()}
        return Measured(arrays, self.rows, swept, undefined)


def _shares(layers: list[SinkLayer]) -> Arrays:
    attention = np.array([x.attention.mean(dtype=np.float64) for x in layers])
    contribution = np.array([mean(x.contribution.sum(axis=0)) for x in layers])
    known = [x.contribution[np.isfinite(x.contribution)] for x in layers]
    ratio = np.full(len(layers), np.nan)
    np.divide(attention, contribution, out=ratio, where=contribution != 0)
    return {
        "rates": np.stack([x.attention.mean(axis=1, dtype=np.float64) for x in layers]),
        "attention_share": attention,
        "contribution_share": contribution,
        "ratio": ratio,
        "negative_share": np.array([(c < 0).mean() if len(c) else np.nan for c in known]),
    }


def _fits(layers: list[SinkLayer]) -> Arrays:
    parabolas = [fit(x.attention, x.norm) for x in layers]
    points = np.array([thinned(x.attention, x.norm) for x in layers])
    return {
        "points/attention": points[:, 0],
        "points/norm": points[:, 1],
        "fit/coefficients": np.stack([p.coefficients for p in parabolas]),
        "fit/curvature": np.array([p.curvature for p in parabolas]),
        "fit/r2": np.array([p.explained for p in parabolas]),
    }


def _curve(pair: Pair) -> Arrays:
    curve = counterfactual(pair.sink, pair.rest)
    return {
        "curve/attention": curve.weights,
        "curve/norm": curve.norms,
        "curve/quadratic": np.array(curve.quadratic),
        "curve/minimum": np.array([curve.minimum]),
        "curve/actual": np.array([pair.attention]),
    }


def _groups(layers: list[SinkLayer], confidence: np.ndarray, entropy: np.ndarray) -> Arrays:
    values = {
        name: np.stack([getattr(x, "update" if name == "update_norm" else name) for x in layers])
        for name in ROWS
    }
    values |= {"confidence": confidence, "entropy": entropy}
    of = groups(confidence)
    means = {f"groups/{name}": group_means(value, of) for name, value in values.items()}
    return values | means


def _confidence(model: Any, residual: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The largest probability and the entropy in nats of what each row predicts, [q] each."""
    found: list[list[torch.Tensor]] = [[], []]
    with torch.no_grad():
        for some in torch.split(residual, max(1, LOGITS_AT_ONCE // model.vocabulary)):
            logprobs = model.readout(some).log_softmax(dim=-1)
            found[0].append(logprobs.amax(dim=-1).exp())
            found[1].append(-(logprobs.exp() * logprobs).nan_to_num().sum(dim=-1))
    highest, entropy = (torch.cat(parts).cpu().numpy() for parts in found)
    return highest, entropy
