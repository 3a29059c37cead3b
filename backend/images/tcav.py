"""TCAV: how much concepts that a person brings, a folder of pictures each, move a class."""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.bundle import Bundle
from backend.errors import InputError
from backend.explainer import Explainer, Reference, Run
from backend.images.explanation import ImageExplanation, ImageTarget, Photos

FEWEST = 5
"""Pictures of a concept, and of what it is told from."""
HELD_OUT = 0.3
MISSING = (
    "TCAV asks how much concepts of your own matter. Bring a zip with a folder of five pictures or "
    "more for each concept, and one of pictures of anything to tell them from."
)


class Tcav(Explainer):
    """Tests each folder of the set as a concept.

    A concept's direction at the map layer tells its pictures from all others of the set. Its score
    is the share of the class's pictures in which the logit grows along it; of ten directions, with
    other pictures drawn anew for each. The class's pictures are those of the set that the model
    takes for it, and the explained one.

    Arrays: seen [h, w, 3] uint8. Values: kind "tcav"; those of a map that need no map (see
    `backend.images.explained.about`); class_pictures; rows: of each concept, concept (its folder),
    pictures, auc (on held-out pictures), score, low, high (95 % interval of the mean, by Student's
    t), chance (mean score of random directions), p (Welch's test against them, Bonferroni), here
    (the logit's mean derivative along the directions, in the explained picture).
    """

    id = "tcav"
    title = "TCAV"
    family = "images"
    role = "view"
    reference = Reference(
        authors="Kim, Wattenberg, Gilmer, Cai, Wexler, Viegas, Sayres",
        title="Interpretability Beyond Feature Attribution: Quantitative Testing with Concept "
        "Activation Vectors (TCAV)",
        year=2018,
        link="https://arxiv.org/abs/1711.11279",
    )
    how_to_read = (
        "A score near 1: the class grows with the concept in nearly all its pictures; near 0: it "
        "falls. It means something where it differs from the score of random directions. Needs "
        "folders of pictures, one a concept."
    )
    libraries = ("torch", "transformers", "scikit-learn", "scipy")
    uses_seed = True

    def supports(self, config: dict[str, Any], input: Bundle) -> str | None:
        """Why the set has no concepts, or None."""
        return None if isinstance(input, Photos) and concepts(input) else MISSING

    def explain(
        self, model: Any, input: Photos, target: ImageTarget, parameters: Any, run: Run
    ) -> ImageExplanation:
        """The scores.

        Raises:
            InputError: there is no such picture or class, or no folder that makes a concept.
        """
        from backend.images import tail
        from backend.images.classify import probabilities
        from backend.images.explained import Decision, about

        known = concepts(input)
        if not known:
            raise InputError(MISSING)
        decision = Decision(model, input, target, run)
        seen = [model.preprocessing.seen(input.image(i)) for i in range(len(input))]
        labels = probabilities(model, seen, run).argmax(axis=1)
        own = sorted({target.image, *np.flatnonzero(labels == decision.label).tolist()})
        e, gradients = [], {}
        for i, picture in enumerate(seen):
            run.progress(i, len(seen), "what each picture is at the map layer")
            x = model.tensor(picture)
            maps = tail.features(model, x, run)
            e.append(maps[0].mean(dim=(1, 2)).double().cpu().numpy())
            if i in own:
                gradient = tail.gradient(model, x, maps, decision.label, run)
                gradients[i] = gradient[0].sum(dim=(1, 2)).cpu().numpy()
        every = np.array([gradients[i] for i in own])
        rows = _rows(np.array(e), known, every, gradients[target.image], run)
        constant = len(own) > 1 and bool(np.ptp(every, axis=0).max() < 1e-6 * np.abs(every).max())
        return ImageExplanation(
            arrays={"seen": decision.seen},
            values={
                "kind": "tcav",
                **about(decision),
                "class_pictures": len(own),
                "rows": rows,
            },
            notes=(
                "What follows the map layer is linear, so the gradient is the same in every "
                "picture: a direction scores 0 or 1.",
            )
            if constant
            else (),
        )


def concepts(photos: Photos) -> dict[str, list[int]]:
    """The pictures of each folder that has enough, where there are enough others."""
    found = {
        folder: [i for i, name in enumerate(photos.folders) if name == folder]
        for folder in sorted({name for name in photos.folders if name})
    }
    return {
        folder: pictures
        for folder, pictures in found.items()
        if len(pictures) >= FEWEST and len(photos) - len(pictures) >= FEWEST
    }


def _rows(
    e: np.ndarray,
    known: dict[str, list[int]],
    gradients: np.ndarray,
    here: np.ndarray,
    run: Run,
) -> list[dict[str, Any]]:
    """What was found of each concept.

    Args:
        e: [n, C], pooled maps. gradients: [m, C] of the class's pictures. here: [C].
    """
    from scipy.stats import t

    from backend.images.cavs import cav, significance

    unit = e / np.maximum(np.linalg.norm(e, axis=1, keepdims=True), 1e-12)
    generator = run.numpy_generator()
    rows = []
    for done, (folder, pictures) in enumerate(known.items()):
        run.progress(done, len(known), "learning the concepts' directions")
        mine = _split(np.array(pictures), generator)
        others = _split(np.setdiff1d(np.arange(len(e)), pictures), generator)
        found = cav(
            unit[mine[0]], unit[:0], unit[others[0]], (unit[mine[1]], unit[others[1]]), generator
        )
        scores = (gradients @ found.refits.T > 0).mean(axis=0)
        chance = (gradients @ found.chance.T > 0).mean(axis=0)
        half = float(t.ppf(0.975, len(scores) - 1) * scores.std(ddof=1) / np.sqrt(len(scores)))
        mean = float(scores.mean())
        rows.append(
            {
                "concept": folder,
                "pictures": len(pictures),
                "auc": found.auc,
                "score": mean,
                "low": max(0.0, mean - half),
                "high": min(1.0, mean + half),
                "chance": float(chance.mean()),
                "p": significance(scores, chance, len(known)),
                "here": float((found.refits @ here).mean()),
            }
        )
    return sorted(rows, key=lambda row: -row["score"])


def _split(pictures: np.ndarray, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Those that are learned from, and those that are held out."""
    drawn = generator.permutation(pictures)
    out = max(1, round(HELD_OUT * len(drawn)))
    return drawn[out:], drawn[:out]
