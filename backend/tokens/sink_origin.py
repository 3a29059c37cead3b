"""Where an attention sink comes from, followed through the network.

Li, Jiang, Sun, Hu, "The Structural Origin of Attention Sink: Variance Discrepancy, Super Neurons,
and Dimension Disparity", 2026 (arXiv 2605.06611). The chain the paper proposes, and what is read
here for each step, from two forward passes (the first finds the sink) and the weights, in float32:

1. A position that averages few values keeps more variance: the standard deviation over features of
   the attention output projection's input, and 5. of its output, by position.
6. A few MLP neurons with large rows answer to that position alone, 7. and to hardly any other.
8. Their sparse columns push it into one or two dimensions of the residual,
9. so that one dimension stands out: max |v_k| / mean |v_k|.
10. The key is then nearly one column of W_K, and queries point at it,
11. which is where the sink sets in; 12. the block outputs fill fewer directions.

Numbers are those of the paper's diagnostics; 2. to 4. are interventions and not part of this view.
Position, neurons and dimensions are found (largest), none is fixed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from backend.bundle import Arrays
from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.tokens.explanation import TokenExplanation
from backend.tokens.subject import Subject

if TYPE_CHECKING:
    from backend.tokens.origin_reading import Reading
    from backend.tokens.sink_position import Sink

ONSET = 0.8
"""Share of the largest mean attention to the sink at which the sink has set in."""
DIMENSIONS = 10
"""Output dimensions of a neuron's column that are named."""


class OriginParameters(Frozen):
    """How much is read of a long text, and how many neurons are shown."""

    most_rows: Annotated[int, Field(ge=2, le=4096)] = Field(
        512,
        title="Query rows",
        description="Attention is read at most at this many evenly spaced query positions; the "
        "other readings take all positions.",
    )
    neurons: Annotated[int, Field(ge=1, le=50)] = Field(
        5, title="Neurons", description="How many of the most selective MLP neurons are kept."
    )


class SinkOrigin(Explainer):
    """The sink, its variance, its neurons, its dimension and its key, by layer.

    Arrays (L layers, L + 1 depths: entering the first block, then leaving each; N tokens, H heads;
    T neurons of the m of the layer `values["neuron_layer"]`, d width):
        received: [N] mean attention over layers, heads and later query rows, NaN where none is.
        attention_sink: [L, H], attention_others: [L], mean attention to the sink, and to any other
            key up to the query.
        spread_in, spread_out: [L, N] standard deviation over the features of the attention output
            projection's input and output.
        norm: [L+1, N] length of the residual; dominance: [L+1, N] max |v_k| / mean |v_k| of it;
            dimension: [L+1] int64, the k of the sink.
        locking_sink, locking_others: [L, H] mean cosine of later queries with the sink's key, and
            with any other earlier key; locking_positive: [L, H] share of positive products.
        rank: [L] exp(entropy of the singular values) of the block's output.
        neuron_ratio: [L] of the most selective neuron, NaN without an MLP; neuron_of_layer: [L]
            int64 its index, -1 without an MLP.
        neurons: [T] int64, neuron_ratios: [T], neuron_activation: [T, N], neuron_columns: [T, d],
            up_norm: [m], column_kurtosis: [m]; gate_norm: [m] where gated; read_cosine and
            up_value: [T, N]. None of these where no block has an MLP that is found.
        scores: [N], all NaN: a view gives tokens no scores.

    `values`: sink, sink_text, onset (layer from 0), rows (how many), neuron_layer (from 0),
    missing_mlp (layers from 0), rank_rows (whose singular values were taken), width (d), gated,
    dimensions (the ten of the first neuron's column where it writes most).
    """

    id = "sink_origin"
    title = "Origin of attention sinks"
    family = "tokens"
    role = "view"
    reference = Reference(
        authors="Li, Jiang, Sun, Hu",
        title="The Structural Origin of Attention Sink: Variance Discrepancy, Super Neurons, and "
        "Dimension Disparity",
        year=2026,
        link="https://arxiv.org/abs/2605.06611",
    )
    how_to_read = (
        "Follow the sink (the position later tokens look at most) from left to right of the "
        "chain: its variance after attention, the neurons that answer to it alone, the dimension "
        "they push it into, and the layer from which queries point at its key. It shows that "
        "these go together in this text; it does not prove what causes what."
    )
    Parameters = OriginParameters

    def explain(
        self, model: Any, input: Any, target: Any, parameters: Any, run: Run
    ) -> TokenExplanation:
        from backend.tokens import origin_reading, sink_position

        subject = Subject.of(model, input, target)
        ids = subject.sequence.ids
        rows = sink_position.query_rows(len(ids), parameters.most_rows)
        sink = sink_position.find(model, ids, rows, run)
        reading = origin_reading.Reading(model, ids, sink.position, parameters.neurons, run)
        reading.read()
        return TokenExplanation(
            arrays=_arrays(len(ids), sink, reading),
            values=_values(subject, sink, reading, len(rows)),
            notes=_notes(len(ids), sink, reading, len(rows), origin_reading.MOST_ROWS),
            sequence=subject.sequence,
            explained=subject.explained,
            unit="",
            signed=False,
        )


