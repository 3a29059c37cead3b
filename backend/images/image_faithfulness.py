"""How faithful a map is: what the class's probability does as pixels go, come, and stay alone."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from backend.cost import cost
from backend.errors import InputError
from backend.explainer import Explainer, Reference, Run
from backend.explanation import Explanation, Frozen
from backend.images import image_metrics as metrics
from backend.images.cells import CELLS, cell_numbers
from backend.images.controls import drawn
from backend.images.explanation import ImageExplanation, ImageTarget, Photos
from backend.images.fills import Fill, fill_field
from backend.images.infidelity import Shaken, infidelity, shaken

SHARE = 0.2
"""Of the cells, those of a random part."""
SPREAD = (2.5, 97.5)


class ImageFaithfulnessParameters(Frozen):
    """How maps are tested."""

    steps: Annotated[int, Field(ge=2, le=224)] = Field(
        28, title="Steps", description="Steps of the insertion and deletion curves."
    )
    deletion: Fill = fill_field("grey", "Deleted pixels")
    insertion: Fill = fill_field("blur", "Pixels not yet inserted")
    parts: Annotated[int, Field(ge=5, le=500)] = Field(
        40, title="Parts", description="Random parts for the faithfulness correlation."
    )
    noise_draws: Annotated[int, Field(ge=4, le=100)] = Field(
        16, title="Noise draws", description="Noisy pictures behind the infidelity."
    )
    draws: Annotated[int, Field(ge=2, le=100)] = Field(
        5, title="Draws", description="Random maps behind the baseline row."
    )


@dataclasses.dataclass(frozen=True, eq=False)
class Tested:
    """What one map got: METRICS by id (None where undefined), and its curves [steps + 1]."""

    metrics: dict[str, float | None]
    undefined: dict[str, str]
    deletion: np.ndarray
    insertion: np.ndarray


class ImageFaithfulness(Explainer):
    """Numbers of the map `run.subject`, or of random maps where there is none.

    Arrays: fractions [s + 1]; curve/pixels/deletion, curve/pixels/insertion [s + 1]: probability
    of the class; of random maps means, with spread/pixels/deletion and spread/pixels/insertion
    [2, s + 1] (2.5 and 97.5 %).

    Values: kind "score", metrics (by id), spread (of random maps, [low, high]), undefined (a
    reason by id), image, label, seconds and passes of what was scored, draws.
    """

    id = "image_faithfulness"
    title = "Faithfulness of a map"
    family = "images"
    role = "score"
    reference = Reference(
        authors="Petsiuk, Das, Saenko",
        title="RISE: Randomized Input Sampling for Explanation of Black-box Models",
        year=2018,
        link="https://arxiv.org/abs/1806.07421",
    )
    how_to_read = (
        "Pixels are taken away, or uncovered, from the highest score on. Rankings push the model "
        "off its data, so compare methods, and compare them with random maps."
    )
    libraries = ("torch", "transformers", "scikit-learn")
    uses_seed = True
    Parameters = ImageFaithfulnessParameters

    def explain(
        self, model: Any, input: Photos, target: ImageTarget, parameters: Any, run: Run
    ) -> ImageExplanation:
        """The numbers.

        Raises:
            InputError: there is no such picture or class, or the subject is a map of another one.
        """
        from backend.images.explained import Decision

        decision = Decision(model, input, target, run)
        generator = run.numpy_generator()
        if run.subject is None:
            maps = [drawn(model.shape, generator) for _ in range(parameters.draws)]
        else:
            maps = [subject_scores(run.subject, decision)]
        # Noise of its own stream: the same for every map of a picture at a seed.
        [apart] = run.numpy_generator().spawn(1)
        known = shaken(decision, parameters.noise_draws, apart)
        found = []
        for done, scores in enumerate(maps):
            run.progress(done, len(maps), "maps")
            found.append(tested(decision, scores, parameters, generator, known))
        arrays, values = _told(found, random=run.subject is None)
        return ImageExplanation(
            arrays={"fractions": np.linspace(0, 1, parameters.steps + 1), **arrays},
            values={
                "kind": "score",
                **values,
                **cost(run.subject),
                "image": target.image,
                "label": decision.label,
                "draws": len(maps),
            },
            unit="probability",
        )


def subject_scores(subject: Explanation, decision: Any) -> np.ndarray:
    """The scores [h, w] of a map of this very picture and class.

    Raises:
        InputError: it is no map, or one of another picture or class.
    """
    if not isinstance(subject, ImageExplanation) or subject.values.get("kind") != "map":
        raise InputError("This explanation is no map.", todo="Score a map of a picture.")
    scores = subject.arrays["scores"].astype(np.float64)
    same = np.array_equal(subject.arrays["seen"], decision.seen)
    if not same or subject.values["label"] != decision.label:
        raise InputError("The map is of another picture or class than the score asks about.")
    return scores


def tested(
    decision: Any,
    scores: np.ndarray,
    parameters: Any,
    generator: np.random.Generator,
    known: Shaken,
) -> Tested:
    """What one map [h, w] gets.

    Args:
        known: what noise did to the picture.
    """
    model, x = decision.model, decision.x
    gone = model.fill(decision.seen, parameters.deletion)
    hidden = model.fill(decision.seen, parameters.insertion)
    deletion = _curve(decision, scores, x, gone, parameters.steps, "deleting pixels")
    insertion = _curve(decision, scores, hidden, x, parameters.steps, "inserting pixels")
    found: dict[str, float | None] = {
        "insertion": metrics.area(insertion),
        "deletion": metrics.area(deletion),
        "gap": metrics.area(insertion) - metrics.area(deletion),
        **_alone(decision, scores),
        "correlation": _correlation(decision, scores, gone, parameters.parts, generator),
        "infidelity": infidelity(scores, known),
    }
    mask = decision.mask()
    found |= dict.fromkeys(metrics.OF_OBJECT) if mask is None else metrics.located(scores, mask)
    if bool((scores == scores.ravel()[0]).all()):
        found = dict.fromkeys(found)
    return Tested(found, metrics.undefined(found, scores, mask), deletion, insertion)


def _curve(
    decision: Any, scores: np.ndarray, start: Any, end: Any, steps: int, what: str
) -> np.ndarray:
    """[steps + 1] probabilities as pixels of `start` give way to those of `end`."""
    import torch

    ranked = metrics.order(scores)
    rank = np.empty(len(ranked), dtype=np.int64)
    rank[ranked] = np.arange(len(ranked))
    places = torch.from_numpy(rank.reshape(scores.shape)).to(decision.x.device)
    counts = np.round(np.linspace(0, len(ranked), steps + 1)).astype(int).tolist()

    def picture(count: int) -> Any:
        return torch.where(places < count, end, start)

    return np.asarray(decision.each(counts, picture, what, of="probability"))


def _alone(decision: Any, scores: np.ndarray) -> dict[str, float | None]:
    """Average drop and increase, of what the map marks on black."""
    import torch

    black = decision.model.fill(decision.seen, "black")
    marked = torch.from_numpy(metrics.marked(scores)).to(decision.x)
    (left,) = decision.each(
        [marked], lambda m: black + m * (decision.x - black), "what the map marks",
        of="probability",
    )  # fmt: skip
    whole = decision.probability
    return {
        "drop": max(0.0, whole - float(left)) / whole if whole > 0 else None,
        "increase": float(left > whole),
    }


def _correlation(
    decision: Any, scores: np.ndarray, gone: Any, parts: int, generator: np.random.Generator
) -> float | None:
    import torch

    cell = cell_numbers((scores.shape[0], scores.shape[1]))
    summed = np.bincount(cell.ravel(), weights=scores.ravel(), minlength=CELLS**2)
    count = round(SHARE * CELLS**2)
    chosen = np.zeros((parts, CELLS**2), dtype=bool)
    for row in chosen:
        row[generator.choice(CELLS**2, count, replace=False)] = True
    places = torch.from_numpy(cell).to(decision.x.device)

    def picture(i: int) -> Any:
        covered = torch.from_numpy(chosen[i]).to(places.device)[places]
        return torch.where(covered, gone, decision.x)

    falls = decision.logits[decision.label] - decision.each(range(parts), picture, "random parts")
    sums = chosen @ summed
    if np.ptp(sums) == 0 or np.ptp(falls) == 0:
        return None
    return float(np.corrcoef(sums, falls)[0, 1])


def _told(found: list[Tested], *, random: bool) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays and values: means over the maps, and their spread where they are random."""
    arrays: dict[str, np.ndarray] = {}
    for name in ("deletion", "insertion"):
        draws = np.stack([getattr(one, name) for one in found])
        arrays[f"curve/pixels/{name}"] = draws.mean(axis=0)
        if random:
            arrays[f"spread/pixels/{name}"] = np.percentile(draws, SPREAD, axis=0)
    means: dict[str, float | None] = {}
    spread: dict[str, list[float]] = {}
    for name in found[0].metrics:
        known = [value for one in found if (value := one.metrics[name]) is not None]
        means[name] = float(np.mean(known)) if known else None
        if random and known:
            spread[name] = np.percentile(known, SPREAD).tolist()
    reasons = {k: v for k, v in found[0].undefined.items() if means[k] is None}
    return arrays, {"metrics": means, "undefined": reasons, "spread": spread}
