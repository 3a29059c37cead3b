"""FlashTrace: which prompt tokens a span of a long answer rests on, through the model's own text.

Pan, Liu, Wang, Yu & Jia, "Towards Long-Horizon Interpretability: Efficient and Faithful Multi-Token
Attribution for Reasoning LLMs", ICML 2026, arXiv 2602.01914.

1. One forward pass; routes into the explained span, summed over layers (`routes`).
2. What lands on the model's own text is traced on from there, hop by hop (`hops`).
3. What lands on the prompt, over all hops, is the score.

Values come from the pass itself, so norms of queries and keys, biases and sliding windows are the
model's own. Layers are summed, not chained: what a position holds in a layer is credited to the
token at that position.
"""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.tokens.explanation import Prompt, Target, TokenExplanation
from backend.tokens.hops import Hops, follow
from backend.tokens.reasoning import WHOLE, reasoning, stop_tokens
from backend.tokens.subject import Subject

SINK_ATTENTION = 0.3
"""Mean attention, over layers, heads and the span, above which a token is a sink."""

UNIT = "share, summed over layers"

Rows = Literal["own", "predicting"]


class RouteParameters(Frozen):
    """What routes are read, and which tokens get none."""

    rows: Rows = Field(
        "own",
        title="Positions",
        description="`own`: what the positions of the explained tokens themselves took, as "
        "published; `predicting`: what the positions before them took, which predicted them.",
    )
    threshold: Annotated[float, Field(ge=0, le=1e6)] = Field(
        0.0,
        title="Smallest route",
        description="A route that closes less of the L1 distance than this counts as nothing.",
    )
    exclude_first: bool = Field(
        False,
        title="Leave out the first token",
        description="Many models park attention on position 0; its score becomes 0.",
    )
    exclude_special: bool = Field(
        False,
        title="Leave out special tokens",
        description="Scores of tokens such as <|im_start|> become 0.",
    )

    def positions(self, explained: tuple[int, ...]) -> tuple[int, ...]:
        """The positions whose routes are read."""
        return explained if self.rows == "own" else tuple(p - 1 for p in explained)


class FlashTraceParameters(RouteParameters):
    """How a span is traced back."""

    variant: Literal["flashtrace", "package", "plain"] = Field(
        "flashtrace",
        title="Variant",
        description="`flashtrace`: from the explained tokens, then on through all the model's own "
        "text, commas, full stops and blanks left out; `package`: as the authors' package 0.1.1 "
        "does by default, from all that text at once; `plain`: on through the reasoning alone, "
        "nothing left out.",
    )
    hops: Annotated[int, Field(ge=0, le=3)] = Field(
        1, title="Hops", description="How often what landed on the model's own text is traced on."
    )
    reasoning: Annotated[str, Field(pattern=f"^({WHOLE})$")] = Field(
        "auto",
        title="Reasoning",
        description="The answer's reasoning: `auto` finds thinking markers, `none` says there is "
        "none, `0:40` names tokens of the answer. The rest of the explained tokens is explained.",
    )


class FlashTrace(Explainer):
    """Token scores of an answer span in one pass, and the hops they are made of.

    Arrays (N tokens, K + 1 hops, L layers, H heads):
        scores: [N]; NaN on the tokens traced on from and from the first explained one on.
        readings/hop_0, hop_1, ...: [N], what each hop adds to the scores.
        hops: [K+1, N], what the span (hop 0) or the carriers (later hops) took from every token.
        carried: [K+1], the share of the whole that is still on the model's own text after a hop.
        layer_tokens: [L, N], heads: [L, H], residual: [L], feed_forward: [L]: hop 0 layer by
            layer; in a layer the tokens and the residual sum to 1, and the heads and the residual.

    `values`: variant, explained_span and carriers (positions), reasoning (positions), sinks
        (positions), mass (shares of the scores on template, special and sink tokens, and `stop`,
        the share of hop 0 that fell on tokens left out).
    """

    id = "flashtrace"
    title = "FlashTrace"
    family = "tokens"
    reference = Reference(
        authors="Pan, Liu, Wang, Yu, Jia",
        title="Towards Long-Horizon Interpretability: Efficient and Faithful Multi-Token "
        "Attribution for Reasoning LLMs",
        year=2026,
        link="https://arxiv.org/abs/2602.01914",
    )
    how_to_read = (
        "What the explained tokens took from each prompt token, directly and through text the "
        "model wrote in between. A layer hands out at most 1; the rest stayed in the residual "
        "stream or is still carried by the model's own text after the last hop."
    )
    Parameters = FlashTraceParameters

    def explain(
        self, model: Any, input: Prompt, target: Target, parameters: Any, run: Run
    ) -> TokenExplanation:
        """Trace the explained span back.

        Raises:
            InputError: no answer, or reasoning that is not in it.
        """
        from backend.tokens import routes

        subject = Subject.of(model, input, target)
        course = _Course.of(subject, parameters)
        ids, found = subject.sequence.ids, list[routes.Routes]()

        def aggregate(positions: Any, weights: np.ndarray | None) -> np.ndarray:
            found.append(
                routes.of_span(
                    model, ids, positions, run, weights=weights, threshold=parameters.threshold
                )
            )
            total: np.ndarray = found[-1].tokens.sum(axis=0, dtype=np.float64)
            return total

        traced = follow(
            aggregate,
            course.span,
            course.weights,
            course.carriers,
            hops=parameters.hops,
            kept=course.kept,
            observed=course.observed,
        )
        return _explanation(subject, course, traced, found[0], parameters)


