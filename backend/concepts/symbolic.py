"""Turn experts into formulas: symbolic regression on what each expert gets, then fine-tuning.

Mixture of Concept Bottleneck Experts, ICML 2026, arXiv 2602.02886, the symbolic form. Phase 1 is
the linear mixture of `backend.concepts.experts`, which decides who gets which sample.

2. For each expert and output, genetic programming (Operon; +, - and ×) on the training samples it
   gets. What is fitted is the label, 1 where it is the class and 0 elsewhere, so that a formula
   reads as the share of the class; linear experts as targets would hand down their own limits.
   Each candidate on the front of error against length is multiplied out and its coefficients are
   solved for by least squares; kept is the smallest whose R² is within 0.02 of the best.
3. Outputs are g (f - 1/2) with one g > 0 for all. First g, then g and the coefficients go down the
   cross-entropy, held near the fitted ones. Choices stay as they are.
"""

from __future__ import annotations

import dataclasses
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from backend.concepts.experts import Data, Mixture, cross_entropy
from backend.concepts.head import Head
from backend.concepts.polynomial import Polynomial, parse
from backend.explainer import Run

if TYPE_CHECKING:
    from torch import Tensor

FEWEST = 10
"""Samples below which an expert's formula is a constant."""
MOST_TERMS = 40
STEEPEST = 12.0
"""Largest g; it would grow without end where the formulas never err."""
SPARED = 0.02
"""Share of the variance that a shorter formula may leave unexplained beyond the best one."""
PULL = 0.1
"""Weight of half the squared distance to the fitted coefficients."""
POPULATION = 500


@dataclasses.dataclass(frozen=True)
class Search:
    """How formulas are looked for."""

    length: int = 30
    """Nodes of a candidate."""
    evaluations: int = 20_000
    """Candidates tried for each formula."""
    binary: bool = True
    """Whether concepts are 0 or 1."""


@dataclasses.dataclass(frozen=True)
class Formulas:
    """Experts that are formulas: one for each expert and output, and the phase-1 selector."""

    formulas: tuple[tuple[Polynomial, ...], ...]
    gain: float
    selector: Head | None
    objective: float
    """Cross-entropy, nats, on the training samples."""

    def choices(self, inputs: np.ndarray) -> np.ndarray:
        """[n] the expert that each sample is sent to."""
        if self.selector is None:
            return np.zeros(len(inputs), dtype=np.int64)
        return np.asarray(self.selector.outputs(inputs).argmax(axis=-1))

    def values(self, concepts: np.ndarray) -> np.ndarray:
        """[n, M, q] values of the formulas."""
        each = [np.column_stack([f(concepts) for f in expert]) for expert in self.formulas]
        return np.stack(each, axis=1)

    def outputs(self, concepts: np.ndarray) -> np.ndarray:
        """[n, M, q] raw outputs of every expert."""
        return self.gain * (self.values(concepts) - 0.5)

    @property
    def complexity(self) -> int:
        """Nodes of all expression trees."""
        return sum(formula.size for expert in self.formulas for formula in expert)


def formulate(
    data: Data, mixture: Mixture, search: Search, run: Run, *, before: float = 0, total: float = 1
) -> Formulas:
    """Formulas in the place of a mixture's experts.

    Args:
        before, total: units of the run's progress that are done, and all; this work is one.
    """
    chosen = mixture.choices(data.inputs)
    wanted = targets(data)
    experts = len(mixture.biases)
    found: list[tuple[Polynomial, ...]] = []
    for m in range(experts):
        mine, formulas = chosen == m, []
        for out in range(data.outputs):
            done = (m * data.outputs + out) / (experts * data.outputs)
            run.progress(before + 0.9 * done, total, f"formulas of expert {m + 1} of {experts}")
            seed = run.seed + 1000 * m + out
            formulas.append(_formula(data.concepts[mine], wanted[mine, out], search, seed))
        found.append(tuple(formulas))
    run.progress(before + 0.9, total, "fine-tuning formulas")
    return _tuned(Formulas(tuple(found), 1.0, mixture.selector, 0.0), data, chosen)


def targets(data: Data) -> np.ndarray:
    """[n, q] float64: 1 where the label is the output's class."""
    classes = [1] if data.outputs == 1 else range(data.outputs)
    return np.stack([data.labels == c for c in classes], axis=1).astype(np.float64)


def _formula(concepts: np.ndarray, wanted: np.ndarray, search: Search, seed: int) -> Polynomial:
    """The formula of one output of one expert, on the samples the expert gets."""
    n, k = concepts.shape
    constant = Polynomial.constant(float(wanted.mean()) if n else 0.0, k)
    if n < FEWEST or np.ptp(wanted) == 0 or not np.ptp(concepts, axis=0).any():
        return constant
    front = _front(concepts, wanted, search, seed)
    tried = [constant, *(_fitted(powers, concepts, wanted) for powers in front)]
    return _shortest(tried, concepts, wanted)


