"""The preparation of MSExplainer: learn once for a GNN which edges its decisions rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from backend.errors import InputError
from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.graphs import items
from backend.graphs.explanation import TRAIN, GraphExplanation, GraphSet, GraphTarget
from backend.graphs.part import Part
from backend.threads import one_thread

if TYPE_CHECKING:
    from backend.bundle import Arrays
    from backend.graphs.classifier import Classifier
    from backend.graphs.ms_fit import Fitted

REFERENCE = Reference(
    authors="Known to us by its abstract alone",
    title="Multi-scale Explainer for Graph Neural Networks, ICML",
    year=2026,
    link="https://icml.cc",
)
NODES = 200
"""Training nodes of a node task that the scorer learns from."""
GRAPHS = 800
EDGES = 50_000
"""Edges of all that is learned from: neighbourhoods around a hub are most of a graph each."""
FEWEST = 20
"""Items that are learned from however many edges they have."""


class FitParameters(Frozen):
    """How the scorer is learned."""

    smallest: Annotated[float, Field(gt=0, le=1)] = Field(
        0.1, title="Smallest part", description="Share of the edges at the smallest scale."
    )
    middle: Annotated[float, Field(gt=0, le=1)] = Field(
        0.25, title="Middle part", description="Share of the edges at the middle scale."
    )
    largest: Annotated[float, Field(gt=0, le=1)] = Field(
        0.5, title="Largest part", description="Share of the edges at the largest scale."
    )
    epochs: Annotated[int, Field(ge=1, le=500)] = Field(
        5, title="Epochs", description="Passes over the training items, for each start."
    )
    restarts: Annotated[int, Field(ge=1, le=10)] = Field(
        2, title="Starts", description="Scorers learned, of which the most faithful is used."
    )
    pull: Annotated[float, Field(ge=0, le=1000)] = Field(
        10.0,
        title="Pull",
        description="How strongly the scorer is held to the simple score it starts from. Without "
        "it, masks are found that satisfy every loss and mean nothing.",
    )
    learning_rate: Annotated[float, Field(gt=0, le=0.1)] = Field(
        0.003, title="Learning rate", description="Step size of Adam."
    )

    @property
    def budgets(self) -> tuple[float, ...]:
        """Shares from the smallest to the largest, whatever order they were given in."""
        return tuple(sorted({self.smallest, self.middle, self.largest}))


class FitMSExplainer(Explainer):
    """Learns MSExplainer's scorer from the training items of a set.

    Result: kind "fit". Arrays: scorer/<name>, mean, deviation: float32.
    Values: budgets, prior, use, see `backend.graphs.ms_fit.Fitted`; guard: what was measured, see
    `backend.graphs.ms_fit.fit`, with `report`: the same in sentences.
    """

    id = "fit_ms_explainer"
    title = "Fit MSExplainer"
    family = "graphs"
    role = "preparation"
    reference = REFERENCE
    reconstruction = True
    how_to_read = "Learned once for a model; every explanation of it then takes milliseconds."
    libraries = ("torch", "torch_geometric")
    uses_seed = True
    Parameters = FitParameters

    def explain(
        self, model: Any, input: GraphSet, target: GraphTarget, parameters: FitParameters, run: Run
    ) -> GraphExplanation:
        """Fit to the training items, or to all where the set has no split.

        Raises:
            InputError: the set has no GNN, or no edge to learn from.
        """
        from backend.graphs.classifier import Classifier

        fitted, guard = fit(Classifier.of(input, run.device), input, parameters, run)
        arrays: Arrays = {
            f"scorer/{name}": w.numpy() for name, w in fitted.scorer.state_dict().items()
        }
        arrays |= {"mean": fitted.mean, "deviation": fitted.deviation}
        return GraphExplanation(
            arrays={name: np.asarray(a, dtype=np.float32) for name, a in arrays.items()},
            values={
                "kind": "fit",
                "budgets": list(fitted.budgets),
                "prior": fitted.prior,
                "use": fitted.use,
                "guard": {**guard, "report": list(report(guard, input))},
            },
        )


def fit(
    classifier: Classifier, graphs: GraphSet, parameters: FitParameters, run: Run
) -> tuple[Fitted, dict[str, Any]]:
    """Cut the training parts, read their features, and fit, in one thread: all is small."""
    with one_thread():
        return _fit(classifier, graphs, parameters, run)


def _fit(
    classifier: Classifier, graphs: GraphSet, parameters: FitParameters, run: Run
) -> tuple[Fitted, dict[str, Any]]:
    from backend.graphs import batch, edge_features, ms_fit

    parts = [part for part in training_parts(graphs, run) if len(part)]
    if not parts:
        raise InputError(
            "None of these graphs has an edge to learn from.",
            todo="Bring graphs with edges.",
        )
    found = []
    for start in range(0, len(parts), 64):
        some = parts[start : start + 64]
        logits = classifier.logits(batch.parts(some, classifier.device))
        labels = logits.argmax(dim=1).tolist()
        run.progress(start, len(parts), "reading the training graphs")
        found += edge_features.items(classifier, some, labels, with_priors=True)
    return ms_fit.fit(classifier, found, parameters, run)


def training_parts(graphs: GraphSet, run: Run) -> list[Part]:
    """Parts of the training items, drawn by the seed.

    At most `GRAPHS` graphs or `NODES` nodes, and of large parts those that fit into `EDGES`.
    """
    chosen = np.arange(items.count(graphs))
    if "split" in graphs.arrays and (graphs.arrays["split"] == TRAIN).any():
        chosen = np.flatnonzero(graphs.arrays["split"] == TRAIN)
    limit = GRAPHS if graphs.task == "graph" else NODES
    if len(chosen) > limit:
        chosen = np.sort(run.numpy_generator().choice(chosen, limit, replace=False))
    parts = [Part.of(graphs, items.target(graphs, item)) for item in chosen.tolist()]
    if sum(map(len, parts)) <= EDGES:
        return parts
    order = run.numpy_generator().permutation(len(parts))
    total = np.cumsum([len(parts[i]) for i in order])
    count = max(FEWEST, int((total <= EDGES).sum()))
    return [parts[i] for i in sorted(order[:count].tolist())]


PRIORS = {
    "consensus": "the consensus of evidence, gradient and integrated gradients",
    "evidence": "the evidence in the states an edge joins",
    "gradient": "the gradient of an edge mask",
    "path": "integrated gradients",
}


def report(guard: dict[str, Any], graphs: GraphSet) -> tuple[str, ...]:
    """What was measured of the scorer, in words."""
    distilled = (
        "the scorer that learned it is shown, as the losses added nothing to it"
        if guard["telling"]
        else "the scorer that learned it is shown, as nothing could say whether the losses help"
    )
    shown = {
        "prior": "that score itself is shown, as no learned scorer came near it",
        "distilled": distilled,
    }
    fidelity = guard["priors"][guard["prior"]]
    name = PRIORS[guard["prior"]]
    why = (
        f"The scorer starts from {name} (fidelity on {guard['held_out']} held-out items, key part "
        f"less rest: {fidelity:+.2f})"
    )
    if not guard["telling"]:
        why += "; deleting edges tells little of this GNN, whichever edges they are"
    what = shown.get(guard["chosen"], "the scorer that the losses made of it is better, and shown")
    found = [f"{why}; {what}."]
    for label, row in guard["classes"].items():
        if row["rest"] >= row["kept"]:
            number = int(label)
            name = graphs.class_names[number] if number < len(graphs.class_names) else label
            found.append(
                f"Class {name}: what is left keeps as much of the decision as the key part. It may "
                "be what the GNN answers by default, or rest on an absence, which no part of a "
                "graph can show."
            )
    return tuple(found)
