"""M-CBE: which of a few simple experts decides each sample, and by what rule of concepts.

Mixture of Concept Bottleneck Experts, ICML 2026, arXiv 2602.02886:

1. Samples are split once by the seed; every accuracy is that of the held-out ones.
2. For each number of experts a linear mixture is trained (`backend.concepts.experts`); with the
   symbolic form its experts become formulas (`backend.concepts.symbolic`).
3. What the selector does is told apart from what the experts do: how often each is used, whether
   it is a constant, how far the most used one gets alone, and a shallow tree that predicts the
   selector's choice from concepts (`backend.concepts.routing`).

A table has no encoder to train, so concepts are always detached: experts cannot bend them to
carry the label, which a jointly trained mixture can.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from backend.concepts import mcbe_data
from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget
from backend.concepts.mcbe_data import Explained, Prepared, Seen
from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.threads import one_thread


class MixtureParameters(Frozen):
    """The mixture, what its experts see, and how it is trained."""

    experts: Annotated[int, Field(ge=1, le=5)] = Field(
        2, title="Experts", description="How many experts share the samples among them."
    )
    compare: bool = Field(
        True,
        title="Compare with fewer",
        description="Also train every smaller number of experts, for accuracy against complexity.",
    )
    form: Literal["linear", "symbolic"] = Field(
        "linear",
        title="Form",
        description="linear: a weighted sum of concepts. symbolic: a formula with products, found "
        "by symbolic regression.",
    )
    concepts: Seen = Field(
        "hard",
        title="Experts see",
        description="hard: predicted concepts, present or absent. soft: their probabilities, "
        "which may tell more than the concept. true: the true concepts.",
    )
    explain: Explained = Field(
        "labels",
        title="Explain",
        description="labels: learn the true classes. predictions: imitate the model's classes.",
    )
    selector: Literal["linear", "mlp"] = Field(
        "linear",
        title="Selector",
        description="linear: one layer. mlp: a hidden layer of 32, which can make the decision "
        "itself and leave the experts constant.",
    )
    penalty: Annotated[float, Field(ge=0, le=1)] = Field(
        0.005, title="Penalty", description="On the sum of absolute weights; more makes fewer."
    )
    threshold: Annotated[float, Field(ge=0, le=1)] = Field(
        1e-3, title="Prune below", description="Smaller absolute weights are set to zero."
    )
    restarts: Annotated[int, Field(ge=1, le=16)] = Field(
        8, title="Restarts", description="Trainings from other initial weights; the best is kept."
    )
    steps: Annotated[int, Field(ge=50, le=5000)] = Field(
        400, title="Steps", description="Of training, before weights are pruned."
    )
    held_out: Annotated[float, Field(ge=0.1, le=0.5)] = Field(
        0.3, title="Held out", description="Share of the samples that only judge."
    )
    depth: Annotated[int, Field(ge=1, le=3)] = Field(
        3, title="Tree depth", description="Questions the tree of the routing may ask in a row."
    )
    evaluations: Annotated[int, Field(ge=1000, le=1_000_000)] = Field(
        20_000,
        title="Candidates",
        description="Formulas tried for each expert and class; the symbolic form alone.",
    )


class MixtureOfExperts(Explainer):
    """A mixture of concept bottleneck experts, taken apart.

    Arrays (n samples, k concepts, M experts, q outputs: 1 for two classes, the logit of the
    second, else one a class; F mixtures compared):
        held_out: [n] bool. choices: [n] int32, the expert of each sample. predictions: [n] int32.
        outputs: [n, q] float32, logits of the chosen expert.
        usage: [M] float32, share of all samples. expert_accuracy: [M] float32, of the held-out
            samples it gets, NaN where it gets none. constant: [M] bool.
        weights: [M, q, k] float32, biases: [M, q] float32, logits; the linear form alone.
        front/experts, front/complexity: [F] int32. front/accuracy, front/objective: [F] float32,
            held-out share and training cross-entropy plus penalty (nats).

    Values: kind and view ("experts"), form, concepts, explain, selector, concept_names,
        class_names, output_names; samples, held_out (counts); accuracy, chance (share of the
        largest class), model_accuracy (the table's predictions), concept_accuracy (means over
        held-out samples, model's None where its predictions are explained); complexity and
        complexity_unit; most_used and frozen_accuracy (all samples sent to that expert); gain:
        logits are gain × (formula - 1/2), None in the linear form, where a formula is the logit;
        formulas: [M][q] of text, latex, expression (full precision, x0 is the first concept),
        size (nodes of its tree); says: [M] class that an expert gives to every sample it gets, or
        None; tree: fidelity, majority, rules (`backend.concepts.routing`), None where one expert
        gets everything; verdicts: sentences.
    """

    id = "mcbe"
    title = "M-CBE"
    family = "concepts"
    role = "view"
    reference = Reference(
        authors="De Santis, Ciravegna, De Felice, Casanova, Giannini, Diligenti, Schneider, "
        "Giordano, Espinosa Zarlenga, Barbiero",
        title="Mixture of Concept Bottleneck Experts",
        year=2026,
        link="https://arxiv.org/abs/2602.02886",
    )
    how_to_read = (
        "Each expert decides by a simple rule of concepts, and a selector says which expert a "
        "sample gets. Look first at who makes the decision: an expert that is a constant, or a "
        "large fall of accuracy when the selector is frozen, means that the selector does. Where "
        "the tree predicts the selector well, its part can be read in concepts too."
    )
    libraries = ("torch", "scikit-learn", "pyoperon", "sympy")
    uses_seed = True
    Parameters = MixtureParameters

    def explain(
        self,
        model: Any,
        input: ConceptTable,
        target: ConceptTarget,
        parameters: MixtureParameters,
        run: Run,
    ) -> ConceptExplanation:
        """Train the mixtures and take the largest apart.

        Raises:
            InputError: too few samples, one class only, or concepts that never change.
        """
        from backend.concepts.mcbe_report import report

        prepared = mcbe_data.prepare(
            input,
            parameters.concepts,
            parameters.explain,
            parameters.held_out,
            run.numpy_generator(),
        )
        _warn(prepared, parameters, run)
        first = 1 if parameters.compare else parameters.experts
        counts = range(first, parameters.experts + 1)
        with one_thread():
            mixtures = {
                m: _trained(prepared, parameters, m, run, before=m - first, total=len(counts))
                for m in counts
            }
            run.progress(len(counts), len(counts), "reading the mixture")
            return report(input, prepared, mixtures, parameters, run.seed)


def _trained(
    prepared: Prepared,
    parameters: MixtureParameters,
    count: int,
    run: Run,
    *,
    before: float,
    total: float,
) -> Any:
    """One mixture: `experts.Mixture` or `symbolic.Formulas`."""
    from backend.concepts.experts import Recipe, train
    from backend.concepts.symbolic import Search, formulate

    recipe = Recipe(
        experts=count,
        selector=parameters.selector,
        penalty=parameters.penalty,
        threshold=parameters.threshold,
        steps=parameters.steps,
        restarts=parameters.restarts,
    )
    symbolic = parameters.form == "symbolic"
    parts = total * 2 if symbolic else total
    start = before * 2 if symbolic else before
    data = prepared.training
    mixture = train(data, recipe, run, before=start, total=parts)
    if not symbolic:
        return mixture
    search = Search(evaluations=parameters.evaluations, binary=prepared.binary)
    return formulate(data, mixture, search, run, before=start + 1, total=parts)


def _warn(prepared: Prepared, parameters: MixtureParameters, run: Run) -> None:
    count = int(prepared.held_out.sum())
    if count < 100:
        run.warn(f"Accuracy is over {count} held-out samples only: it is known roughly.")
    known = set(prepared.training.labels.tolist())
    missing = sorted(set(prepared.data.labels.tolist()) - known)
    if missing:
        names = ", ".join(prepared.class_names[c] for c in missing[:5])
        run.warn(f"No training sample has the class {names}: no expert can tell it.")
    if parameters.concepts == "soft":
        run.warn(
            "Experts see probabilities, which may carry more about the class than the concept "
            "they stand for: compare with hard concepts."
        )
