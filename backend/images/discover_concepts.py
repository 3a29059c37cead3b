"""The preparation of ConEx: find the concepts of one class among pieces of its pictures."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from backend.errors import InputError
from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.images.explanation import ImageExplanation, ImageTarget, Photos

REFERENCE = Reference(
    authors="Elisha, Barkan, Weiss Haddad, Koenigstein",
    title="ConEx: concept-aware saliency, ICML",
    year=2026,
    link="https://arxiv.org/abs/2610.04605",
)


class DiscoverParameters(Frozen):
    """How concepts are found."""

    masking: Literal["auto", "layer", "tokens", "grey", "mean", "blur", "crop"] = Field(
        "auto",
        title="Masking",
        description="How a piece is shown by itself; `auto` takes what the mask-bias probe finds "
        "best for this model. `layer` (convolutional networks) and `tokens` (transformers) let "
        "nothing of the rest through; the others paint over it.",
    )
    basis: Literal["auto", "cav", "subspace", "nmf"] = Field(
        "auto",
        title="Basis",
        description="Of what maps are put together: the concepts' vectors, a few directions of "
        "each, or parts of a non-negative factorisation. `auto` takes, of those that explain "
        "nearly all of the logit on held-out pictures, the one whose contributions cancel least.",
    )
    concepts: Annotated[int, Field(ge=0, le=12)] = Field(
        0, title="Groups", description="Groups of pieces; 0 chooses by the silhouette."
    )
    pictures: Annotated[int, Field(ge=4, le=200)] = Field(
        50, title="Pictures", description="Of the class at most, and of other classes."
    )
    pieces: Annotated[int, Field(ge=4, le=60)] = Field(
        16,
        title="Pieces",
        description="Superpixels of a picture of the class at most; of others half as many.",
    )


class DiscoverConcepts(Explainer):
    """Finds the concepts of the target's class; `run.subject` is the model's mask-bias probe.

    Arrays (K concepts, C channels, V views, P prototypes, h × w pixels of the model's input):
        cavs [K, C], mean [C], origin [C], basis [R, C], owner [R] int32, thresholds [K]: see
            `backend.images.concept_space.ConceptSpace`.
        presence, contributions [V, K]: the most of each concept, and what it adds to the logit.
        of_class, held_out [V] uint8; source [V] int32; of views.
        views [V, s, s', 3] uint8, small. prototypes [K, P, h, w, 3] uint8 and outlines
            [K, P, h, w] uint8: views and the concept's nearest piece in each; a prototype that
            is not there is all 0.

    Values: kind "concepts", and what `backend.images.discovery.discover` tells.
    """

    id = "discover_concepts"
    title = "Find the concepts of a class"
    family = "images"
    role = "preparation"
    reference = REFERENCE
    reconstruction = True
    how_to_read = "Found once for a class, a model and a set of pictures; every picture reuses it."
    libraries = ("torch", "transformers", "scikit-learn", "scikit-image", "scipy")
    uses_seed = True
    Parameters = DiscoverParameters

    def explain(
        self, model: Any, input: Photos, target: ImageTarget, parameters: Any, run: Run
    ) -> ImageExplanation:
        """The concepts.

        Raises:
            InputError: no class is named, too few pictures are of others, or nothing in them makes
                a concept.
        """
        from backend.images import discovery

        if target.label is None or target.label >= len(model.names):
            raise InputError("Name the class whose concepts are to be found.", "label")
        found = discovery.discover(model, input, target.label, parameters, run)
        return ImageExplanation(arrays=found.arrays, values={"kind": "concepts", **found.values})
