"""From what a page shows to the requests behind it: classes, concepts, explainers, then scores."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from backend import consensus
from backend.catalogue import find
from backend.explainer import Explainer
from backend.explanation import Choice, Comparison, Request
from backend.images.classify import Classify
from backend.images.discover_concepts import DiscoverConcepts
from backend.images.explanation import ImageTarget
from backend.images.image_faithfulness import ImageFaithfulness
from backend.images.mask_bias import MaskBias


@dataclasses.dataclass(frozen=True)
class Grounds:
    """What explainers by concepts rest on.

    Attributes:
        pool: digest of the concept pictures. none: digest of the set of no pictures.
        labels: the class of each explained picture.
    """

    pool: str
    none: str
    labels: Sequence[int]


def by_concepts(comparison: Comparison) -> bool:
    """Whether a chosen explainer needs `Grounds`."""
    return any(_prepares(comparison, choice) for choice in comparison.choices)


def classify_request(comparison: Comparison) -> Request:
    """The request for the classes of all pictures."""
    return Request(
        family=comparison.family,
        explainer=Classify.id,
        model=comparison.model,
        input=comparison.input,
        target=ImageTarget().model_dump(mode="json"),
    )


def requests(comparison: Comparison, grounds: Grounds | None = None) -> tuple[Request, ...]:
    """One request a chosen explainer, all about the same picture and class.

    Raises:
        ValueError: an explainer by concepts is chosen, and there are no grounds.
    """
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
                subject=_concepts(comparison, choice, grounds),
            )
            for choice in comparison.choices
        ]
    )


def _concepts(comparison: Comparison, choice: Choice, grounds: Grounds | None) -> Request | None:
    """The discovery behind an explainer: the same for every picture of a class."""
    if not _prepares(comparison, choice):
        return None
    if grounds is None:
        raise ValueError(f"{choice.explainer} needs the concept pictures and the classes")
    asked = ImageTarget.model_validate(comparison.target)
    label = grounds.labels[asked.image] if asked.label is None else asked.label
    fields = DiscoverConcepts.Parameters.model_fields
    return Request(
        family=comparison.family,
        explainer=DiscoverConcepts.id,
        model=comparison.model,
        input=grounds.pool,
        target=ImageTarget(label=label).model_dump(mode="json"),
        parameters={name: v for name, v in choice.parameters.items() if name in fields},
        seed=comparison.seed,
        subject=Request(
            family=comparison.family,
            explainer=MaskBias.id,
            model=comparison.model,
            input=grounds.none,
            target=ImageTarget().model_dump(mode="json"),
        ),
    )


def _prepares(comparison: Comparison, choice: Choice) -> bool:
    named = Request(
        family=comparison.family,
        explainer=choice.explainer,
        model=comparison.model,
        input=comparison.input,
    )
    explainer: Explainer = find(named)
    return getattr(explainer, "prepares", None) == DiscoverConcepts.id


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
