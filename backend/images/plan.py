"""From what a page shows to the requests behind it: explainers, then scores."""

from __future__ import annotations

from collections.abc import Sequence

from backend import consensus
from backend.explanation import Comparison, Request
from backend.images.image_faithfulness import ImageFaithfulness


def requests(comparison: Comparison) -> tuple[Request, ...]:
    """One request a chosen explainer, all about the same picture and class."""
    return consensus.joined(
        [
            Request(
                family=comparison.family,
                explainer=choice.explainer,
                model=comparison.model,
                input=comparison.input,
                target=comparison.target,
                parameters=choice.parameters,
                seed=comparison.seed,
            )
            for choice in comparison.choices
        ]
    )


def score_requests(subjects: Sequence[Request]) -> tuple[Request, ...]:
    """The faithfulness of each map, and last of random ones: a request without a subject."""
    return tuple(
        subjects[0].model_copy(
            update={
                "explainer": ImageFaithfulness.id,
                "parameters": {},
                "members": (),
                "subject": subject,
            }
        )
        for subject in (*subjects, None)
        if subjects
    )
