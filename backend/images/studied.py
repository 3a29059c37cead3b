"""A study of the Images family: the chosen methods on many pictures."""

from __future__ import annotations

from backend.catalogue import draws, find
from backend.explanation import Comparison
from backend.images import files, plan
from backend.images.explanation import ImageTarget, Photos
from backend.images.image_metrics import METRICS
from backend.images.plan import Grounds
from backend.study import Case, Studied


def studied(
    comparison: Comparison,
    photos: Photos,
    most: int,
    seeds: int = 1,
    grounds: Grounds | None = None,
) -> Studied:
    """The study of a comparison's methods, a case a picture.

    Args:
        most: pictures at most, from the first on.
        seeds: explanations of each picture by a method that draws random numbers.
        grounds: where a method is by concepts.
    """
    count = min(most, len(photos))
    cases = [_case(comparison, photos, i, seeds, grounds) for i in range(count)]
    chosen = [find(request) for request in cases[0].asked]
    return Studied(
        cases=cases,
        methods=[explainer.id for explainer in chosen],
        titles=[explainer.title for explainer in chosen],
        controls=[explainer.id for explainer in chosen if explainer.control],
        metrics=METRICS,
        about=photos.title,
        command=files.study_command(comparison, photos, count, seeds),
        beside=lambda: files.beside(photos),
    )


def _case(
    comparison: Comparison, photos: Photos, number: int, seeds: int, grounds: Grounds | None
) -> Case:
    asked = ImageTarget.model_validate(comparison.target)
    target = asked.model_copy(update={"image": number}).model_dump(mode="json")
    one = comparison.model_copy(update={"target": target})
    requests = plan.requests(one, grounds)
    return Case(
        title=f"{number + 1}: {photos.names[number]}",
        opens=one,
        asked=requests,
        again=tuple(
            tuple(request.at_seed(seed) for seed in range(1, seeds if draws(request) else 1))
            for request in requests
        ),
        scores=plan.score_requests(requests),
        command="\n".join(files.command(request, photos) for request in requests),
    )
