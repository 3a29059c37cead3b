"""One explainer over many graphs or nodes of a set, each explanation scored: a row of a table."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Annotated, Any, cast

import numpy as np
from pydantic import Field, JsonValue

from backend.catalogue import catalogue, checked
from backend.errors import InputError
from backend.explainer import Explainer, Run
from backend.explanation import Explanation, Frozen
from backend.graphs import items
from backend.graphs.explanation import GraphExplanation, GraphSet, GraphTarget
from backend.graphs.graph_faithfulness import Parameters as Scoring
from backend.graphs.graph_faithfulness import scored
from backend.graphs.graph_metrics import METRICS

DRAWS = 5
"""Random halves for robust fidelity, and random rankings of the row that stands for chance."""


class Parameters(Frozen):
    """Which explainer, how it is set, and over how many items."""

    explainer: Annotated[str, Field(max_length=64)] = Field(
        "", title="Explainer", description="Id of the explainer; empty is random rankings."
    )
    settings: dict[str, JsonValue] = Field({}, title="Settings", description="Its parameters.")
    graphs: Annotated[int, Field(ge=1, le=10_000)] = Field(
        20, title="Items", description="How many graphs or nodes."
    )


class GraphSuite(Explainer):
    """The scores of an explainer on each item, in one job.

    The subject is the explainer's fit, where it has one.

    Arrays: items [i] int32; metrics/<id> [i] float32, NaN where undefined; seconds [i] float32;
    predicted [i] int32.

    Values: kind "suite", explainer, class_names, skipped: a sentence by item that could not be
    explained.
    """

    id = "graph_suite"
    title = "Scores over many graphs"
    family = "graphs"
    role = "score"
    libraries = ("torch", "torch_geometric", "captum", "numpy")
    uses_seed = True
    Parameters = Parameters

    def explain(
        self, model: Any, input: GraphSet, target: GraphTarget, parameters: Any, run: Run
    ) -> GraphExplanation:
        """The rows.

        Raises:
            InputError: there is no such explainer, or no item could be explained.
        """
        from backend.graphs.explained import Decision

        method = _Method(model, input, parameters, run)
        chosen = items.to_score(input, parameters.graphs)
        rows: list[dict[str, float]] = []
        done: list[int] = []
        predicted: list[int] = []
        skipped: dict[str, str] = {}
        generator, scoring = run.numpy_generator(), Scoring(draws=DRAWS)
        for number, item in enumerate(chosen.tolist()):
            run.progress(number, len(chosen), "items explained and scored")
            asked = items.target(input, item, target.label)
            try:
                decision = Decision(input, asked, run.device)
                rankings, seconds = method.rankings(decision, asked)
            except InputError as error:
                skipped[str(item)] = str(error)
                continue
            found = [
                scored(decision, scores, scoring, generator, run).metrics for scores in rankings
            ]
            rows.append({**_means(found), "seconds": seconds})
            done.append(item)
            predicted.append(decision.predicted)
        if not rows:
            raise InputError("No item could be explained.", todo=next(iter(skipped.values()), ""))
        arrays = {
            f"metrics/{metric.id}": np.array([row[metric.id] for row in rows], dtype=np.float32)
            for metric in METRICS
        }
        arrays["seconds"] = np.array([row["seconds"] for row in rows], dtype=np.float32)
        arrays["items"] = np.array(done, dtype=np.int32)
        arrays["predicted"] = np.array(predicted, dtype=np.int32)
        return GraphExplanation(
            arrays=arrays,
            values={
                "kind": "suite",
                "explainer": parameters.explainer,
                "class_names": list(input.class_names),
                "skipped": skipped,
            },
        )


class _Method:
    """What gives scores: an explainer with its settings and its fit, or chance.

    Raises:
        InputError: there is no such explainer, a setting is not valid, or it cannot serve the GNN.
    """

    def __init__(self, model: Any, graphs: GraphSet, parameters: Any, run: Run) -> None:
        self.model, self.graphs, self.run = model, graphs, run
        self.explainer: Explainer | None = None
        if not parameters.explainer:
            return
        try:
            self.explainer = catalogue()["graphs"].find(parameters.explainer)
        except KeyError as error:
            raise InputError(str(error.args[0]), "explainer") from error
        if self.explainer.role != "attribution":
            raise InputError(f"{self.explainer.title} scores no edges.", "explainer")
        if reason := self.explainer.supports({}, graphs):
            raise InputError(reason)
        self.settings = checked(
            self.explainer.Parameters, parameters.settings, parameters.explainer
        )
        self.quiet = _Quiet(run, run.subject or self._fit())

    def _fit(self) -> Explanation | None:
        """What the explainer learns once; without it, it would learn anew for each item."""
        step = getattr(self.explainer, "fit", None)
        if step is None:
            return None
        fit = catalogue()["graphs"].find(step)
        fields = fit.Parameters.model_fields
        given = {k: v for k, v in self.settings.model_dump().items() if k in fields}
        asked = fit.Parameters.model_validate(given)
        return fit.explain(self.model, self.graphs, GraphTarget(), asked, self.run)

    def rankings(self, decision: Any, asked: GraphTarget) -> tuple[list[np.ndarray], float]:
        """Scores [e] of one item, or several random ones, and the seconds they took."""
        if self.explainer is None:
            generator = np.random.default_rng([self.run.seed, decision.part.item])
            return [generator.random(len(decision.part)) for _ in range(DRAWS)], 0.0
        started = time.perf_counter()
        found = self.explainer.explain(
            self.model, self.graphs, asked, self.settings, cast(Run, self.quiet)
        )
        return [found.arrays["scores"].astype(np.float64)], time.perf_counter() - started


def _means(found: list[dict[str, float | None]]) -> dict[str, float]:
    means = {}
    for metric in METRICS:
        values = [v for row in found if (v := row[metric.id]) is not None]
        means[metric.id] = float(np.mean(values)) if values else float("nan")
    return means


@dataclasses.dataclass
class _Quiet:
    """The run of one item: its progress and warnings are not those of the whole job."""

    run: Run
    subject: Explanation | None

    def progress(self, done: float, total: float, what: str) -> None:
        """Only asks whether to go on."""
        self.run.check_cancelled()

    def warn(self, message: str) -> None:
        """Warnings of single items are not told."""

    def batches(
        self,
        given: Sequence[Any],
        size: int,
        work: Callable[[Sequence[Any]], Sequence[Any]],
        what: str = "",
        *,
        before: int = 0,
        total: int = 0,
    ) -> list[Any]:
        """As the run's, without its progress."""
        found: list[Any] = []
        for start in range(0, len(given), size):
            self.run.check_cancelled()
            found += work(given[start : start + size])
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self.run, name)
