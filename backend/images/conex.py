"""ConEx: which concepts a classifier saw in a picture, where, and what each added."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import Field

from backend.errors import InputError
from backend.explainer import Explainer, Run
from backend.images.discover_concepts import REFERENCE, DiscoverConcepts, DiscoverParameters
from backend.images.explanation import ImageExplanation, ImageTarget, Photos


class ConExParameters(DiscoverParameters):
    """How concepts are found, and how they make one map."""

    classmap: Literal["contributions", "presence"] = Field(
        "contributions",
        title="Class map",
        description="`contributions`: what the concepts add at each place, if positive. "
        "`presence`: where each concept is, weighted by what it adds there.",
    )
    edges: bool = Field(
        True,
        title="Along edges",
        description="Bring the map, as coarse as the network's last maps, to the picture's edges.",
    )


class ConEx(Explainer):
    """Presence and contribution of each concept in one picture, and the map of all together.

    `run.subject` is the discovery of the class's concepts.

    Arrays: as `backend.images.explained` has them, and (K concepts, gh × gw places of the map
    layer) presence [K, gh, gw]; contributions [K + 1, gh, gw], last what no concept explains.

    Values: those of `backend.images.explained`, and layer, grid, base (logit where the maps are at
    the origin), logit, gap (logit less base and all contributions), explained (share of `logit -
    base` that the concepts add), points (gradients taken), thresholds (presence above which a
    concept counts as there), adds (of each concept, and last of the rest).
    """

    id = "conex"
    title = "ConEx"
    family = "images"
    reference = REFERENCE
    reconstruction = True
    how_to_read = (
        "Concepts are groups of pieces that the model embeds alike in pictures of the class, found "
        "without names. The map is what they add to the class's logit at each place; what no "
        "concept explains is stated as the rest."
    )
    libraries = DiscoverConcepts.libraries
    uses_seed = True
    prepares = DiscoverConcepts.id
    Parameters = ConExParameters

    def explain(
        self, model: Any, input: Photos, target: ImageTarget, parameters: Any, run: Run
    ) -> ImageExplanation:
        """The concepts in the picture.

        Raises:
            InputError: there is no such picture or class, or the concepts are of another class.
        """
        import torch

        from backend.images import tail
        from backend.images.concept_space import ConceptSpace
        from backend.images.edges import along_edges
        from backend.images.explained import Decision, enlarged, explained

        decision = Decision(model, input, target, run)
        space = ConceptSpace.of(concepts_of(run, decision.label))
        slope = tail.slope(model, decision.x, decision.label, space.origin, run)
        presence = space.presence(slope.maps)
        parts = space.contributions(slope.maps, slope.mean)
        adds = parts.sum(axis=(1, 2))
        total = slope.whole - slope.base
        coarse = class_map(parts[:-1], presence, parameters.classmap)
        scores = enlarged(torch.from_numpy(coarse), model.shape)
        return explained(
            decision,
            along_edges(decision.seen, scores) if parameters.edges else scores,
            unit="logit" if parameters.classmap == "contributions" else "weighted presence",
            arrays={
                "presence": presence.astype(np.float32),
                "contributions": parts.astype(np.float32),
            },
            values={
                "layer": model.maps.name,
                "grid": list(model.maps.grid),
                "base": slope.base,
                "logit": slope.whole,
                "gap": total - float(adds.sum()),
                "explained": float(adds[:-1].sum() / total) if total else 0.0,
                "points": slope.points,
                "thresholds": space.thresholds.tolist(),
                "adds": adds.tolist(),
            },
        )


def class_map(parts: np.ndarray, presence: np.ndarray, kind: str) -> np.ndarray:
    """[gh, gw]: one map of all concepts.

    Args:
        parts: [K, gh, gw], what each adds. presence: [K, gh, gw].
    """
    if kind == "contributions":
        return np.asarray(np.maximum(parts.sum(axis=0), 0))
    most = np.maximum(presence.max(axis=(1, 2), keepdims=True), 1e-12)
    return np.asarray((np.maximum(parts, 0) * presence / most).sum(axis=0))


def concepts_of(run: Run, label: int) -> ImageExplanation:
    """The discovery that an explanation rests on.

    Raises:
        InputError: there is none, or it is of another class.
    """
    found = run.subject
    if not isinstance(found, ImageExplanation) or found.values.get("kind") != "concepts":
        raise InputError("The concepts of this class have not been found yet.")
    if found.values["label"] != label:
        raise InputError("These concepts are of another class than the one that is explained.")
    return found
