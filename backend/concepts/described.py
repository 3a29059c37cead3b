"""CB-SLICE's slices in words and numbers: keywords, ranking parts, counts and a reading."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from backend.concepts import keywords as naming
from backend.concepts import rank
from backend.concepts.concept_errors import pearson, quality
from backend.concepts.explanation import ConceptExplanation, ConceptTable
from backend.concepts.kept import Kept, classes
from backend.concepts.refits import Fits, concepts_of
from backend.concepts.slices import Keyword, Slice, explanation
from backend.explainer import Run

if TYPE_CHECKING:
    from backend.concepts.cb_slice import CBSliceParameters

READ = 3
"""Keywords a reading looks at."""


def failing(slice: Slice) -> Keyword | None:
    """The keyword that fails in a slice: among the first `READ`, the mispredicted one whose
    prediction is farthest from the truth. A decisive concept that is right only says where.
    """
    wrong = [word for word in slice.keywords[:READ] if word.mispredicted]
    return max(wrong, key=lambda word: abs(word.predicted - word.true), default=None)


def reading(slice: Slice, names: tuple[str, ...]) -> str:
    """What the first keywords of a slice say of its errors, as a sentence."""
    if not slice.keywords:
        return ""
    wrong = failing(slice)
    word = wrong or slice.keywords[0]
    name = names[word.concept] if names else f"concept {word.concept}"
    told = name if word.predicted > 0.5 else f"no {name}"
    if wrong:
        return (
            f'concept failure: the model says "{told}" here and is wrong. Annotate more of this '
            "concept, or repair its predictor."
        )
    return (
        f'rare combination or label-head failure: "{told}" is right here, the class is not. Add '
        "samples of this combination, or train the label head again."
    )


def described(
    table: ConceptTable,
    errors: np.ndarray,
    found: Kept,
    fits: Fits,
    parameters: CBSliceParameters,
    run: Run,
) -> ConceptExplanation:
    """The explanation of a fit; slices without a member are left out."""
    alive = np.unique(fits.members.argmax(axis=1))
    memberships = fits.members[:, alive]
    memberships /= memberships.sum(axis=1, keepdims=True)
    scores = _keyword_scores(table, errors, found.concepts, fits, run)
    weights = np.where(np.arange(len(alive)) == memberships.argmax(axis=1)[:, None], memberships, 0)
    means = {how: naming.of_slices(each, weights) for how, each in scores.items()}
    slices = _slices(
        table, errors, found.concepts, weights, means[parameters.intervention], parameters.keywords
    )
    order = sorted(range(len(slices)), key=lambda c: -slices[c].score)
    result = explanation(
        table,
        errors,
        memberships,
        slices,
        arrays=_arrays(table, errors, found, fits)
        | {f"keywords/{how}": each[order].astype(np.float32) for how, each in means.items()},
        values={
            "chosen_slices": fits.K,
            "stability": fits.stability,
            "kept_by": found.by,
            "spearman": naming.agreement(means["paper"], means["percentile"]),
            "fidelity": found.fidelity,
        },
        notes=found.notes,
    )
    for number, value in enumerate(result.values["slices"]):
        wrong = failing(slices[order[number]])
        value["failing"] = None if wrong is None else wrong.concept
        value["reading"] = reading(slices[order[number]], table.concept_names)
    return result


def _keyword_scores(
    table: ConceptTable, errors: np.ndarray, concepts: np.ndarray, fits: Fits, run: Run
) -> dict[str, np.ndarray]:
    """{intervention: [e, d]}."""
    logits = table.arrays["logits"][:, concepts].astype(np.float64)
    return {
        how: naming.decisiveness(
            fits.chosen.parameters,
            logits[errors],
            table.probabilities[errors][:, concepts],
            naming.settings(how, logits),
            lambda done, total: run.progress(done, total, "naming the slices"),
        )
        for how in naming.INTERVENTIONS
    }


def _slices(
    table: ConceptTable,
    errors: np.ndarray,
    concepts: np.ndarray,
    weights: np.ndarray,
    scores: np.ndarray,
    count: int,
) -> list[Slice]:
    data = concepts_of(table, concepts).take(errors)
    predicted = naming.of_slices(table.probabilities[errors][:, concepts], weights)
    true = naming.of_slices(data.true, weights)
    predictions = table.arrays["predictions"][errors]
    found = []
    for c in range(weights.shape[1]):
        rows = weights[:, c] > 0
        parts = rank.parts(weights[rows, c], predictions[rows], data.logits[rows], classes(table))
        words = naming.keywords(scores[c], predicted[c], true[c], concepts, count)
        weight = float(weights[:, c].sum())
        found.append(Slice(int(rows.sum()), weight, rank.score(parts), words, parts))
    return found


def _arrays(
    table: ConceptTable, errors: np.ndarray, found: Kept, fits: Fits
) -> dict[str, np.ndarray]:
    plain = {
        "ectp": found.ectp,
        "pearson": pearson(table),
        **quality(table, errors),
        "objective": fits.chosen.history,
        "k/objectives": np.array(list(fits.tried.values())),
    }
    return {
        **{name: array.astype(np.float32) for name, array in plain.items()},
        "kept": found.concepts.astype(np.int32),
        "k/values": np.array(list(fits.tried), dtype=np.int32),
    }