@dataclasses.dataclass(frozen=True, eq=False)
class _Course:
    """Where tracing starts and what it passes through."""

    span: tuple[int, ...]
    weights: np.ndarray | None
    carriers: tuple[int, ...]
    kept: np.ndarray
    observed: np.ndarray
    reasoning: tuple[int, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, subject: Subject, parameters: FlashTraceParameters) -> _Course:
        sequence = subject.sequence
        thought = reasoning(sequence, parameters.reasoning)
        plain = parameters.variant == "plain"
        stops = np.zeros(len(sequence), dtype=bool) if plain else stop_tokens(sequence)
        explained = tuple(p for p in subject.explained if p not in thought) or subject.explained
        first = min(*thought, explained[0]) if thought else sequence.prompt_length
        carriers = (thought or explained) if plain else tuple(range(first, explained[-1] + 1))
        if not plain:
            carriers = _without_end(sequence, carriers)
        start = carriers if parameters.variant == "package" else explained
        span = start if parameters.variant == "package" else parameters.positions(start)
        weights, notes = _weights(sequence, start, stops, plain=plain)
        observed = np.zeros(len(sequence), dtype=bool)
        observed[: carriers[0] if carriers else explained[0]] = True
        observed[explained[0] :] = False
        return cls(span, weights, carriers, ~stops, observed, thought, notes)


def _without_end(sequence: Any, positions: tuple[int, ...]) -> tuple[int, ...]:
    """Without the token that ends the answer, unless it is all there is."""
    last = len(sequence) - 1
    return tuple(p for p in positions if p != last or not sequence.special[p]) or positions


def _weights(
    sequence: Any, start: tuple[int, ...], stops: np.ndarray, *, plain: bool
) -> tuple[np.ndarray | None, tuple[str, ...]]:
    if plain:
        return None, ()
    used = set(_without_end(sequence, start))
    weights = np.array([float(p in used and not stops[p]) for p in start])
    if weights.any():
        return weights, ()
    return None, ("The explained tokens are all stop tokens: each of them counts.",)


def _explanation(
    subject: Subject, course: _Course, traced: Hops, first: Any, parameters: FlashTraceParameters
) -> TokenExplanation:
    sequence = subject.sequence
    result = np.where(course.observed, traced.scores, np.nan)
    scores = subject.scores(
        result, first=parameters.exclude_first, special=parameters.exclude_special
    )
    hidden = np.where(course.observed, traced.observed, np.nan)
    sinks = np.flatnonzero(first.attention > SINK_ATTENTION)
    return TokenExplanation(
        arrays={
            "scores": scores,
            **{f"readings/hop_{k}": subject.masked(row) for k, row in enumerate(hidden)},
            "hops": traced.totals.astype(np.float32),
            "carried": traced.carried.astype(np.float32),
            "layer_tokens": subject.masked(first.tokens),
            "heads": first.heads,
            "residual": first.residual,
            "feed_forward": first.feed_forward,
        },
        values={
            "variant": parameters.variant,
            "explained_span": list(course.span),
            "carriers": list(course.carriers),
            "reasoning": list(course.reasoning),
            "sinks": sinks.tolist(),
            "mass": _mass(sequence, traced, sinks),
        },
        notes=course.notes,
        sequence=sequence,
        explained=subject.explained,
        unit=UNIT,
        signed=False,
    )


def _mass(sequence: Any, traced: Hops, sinks: np.ndarray) -> dict[str, float]:
    """Shares of the result, stop tokens' of what hop 0 took."""
    scores = traced.scores
    total = float(scores.sum())

    def share(chosen: np.ndarray) -> float:
        return float(scores[chosen].sum()) / total if total > 0 else 0.0

    template = np.array([role == "template" for role in sequence.roles])
    sink = np.isin(np.arange(len(sequence)), sinks)
    return {
        "template": share(template),
        "special": share(np.array(sequence.special)),
        "sink": share(sink),
        "stop": traced.dropped,
    }
