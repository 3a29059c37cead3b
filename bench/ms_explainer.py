"""How well explainers of GNNs find the known reason, how stable they are, and what they cost.

BA-2Motifs: GIN and GCN, MODELS trained models of each, SEEDS explainer seeds of each model, the
edge AUC of every test graph (100). Of GNNExplainer, SubgraphX and PGExplainer one seed a model, and
of the first two the first SOME test graphs, as they take long. Then BA-Shapes and the molecules,
one model of each kind and one seed.

- `auc_gin`, `auc_gcn`: MSExplainer's mean edge AUC over models, seeds and test graphs.
- `auc_worst`: its worst mean of one model and seed. `auc_sd`: standard deviation over seeds, a mean
  over models.
- `best_other_auc_gin`, `best_other_auc_gcn`: the best mean of any other explainer.
- `gnn_explainer_over_ours`: seconds of GNNExplainer for a graph over MSExplainer's after its fit,
  the median over pairs on the same graph; without reading the graph and drawing it, for both.

Run with: python -m bench.ms_explainer [--json] [--quick]
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import mean, median
from typing import Any

import numpy as np

from backend.explainer import Explainer
from backend.graphs import (
    FAMILY,
    ba_2motifs,
    ba_shapes,
    benzene,
    edge_features,
    gnn_explainer,
    items,
    nitro_amine,
)
from backend.graphs.explained import Decision
from backend.graphs.explanation import GraphExplanation, GraphSet, GraphTarget, Recipe
from backend.graphs.graph_metrics import auc
from backend.graphs.ms_explainer import loaded
from backend.graphs.train_gnn import trained
from backend.threads import one_thread
from bench.report import arguments, report

OURS = "ms_explainer"
OTHERS = (
    "saliency", "integrated_gradients", "edge_occlusion", "pg_explainer", "gnn_explainer",
    "subgraphx", "random_edges",
)  # fmt: skip
SLOW = ("gnn_explainer", "subgraphx")
KINDS = ("gin", "gcn")
MODELS, SEEDS, SOME, PAIRS = 3, 3, 30, 12
Row = tuple[str, str, int, int, float, float, float, float]
"""data, explainer, seeds of model and explainer, mean and worst AUC, seconds: of fit, of each."""


class BareRun:
    """A run outside the engine: nothing is reported, nothing cancels it."""

    device, dtype = "cpu", "float32"

    def __init__(self, seed: int, subject: GraphExplanation | None = None) -> None:
        self.seed, self.subject = seed, subject

    def numpy_generator(self) -> np.random.Generator:
        """Always the same."""
        return np.random.default_rng(self.seed)

    def progress(self, done: float, total: float, what: str) -> None:
        """Ignore it."""

    def check_cancelled(self) -> None:
        """Never."""

    def warn(self, message: str) -> None:
        """Ignore it."""

    def count(self, forward: int = 0, backward: int = 0) -> None:
        """Ignore it."""


def fitted(graphs: GraphSet, explainer: Explainer, seed: int) -> GraphExplanation | None:
    """What an explainer learns of the GNN, or None."""
    step = getattr(explainer, "fit", None)
    if step is None:
        return None
    fit: Any = FAMILY.find(step)
    found: GraphExplanation = fit.explain(
        None, graphs, GraphTarget(), fit.Parameters(), BareRun(seed)
    )
    return found


def measured(
    data: str, graphs: GraphSet, name: str, model: int, seed: int, chosen: np.ndarray
) -> Row:
    """One explainer over the chosen items of one model."""
    explainer: Any = FAMILY.find(name)
    started = time.perf_counter()
    fit = fitted(graphs, explainer, seed)
    fit_seconds = time.perf_counter() - started
    found, started = [], time.perf_counter()
    for item in chosen.tolist():
        one: GraphExplanation = explainer.explain(
            None, graphs, items.target(graphs, item), explainer.Parameters(), BareRun(seed, fit)
        )
        found.append(auc(one.arrays["scores"], one.arrays["truth"]) or 0.0)
    each = (time.perf_counter() - started) / len(found)
    return data, name, model, seed, mean(found), min(found), fit_seconds, each


def tested(graphs: GraphSet) -> np.ndarray:
    """Test items with a known reason."""
    chosen = items.to_score(graphs, 100)
    known = items.with_reason(graphs)
    return chosen if known is None else chosen[known[chosen]]


def pairs(graphs: GraphSet, count: int) -> Iterator[float]:
    """Seconds of GNNExplainer over ours, graph by graph."""
    fit = fitted(graphs, FAMILY.find(OURS), 0)
    assert fit is not None
    scorer, settings = loaded(fit), gnn_explainer.Parameters()
    for item in tested(graphs)[:count].tolist():
        decision = Decision(graphs, items.target(graphs, item))
        run: Any = BareRun(0)
        started = time.perf_counter()
        [given] = edge_features.items(
            decision.classifier,
            [decision.part],
            [decision.label],
            with_priors=scorer.shows_prior,
        )
        scorer.masks(given)
        ours = time.perf_counter() - started
        started = time.perf_counter()
        gnn_explainer.learned(decision, settings, run)
        yield (time.perf_counter() - started) / ours


def motifs(models: int, seeds: int) -> tuple[list[Row], list[float]]:
    """BA-2Motifs, and the ratios of seconds."""
    rows: list[Row] = []
    ratios: list[float] = []
    for kind in KINDS:
        for model in range(models):
            recipe = Recipe(kind=kind, seed=model)
            graphs = trained(ba_2motifs.data(model), "ba_2motifs", recipe, BareRun(0))  # type: ignore[arg-type]
            accuracy: Any = graphs.origin["accuracy"]
            assert accuracy["test"] >= 0.97, (kind, model, accuracy)
            chosen = tested(graphs)
            for seed in range(seeds):
                rows.append(measured(kind, graphs, OURS, model, seed, chosen))
                _say(rows[-1])
            for name in OTHERS:
                some = chosen[:SOME] if name in SLOW else chosen
                rows.append(measured(kind, graphs, name, model, 0, some))
                _say(rows[-1])
            ratios += pairs(graphs, PAIRS)
    return rows, ratios


def others(seeds: int) -> list[Row]:
    """BA-Shapes and the molecules: one model of each kind."""
    rows: list[Row] = []
    for module in (ba_shapes, nitro_amine, benzene):
        name = module.__name__.rpartition(".")[2]
        for kind in KINDS:
            graphs = trained(module.data(0), name, Recipe(kind=kind), BareRun(0))  # type: ignore[arg-type]
            chosen = tested(graphs)[:SOME]
            for explainer in (OURS, *OTHERS):
                if explainer == "subgraphx" and name == "ba_shapes":
                    continue  # Its search takes minutes in neighbourhoods of hundreds of nodes.
                for seed in range(seeds if explainer == OURS else 1):
                    rows.append(measured(f"{name} {kind}", graphs, explainer, 0, seed, chosen))
                    _say(rows[-1])
    return rows


def figures(rows: list[Row], ratios: list[float]) -> dict[str, float]:
    """The numbers the claim is about."""
    found: dict[str, float] = {}
    ours = [row for row in rows if row[1] == OURS and row[0] in KINDS]
    for kind in KINDS:
        found[f"auc_{kind}"] = mean(row[4] for row in ours if row[0] == kind)
        of_kind = [
            mean(row[4] for row in rows if row[0] == kind and row[1] == name) for name in OTHERS
        ]
        found[f"best_other_auc_{kind}"] = max(of_kind)
    found["auc_worst"] = min(row[4] for row in ours)
    models = sorted({(row[0], row[2]) for row in ours})
    spreads = [float(np.std([r[4] for r in ours if (r[0], r[2]) == one])) for one in models]
    found["auc_sd"] = mean(spreads)
    found["gnn_explainer_over_ours"] = median(ratios)
    for data in dict.fromkeys(row[0] for row in rows if row[0] not in KINDS):
        for row in rows:
            if row[0] == data and row[1] == OURS and row[3] == 0:
                found[f"auc_{data.replace(' ', '_')}"] = row[4]
    return found


def table(rows: list[Row]) -> list[tuple[object, ...]]:
    """A line a data set and explainer: means over its models and seeds."""
    lines: list[tuple[object, ...]] = []
    for data, name in dict.fromkeys((row[0], row[1]) for row in rows):
        own = [row for row in rows if row[:2] == (data, name)]
        aucs = [row[4] for row in own]
        lines.append(
            (f"{data} {name}", len(own), mean(aucs), min(aucs), mean(r[6] for r in own),
             mean(r[7] for r in own))
        )  # fmt: skip
    return lines


def _say(row: Row) -> None:
    print("  ".join(f"{v:.3f}" if isinstance(v, float) else str(v) for v in row), flush=True)


def main() -> None:
    parser = arguments(str(__doc__).splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one model and one seed of each")
    given = parser.parse_args()
    models, seeds = (1, 1) if given.quick else (MODELS, SEEDS)
    with one_thread():
        rows, ratios = motifs(models, seeds)
        rows += others(1)
    report(
        ("data explainer", "runs", "mean AUC", "worst run", "fit s", "s each"),
        table(rows),
        figures(rows, ratios),
        as_json=given.json,
        libraries=("torch", "torch_geometric"),
    )


if __name__ == "__main__":
    main()
