"""From what a page shows to the requests behind it: the answer, then explainers and scores."""

from __future__ import annotations

from backend import consensus
from backend.explanation import Comparison, Request
from backend.tokens.explanation import Target, TokenExplanation


def continuation_request(comparison: Comparison) -> Request:
    """The request for the answer that is explained: the model's own, or the typed one encoded."""
    asked = Target.model_validate(comparison.target)
    return Request(
        family=comparison.family,
        explainer="continuation",
        model=comparison.model,
        input=comparison.input,
        target=asked.model_copy(update={"span": None}).model_dump(mode="json"),
    )


def shorten_request(comparison: Comparison) -> Request:
    """The request for how much of too long a prompt fits."""
    return continuation_request(comparison).model_copy(update={"explainer": "shorten"})


def requests(comparison: Comparison, continuation: TokenExplanation) -> tuple[Request, ...]:
    """One request a chosen explainer, all about the same tokens of the same answer."""
    return consensus.joined(
        [
            Request(
                family=comparison.family,
                explainer=choice.explainer,
                model=comparison.model,
                input=comparison.input,
                target=_target(comparison, continuation),
                parameters=choice.parameters,
                seed=comparison.seed,
            )
            for choice in comparison.choices
        ]
    )


def score_requests(
    comparison: Comparison, continuation: TokenExplanation, attributions: tuple[Request, ...]
) -> tuple[Request, ...]:
    """One faithfulness request an attribution, and last the random rankings they have to beat."""
    return tuple(
        Request(
            family=comparison.family,
            explainer="faithfulness",
            model=comparison.model,
            input=comparison.input,
            target=_target(comparison, continuation),
            seed=comparison.seed,
            subject=subject,
        )
        for subject in (*attributions, None)
    )


def _target(comparison: Comparison, continuation: TokenExplanation) -> dict:
    """The target with the answer's ids; what led to them no longer matters to the key."""
    ids = tuple(continuation.values["ids"])
    span = Target.model_validate(comparison.target).span
    if span is not None and (span[-1] >= len(ids) or span == tuple(range(len(ids)))):
        span = None
    return Target(ids=ids, span=span).model_dump(mode="json")
