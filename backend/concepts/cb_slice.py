"""CB-SLICE: groups of wrongly predicted samples that share a concept story.

Konforti, Espinosa Zarlenga, Almahmoud & Jamnik, "CB-SLICE: Concept-Based Interpretable Error Slice
Discovery", ICML 2026, arXiv 2605.29836.

1. Keep the concepts that move the class of the errors: `backend.concepts.ectp`.
2. Fit a mixture over their logits that also tells true and predicted concepts:
   `backend.concepts.mixture`, `mixture_fit`; its size by `choose_k` unless it is given.
3. Name each slice by the concepts that decide who is in it: `backend.concepts.keywords`.
4. Rank: `backend.concepts.rank`.

Ours, not the paper's: the k-means++ start, batches of a fifth of the errors with Adam in the place
of batches of 8 with SGD, the variance floor of 1 %, the percentile intervention, and the refits.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from backend.concepts.described import described
from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget
from backend.concepts.kept import kept
from backend.concepts.keywords import Intervention
from backend.concepts.mixture_fit import Start, one_thread
from backend.concepts.refits import Fits
from backend.concepts.slices import check_errors
from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen


class CBSliceParameters(Frozen):
    """What is kept, how many slices, and how they are fitted and named."""

    slices: Annotated[int, Field(ge=0, le=50)] = Field(
        0,
        title="Slices",
        description="How many slices at most; 0 chooses: the fewest of 4 to 18 after which the "
        "loss stops falling. Empty slices are left out.",
    )
    keep: Annotated[int, Field(ge=2, le=500)] = Field(
        20, title="Concepts kept", description="At most so many concepts that move the class."
    )
    concepts: Annotated[str, Field(max_length=10_000)] = Field(
        "",
        title="These concepts",
        description="Names with commas between them; they are kept whatever their influence.",
    )
    groups: bool = Field(
        True,
        title="Set exclusive concepts together",
        description="Where one of several concepts is true, setting one on sets the others off.",
    )
    start: Start = Field(
        "k-means++",
        title="Start",
        description="`k-means++`: clusters of the logits; `published`: normal draws about each "
        "class, after which many slices often stay empty.",
    )
    restarts: Annotated[int, Field(ge=1, le=20)] = Field(
        1, title="Restarts", description="Fits from other starts; the lowest loss stays."
    )
    weight: Annotated[float, Field(ge=0, le=1000)] = Field(
        10.0,
        title="Weight of the concept losses (λ)",
        description="10 as in the authors' experiments: slices tell their members' concepts. "
        "1 weighs logits and concepts alike.",
    )
    epochs: Annotated[int, Field(ge=1, le=1000)] = Field(
        60, title="Epochs", description="Passes over the errors in each fit."
    )
    keywords: Annotated[int, Field(ge=1, le=50)] = Field(
        5, title="Keywords", description="Concepts named for each slice."
    )
    intervention: Intervention = Field(
        "paper",
        title="Keyword intervention",
        description="`paper` sets probabilities of 1e-6 and 1 - 1e-6; `percentile` the 5th and "
        "95th percentile of each concept's logits.",
    )
    scope: Literal["errors", "all"] = Field(
        "errors",
        title="Fitted to",
        description="`all` fits the mixture to all samples, an ablation; slices hold errors alone "
        "either way.",
    )
    stability_seeds: Annotated[int, Field(ge=1, le=10)] = Field(
        3, title="Fits for the stability", description="Fits in all, whose slices are compared."
    )


class CBSlice(Explainer):
    """Slices of errors by CB-SLICE.

    Arrays beside those of `ConceptExplanation`, columns and rows of slices in ranking order:
        ectp: [m, k] float32, influence on each true class's errors, nats; NaN without errors.
        kept: [d] int32, the concepts the slices are made of.
        pearson: [k] float32, correlation of "concept wrong" with "class wrong"; NaN if constant.
        concept_precision, concept_recall, concept_f1: [k] float32 over the errors; NaN for 0/0.
        objective: [epochs + 1] float32, the loss at the start and after each epoch, nats.
        keywords/paper, keywords/percentile: [K, d] float32, both scores of every kept concept.
        k/values [c] int32, k/objectives [c] float32: the candidates and their losses.

    `values`: each of `slices` has `parts` MC, SC, rho, a `reading` in a sentence,
    and `failing`, the concept that fails there or None.
    `chosen_slices` (K before empty ones are left out), `stability` (mean adjusted Rand index, pairs
    of fits), `kept_by`, `spearman` (of the two keyword scores, None where undefined), `fidelity`
    (None for the model's own head).
    """

    id = "cb_slice"
    title = "CB-SLICE"
    family = "concepts"
    role = "slicing"
    reference = Reference(
        authors="Konforti, Espinosa Zarlenga, Almahmoud, Jamnik",
        title="CB-SLICE: Concept-Based Interpretable Error Slice Discovery",
        year=2026,
        link="https://arxiv.org/abs/2605.29836",
    )
    how_to_read = (
        "Each slice is a group of errors with one concept story. A mispredicted concept among the "
        "first keywords says that the concept itself fails there; where all are right, the "
        "combination is rare or the label head gets it wrong. A mean Rand index far below 1 says "
        "that other seeds give other slices."
    )
    libraries = ("numpy", "scipy", "scikit-learn")
    uses_seed = True
    Parameters = CBSliceParameters

    def explain(
        self, model: Any, input: ConceptTable, target: ConceptTarget, parameters: Any, run: Run
    ) -> ConceptExplanation:
        """Find, name and rank the slices.

        Raises:
            InputError: too few errors, or a listed concept is not there.
        """
        errors = check_errors(input)
        with one_thread():
            found = kept(
                input,
                errors,
                parameters.keep,
                parameters.concepts,
                parameters.groups,
                lambda done, total: run.progress(done, total, "influence of the concepts"),
            )
            fits = Fits(input, errors, found.concepts, parameters, run)
            return described(input, errors, found, fits, parameters, run)
