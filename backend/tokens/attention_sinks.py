"""Attention sinks: tokens that many heads look at and that say little.

Cunningham & Cirone, "Contribution Weights: A Geometrical Analysis of Self-Attention Transformers",
2026, arXiv 2606.07604, whose abstract claims a convex relation between sink rate and output norm,
and that sinks suppress information and counter the semantic drift of unsure tokens. The sink rate
is that of Gu et al., "When Attention Sink Emerges in Language Models", 2025, arXiv 2410.10781.

1. A first pass finds the sinks: keys whose attention from later queries, averaged over layers and
   heads, passes the threshold. The strongest is measured.
2. A second pass measures each layer at that key s: sink rate, attention share, contribution share
   (reference: the layer's output), and each head's output norm against A[h,i,s] with a parabola.
3. One head at one query is swept: o(a) = a v0 + (1 - a) u with u fixed, in closed form.
4. Opposition, -cos(what s writes, what all other keys write), and drift, 1 - cos(x_l, x_l+1), with
   and without what s writes, are averaged over groups of equally confident queries.

Steps 3 and 4 and their definitions are Vitrine's own reading of the abstract.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.tokens.explanation import TokenExplanation
from backend.tokens.subject import Subject

if TYPE_CHECKING:
    from backend.tokens.sink_measures import Measured
    from backend.tokens.sink_search import Found

MOST_LISTED = 20
"""Sinks that are listed, the strongest first."""

Place = Annotated[int, Field(ge=0, le=1_000_000)]
Count = Annotated[int, Field(ge=1, le=1000)]


class SinkParameters(Frozen):
    """What counts as a sink, and which head at which query is swept."""

    threshold: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.3,
        title="Threshold",
        description="Attention a key gets from later queries, averaged over layers and heads, "
        "above which it is a sink; heads above it count into the model's sink rate.",
    )
    position: Place | None = Field(
        None,
        title="Sink position",
        description="Token position that is measured, from 0; empty for the strongest sink.",
    )
    least_queries: Annotated[int, Field(ge=1, le=1000)] = Field(
        8,
        title="Fewest later queries",
        description="A sink is looked for among keys that at least so many later queries see; on "
        "short inputs a quarter of the query rows is enough.",
    )
    most_rows: Annotated[int, Field(ge=16, le=4096)] = Field(
        1024,
        title="Most query rows",
        description="On longer inputs so many evenly spaced query rows are measured.",
    )
    layer: Count | None = Field(
        None,
        title="Layer that is swept",
        description="From 1; empty for the layer of the head with the highest sink rate.",
    )
    head: Count | None = Field(
        None,
        title="Head that is swept",
        description="From 1; empty for the head with the highest sink rate.",
    )
    query: Place | None = Field(
        None,
        title="Query that is swept",
        description="Token position of the query, from 0; empty for the one that predicts the "
        "first explained token.",
    )


class AttentionSinks(Explainer):
    """Where attention sinks are, what they contribute, and what they do to a layer's output.

    Arrays (L layers, H heads, N tokens; q measured query rows after the sink, `values["rows"]`;
    P points a layer, at most 400; G groups of queries, at most 10, the least confident first):
        received: [N], attention from later queries, averaged over layers, heads and those
            queries; NaN where no measured query follows.
        rates: [L, H], mean of A[h,i,s] over queries i > s.
        attention_share, contribution_share: [L], of the sink; means over those queries, of the
            mean over heads and of the sum over heads. `ratio`: the first by the second.
        negative_share: [L], share of (head, query) pairs whose sink contribution is negative.
        points/attention, points/norm: [L, P], a head's sink attention and output norm.
        fit/coefficients: [L, 3] of a², a, 1; fit/curvature: [L], 2 × the first; fit/r2: [L].
        curve/attention, curve/norm: [101], the swept head; curve/quadratic: [3] of ||o||², in
            order of a⁰, a¹, a²; curve/minimum, curve/actual: [1], a* and the real a.
        confidence, entropy: [q], of the model's prediction at each row; entropy in nats.
        opposition, drift, drift_without, drift_renormalised, update_norm: [L, q].
        groups/confidence, groups/entropy: [G]; groups/<the five above>: [L, G], means.
        scores: [N], all NaN: a view gives tokens no scores.

    `values`: sinks (position, text, received, of each found), sink and sink_text, above (whether
    it passes the threshold), threshold, model_rate, rows, swept (layer, head, query and its text,
    from 0), undefined (query rows of a layer whose output has no length).
    """

    id = "attention_sinks"
    title = "Attention sinks"
    family = "tokens"
    role = "view"
    reference = Reference(
        authors="Cunningham, Cirone",
        title="Contribution Weights: A Geometrical Analysis of Self-Attention Transformers",
        year=2026,
        link="https://arxiv.org/abs/2606.07604",
    )
    reconstruction = True
    how_to_read = (
        "A sink is a token that heads look at when they have nothing to say. Compare how much "
        "attention it takes with how much it contributes: a sink that takes much and gives little "
        "makes a head's output shorter, it does not say anything."
    )
    Parameters = SinkParameters

    def explain(
        self, model: Any, input: Any, target: Any, parameters: Any, run: Run
    ) -> TokenExplanation:
        from backend.tokens import sink_measures, sink_search

        subject = Subject.of(model, input, target)
        sink_measures.check(model, parameters)
        found = sink_search.find(model, subject, parameters, run)
        measured = sink_measures.read(model, subject, found, parameters, run)
        return TokenExplanation(
            arrays={
                "scores": np.full(len(subject), np.nan, dtype=np.float32),
                "received": found.received.astype(np.float32),
                **measured.arrays,
            },
            values=_values(model, subject, parameters.threshold, found, measured),
            notes=_notes(parameters, len(subject), found, measured),
            sequence=subject.sequence,
            explained=subject.explained,
            unit="share of attention",
            signed=False,
        )


def _values(
    model: Any, subject: Subject, threshold: float, found: Found, measured: Measured
) -> dict[str, Any]:
    def text(position: int) -> str:
        return str(model.tokenizer.decode([subject.sequence.ids[position]]))

    swept = measured.swept
    return {
        "view": "attention_sinks",
        "threshold": threshold,
        "sinks": [
            {"position": p, "text": text(p), "received": float(found.received[p])}
            for p in found.sinks[:MOST_LISTED]
        ],
        "sink": found.sink,
        "sink_text": text(found.sink),
        "above": found.sink in found.sinks,
        "model_rate": float((measured.arrays["rates"] > threshold).mean()),
        "rows": list(measured.rows),
        "swept": {
            "layer": swept.layer,
            "head": swept.head,
            "query": swept.query,
            "text": text(swept.query),
        },
        "undefined": measured.undefined,
    }


def _notes(
    parameters: SinkParameters, length: int, found: Found, measured: Measured
) -> tuple[str, ...]:
    notes = ["A view: it shows what one position does, it gives tokens no scores."]
    level = f"{parameters.threshold:g}"
    if not found.sinks:
        what = "most attended position" if parameters.position is None else "position asked for"
        notes.append(f"No position gets more than {level} of attention: the {what} is measured.")
    elif found.sink not in found.sinks:
        notes.append(f"Position {found.sink} was asked for; it gets less attention than {level}.")
    if len(found.rows) < length:
        notes.append(f"Measured at {len(found.rows)} of {length} query rows, evenly spaced.")
    if measured.undefined:
        notes.append(
            f"{measured.undefined} rows of layers wrote nothing to compare with: they are left out "
            "of the contribution shares."
        )
    if np.isnan(measured.arrays["curve/norm"]).any():
        notes.append("The swept head leaves the other keys nothing at its query: it has no curve.")
    notes.append(
        "Drift is Vitrine's own proposal, 1 - cos(x_l, x_l+1) between the residual streams that "
        "enter and leave a layer: the paper's definition was not read. Without the sink, the rest "
        "of the layer (its MLP, its norms) is kept as it was."
    )
    return tuple(notes)