def onset(attention: np.ndarray) -> int:
    """The first layer whose mean attention to the sink is at least 0.8 of the largest layer's.

    Args:
        attention: [L] mean over heads and later queries.
    """
    return int((attention >= ONSET * attention.max()).argmax())


def _arrays(length: int, sink: Sink, reading: Reading) -> Arrays:
    place = sink.position
    arrays: Arrays = {
        "scores": np.full(length, np.nan, dtype=np.float32),
        "received": sink.received,
        "attention_sink": sink.attention,
        "attention_others": sink.others,
        "spread_in": reading.spread_in,
        "spread_out": reading.spread_out,
        "norm": reading.norm,
        "dominance": reading.dominance,
        "dimension": reading.dimension[:, place],
        "locking_sink": np.stack([layer.sink for layer in reading.locking]),
        "locking_others": np.stack([layer.others for layer in reading.locking]),
        "locking_positive": np.stack([layer.positive for layer in reading.locking]),
        "rank": reading.rank,
        "neuron_ratio": reading.ratio,
        "neuron_of_layer": reading.ratio_neuron,
    }
    if (found := reading.neurons) is not None:
        arrays |= {
            "neurons": found.index,
            "neuron_ratios": found.ratio,
            "neuron_activation": found.activation,
            "neuron_columns": found.columns,
            "column_kurtosis": found.kurtosis,
            "up_norm": found.up_norm,
            **{
                name: array
                for name in ("gate_norm", "read_cosine", "up_value")
                if (array := getattr(found, name)) is not None
            },
        }
    return {
        name: array.astype(np.float32) if array.dtype.kind == "f" else array
        for name, array in arrays.items()
    }


def _values(subject: Subject, sink: Sink, reading: Reading, rows: int) -> dict[str, Any]:
    first, last = subject.sequence.offsets[sink.position]
    values: dict[str, Any] = {
        "view": "sink_origin",
        "sink": sink.position,
        "sink_text": subject.sequence.text[first:last],
        "onset": onset(sink.attention.mean(axis=1)),
        "rows": rows,
        "missing_mlp": reading.missing,
        "rank_rows": reading.rank_rows,
        "width": reading.model.width,
    }
    if (found := reading.neurons) is not None:
        order = np.argsort(-np.abs(found.columns[0]), kind="stable")[:DIMENSIONS]
        values |= {
            "neuron_layer": found.layer,
            "gated": found.gate_norm is not None,
            "dimensions": order.tolist(),
        }
    return values


def _notes(length: int, sink: Sink, reading: Reading, rows: int, most: int) -> tuple[str, ...]:
    notes = [
        "A view: it shows what goes together at the sink, it gives tokens no scores.",
        f"The sink is position {sink.position}: of the keys that at least a quarter of the query "
        "rows come after, later queries look at it most, on average over layers and heads "
        f"({sink.received[sink.position]:.1%}).",
        f"Onset: the first layer whose mean attention to the sink is at least {ONSET} of the "
        "largest layer's.",
    ]
    if rows < length:
        notes.append(f"Attention is read at {rows:,} of {length:,} query rows, evenly spaced.")
    if length > most:
        notes.append(
            f"Singular values are those of {most:,} of {length:,} rows, evenly spaced; medians "
            "over positions likewise."
        )
    if missing := reading.missing:
        count = reading.model.layers
        which = (
            "No layer has" if len(missing) == count else f"{len(missing)} of {count} layers lack"
        )
        notes.append(
            f"{which} an MLP with one up and one down projection (a mixture of experts has "
            "several): super neurons, their activation by position and their columns are missing "
            "there."
        )
    return tuple(notes)
