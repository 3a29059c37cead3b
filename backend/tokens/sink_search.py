"""Which query rows are measured, and which keys are sinks."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from backend.errors import InputError
from backend.explainer import Run
from backend.tokens import sink_layers
from backend.tokens.capture import LayerParts, capture
from backend.tokens.subject import Subject

if TYPE_CHECKING:
    from backend.tokens.attention_sinks import SinkParameters


@dataclasses.dataclass(frozen=True)
class Found:
    """The sinks of one input."""

    rows: tuple[int, ...]
    """Positions of the query rows that were read, ascending, the last token's among them."""
    received: np.ndarray
    """[N] float64: attention from later rows; NaN where there is none."""
    sinks: tuple[int, ...]
    """Positions above the threshold, the strongest first."""
    sink: int
    """The position that is measured."""


def rows(subject: Subject, parameters: SinkParameters) -> tuple[int, ...]:
    """All positions, or evenly spaced ones with those a person is most likely to look at.

    Raises:
        InputError: a position that was asked for is not in the text.
    """
    length = len(subject)
    for name, most in (("position", length - 2), ("query", length - 1)):
        asked = getattr(parameters, name)
        if asked is not None and asked > most:
            raise InputError(
                f"Position {asked} was asked for; the text has {length} tokens.",
                name,
                f"Choose a position from 0 to {most}.",
            )
    if length <= parameters.most_rows:
        return tuple(range(length))
    spaced = np.linspace(0, length - 1, parameters.most_rows).round().astype(int).tolist()
    asked = subject.queries[0] if parameters.query is None else parameters.query
    return tuple(sorted({*spaced, asked}))


def find(model: Any, subject: Subject, parameters: SinkParameters, run: Run) -> Found:
    """Run the model once and find the keys that later queries look at."""
    read = rows(subject, parameters)
    length = len(subject)
    totals = np.zeros(length)

    def add(parts: LayerParts) -> None:
        totals[:] += sink_layers.received(parts).sum(dim=0).cpu().double().numpy()
        run.progress(parts.index + 1, 2 * model.layers, "looking for sinks")

    capture(model, subject.sequence.ids, add, None if len(read) == length else read)
    run.count(forward=1)
    later = (np.array(read)[:, None] > np.arange(length)).sum(axis=0)
    received = np.full(length, np.nan)
    np.divide(totals, later * model.layers * model.heads, out=received, where=later > 0)
    fewest = min(parameters.least_queries, max(1, len(read) // 4))
    eligible = np.where(later >= fewest, received, -1.0)
    order = np.argsort(-eligible, kind="stable")
    sinks = tuple(int(p) for p in order if eligible[p] > parameters.threshold)
    sink = int(order[0]) if parameters.position is None else parameters.position
    return Found(read, received, sinks, sink)
