"""All mixtures of one CB-SLICE request: candidates for the number of slices, and refits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from backend.concepts.choose_k import candidates, saturation
from backend.concepts.explanation import ConceptTable
from backend.concepts.mixture import Concepts, responsibilities
from backend.concepts.mixture_fit import Fit, Settings, fit
from backend.explainer import Run

if TYPE_CHECKING:
    from backend.concepts.cb_slice import CBSliceParameters


class Fits:
    """All mixtures of one request: the candidates, the one that stays first, and its refits.

    Attributes:
        chosen: the fit that is shown. members: [e, K] its responsibilities for the errors.
        K: its components. tried: {K: loss}. stability: see `CBSlice`.
    """

    def __init__(
        self,
        table: ConceptTable,
        errors: np.ndarray,
        concepts: np.ndarray,
        parameters: CBSliceParameters,
        run: Run,
    ) -> None:
        rows = errors if parameters.scope == "errors" else np.arange(len(table))
        self._data = concepts_of(table, concepts).take(rows)
        self._errors = concepts_of(table, concepts).logits[errors]
        self._labels = table.arrays["labels"][rows]
        self._parameters, self._run, self._done = parameters, run, 0
        sizes = (parameters.slices,) if parameters.slices else candidates(len(errors))
        refits = parameters.stability_seeds - 1
        self._total = (len(sizes) + refits) * parameters.restarts * parameters.epochs
        seeds = run.numpy_generator().spawn(1 + refits)
        fits = {K: self._fit(K, seeds[0].spawn(1)[0]) for K in sizes}
        self.tried = {K: fit.objective for K, fit in fits.items()}
        self.K = saturation(sizes, list(self.tried.values()))
        self.chosen = fits[self.K]
        self.members = responsibilities(self.chosen.parameters, self._errors)
        self.stability = self._stability([self._fit(self.K, seed) for seed in seeds[1:]])

    def _fit(self, K: int, generator: np.random.Generator) -> Fit:
        chosen = self._parameters
        settings = Settings(K, chosen.weight, chosen.start, chosen.restarts, chosen.epochs)

        def step() -> None:
            self._run.progress(self._done, self._total, f"fitting {K} slices")
            self._done += 1

        return fit(self._data, self._labels, settings, generator, step)

    def _stability(self, refits: list[Fit]) -> dict[str, Any]:
        from sklearn.metrics import adjusted_rand_score

        slicings = [self.members.argmax(axis=1)]
        slicings += [responsibilities(f.parameters, self._errors).argmax(axis=1) for f in refits]
        pairs = [
            float(adjusted_rand_score(a, b)) for i, a in enumerate(slicings) for b in slicings[:i]
        ]
        return {"mean": float(np.mean(pairs)) if pairs else None, "pairs": pairs}


def concepts_of(table: ConceptTable, concepts: np.ndarray) -> Concepts:
    """What a mixture over some concepts of a table is fitted to."""
    logits = table.arrays["logits"][:, concepts].astype(np.float64)
    true = table.arrays["concepts"][:, concepts].astype(np.float64)
    return Concepts(logits, true, (logits > 0).astype(np.float64))