def _front(concepts: np.ndarray, wanted: np.ndarray, search: Search, seed: int) -> list[np.ndarray]:
    """Powers of the products of each expression on the front, the constant among them."""
    from pyoperon.sklearn import SymbolicRegressor  # type: ignore[import-untyped]

    regressor = SymbolicRegressor(
        allowed_symbols="add,sub,mul,constant,variable",
        objectives=["r2", "length"],
        max_length=search.length,
        population_size=POPULATION,
        pool_size=POPULATION,
        max_evaluations=search.evaluations,
        random_state=seed % 2**32,
        n_threads=1,
    )
    regressor.fit(concepts.astype(np.float64), wanted)
    k = concepts.shape[1]
    nothing = np.zeros((1, k), dtype=np.int64)
    found = []
    for candidate in regressor.pareto_front_:
        model = regressor.get_model_string(candidate["tree"], 6)
        powers = parse(model, k, binary=search.binary)
        powers = np.concatenate([powers[powers.any(axis=1)], nothing])
        if len(powers) <= MOST_TERMS:
            found.append(powers)
    return found


def _shortest(tried: list[Polynomial], concepts: np.ndarray, wanted: np.ndarray) -> Polynomial:
    """The smallest of those that explain nearly as much as the best, less what it can spare."""
    errors = [_error(formula, concepts, wanted) for formula in tried]
    most = min(errors) + SPARED * float(wanted.var())
    good = [formula for formula, error in zip(tried, errors, strict=True) if error <= most]
    formula = min(good, key=lambda candidate: candidate.size)
    while len(formula.coefficients) > 1:
        spread = np.abs(formula.coefficients) * formula.terms(concepts).std(axis=0)
        spread[~formula.powers.any(axis=1)] = np.inf
        fewer = _fitted(np.delete(formula.powers, int(spread.argmin()), axis=0), concepts, wanted)
        if _error(fewer, concepts, wanted) > most:
            break
        formula = fewer
    return formula


def _fitted(powers: np.ndarray, concepts: np.ndarray, wanted: np.ndarray) -> Polynomial:
    terms = Polynomial(powers, np.ones(len(powers))).terms(concepts)
    return Polynomial(powers, np.linalg.lstsq(terms, wanted, rcond=None)[0])


def _error(formula: Polynomial, concepts: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.mean((formula(concepts) - wanted) ** 2))


def _tuned(start: Formulas, data: Data, chosen: np.ndarray) -> Formulas:
    """Phase 3: g alone, then g and all coefficients, by L-BFGS on the cross-entropy."""
    import torch

    terms = [
        [torch.from_numpy(f.terms(data.concepts[chosen == m])) for f in expert]
        for m, expert in enumerate(start.formulas)
    ]
    labels = [torch.from_numpy(data.labels[chosen == m]) for m in range(len(terms))]
    fitted = [[torch.from_numpy(f.coefficients) for f in e] for e in start.formulas]
    trained = [[c.clone().requires_grad_(True) for c in e] for e in fitted]
    log_gain = torch.tensor(np.log(4.0), requires_grad=True)

    def loss(numbers: Any) -> Tensor:
        gain = log_gain.clamp(max=float(np.log(STEEPEST))).exp()
        total = torch.zeros((), dtype=torch.float64)
        for m, wanted in enumerate(labels):
            if len(wanted):
                values = [t @ c for t, c in zip(terms[m], numbers[m], strict=True)]
                total = total + _summed(gain * (torch.stack(values, dim=1) - 0.5), wanted)
        pairs = zip(chain(*numbers), chain(*fitted), strict=True)
        pull = torch.stack([((a - b) ** 2).sum() for a, b in pairs]).sum()
        return total / len(data) + 0.5 * PULL * pull

    _lower(lambda: loss(fitted), [log_gain])
    _lower(lambda: loss(trained), [log_gain, *(c for e in trained for c in e)])
    formulas = tuple(
        tuple(Polynomial(f.powers, c.detach().numpy()) for f, c in zip(e, new, strict=True))
        for e, new in zip(start.formulas, trained, strict=True)
    )
    gain = min(STEEPEST, float(log_gain.detach().exp()))
    found = Formulas(formulas, gain, start.selector, 0.0)
    outputs = found.outputs(data.concepts)[np.arange(len(data)), chosen]
    return dataclasses.replace(found, objective=cross_entropy(outputs, data.labels))


def _summed(outputs: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy summed over samples."""
    from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

    if outputs.shape[1] == 1:
        return binary_cross_entropy_with_logits(outputs[:, 0], labels.double(), reduction="sum")
    return cross_entropy(outputs, labels, reduction="sum")


def _lower(loss: Any, trained: list[Tensor]) -> None:
    import torch

    optimiser = torch.optim.LBFGS(trained, max_iter=60, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimiser.zero_grad()
        found: Tensor = loss()
        torch.autograd.backward(found)
        return found

    optimiser.step(closure)  # type: ignore[no-untyped-call]
