"""MSExplainer, rebuilt from its abstract: the parts that decide, at several scales at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from backend.explainer import Explainer, Run
from backend.explanation import Explanation
from backend.graphs.explanation import GraphExplanation, GraphSet, GraphTarget
from backend.graphs.fit_ms_explainer import REFERENCE, FitParameters, fit, report
from backend.graphs.hierarchy import connected_order, hierarchy, scales

if TYPE_CHECKING:
    from backend.graphs.explained import Decision
    from backend.graphs.ms_fit import Fitted


class ExplainParameters(FitParameters):
    """How the scorer is learned, and how parts are cut by it."""

    connected: bool = Field(
        False, title="Connected parts", description="Grow each part from its best edge."
    )
    refine: bool = Field(
        False, title="Refine", description="Adapt the scores to this one graph. Slower."
    )
    refine_steps: Annotated[int, Field(ge=1, le=1000)] = Field(
        50, title="Steps of refinement", description="Steps of Adam."
    )


class MSExplainer(Explainer):
    """Scores of edges, and nested key parts with their complements at each scale.

    Arrays beside those of every explanation: masks [K, e] float32; key [K, e] uint8, nested.
    Values: scales and hierarchy, see `backend.graphs.hierarchy`; adaptive: the number of edges of
    the smallest first share of the ranking that keeps the class above 90 % of its probability, or
    None; guard, see `backend.graphs.fit_ms_explainer`.
    """

    id = "ms_explainer"
    title = "MSExplainer"
    family = "graphs"
    reference = REFERENCE
    reconstruction = True
    how_to_read = (
        "Each scale has a key part, nested in the next larger one. Kept: the probability with the "
        "key part's edges alone. Lost with it: the probability without them."
    )
    libraries = ("torch", "torch_geometric")
    uses_seed = True
    Parameters = ExplainParameters
    fit = "fit_ms_explainer"

    def explain(
        self,
        model: Any,
        input: GraphSet,
        target: GraphTarget,
        parameters: ExplainParameters,
        run: Run,
    ) -> GraphExplanation:
        """Explain by the fit that is the subject, or by one made here of the input's own items.

        Raises:
            InputError: no such graph, node or class, no GNN, or nothing to learn from.
        """
        from backend.graphs import edge_features
        from backend.graphs.explained import Decision, explained
        from backend.graphs.refine import refined

        decision = Decision(input, target, run.device)
        if run.subject is None:
            fitted, guard = fit(decision.classifier, input, parameters, run)
            guard = {**guard, "report": list(report(guard, input))}
        else:
            fitted, guard = loaded(run.subject), run.subject.values["guard"]
        part, budgets = decision.part, fitted.budgets
        if not len(part):
            masks, scores = np.zeros((len(budgets), 0), np.float32), np.zeros(0, np.float32)
        else:
            (item,) = edge_features.items(
                decision.classifier, [part], [decision.label], with_priors=fitted.shows_prior
            )
            offset = None
            if parameters.refine:
                offset = refined(decision.classifier, fitted, item, parameters.refine_steps, run)
            masks = fitted.masks(item, offset)
            scores = masks.mean(axis=0)
        key, values = _parts(decision, scores, budgets, parameters.connected)
        return explained(
            decision,
            scores,
            unit="mean mask",
            arrays={"masks": masks, "key": key.astype(np.uint8)},
            values={**values, "guard": guard},
        )


def _parts(
    decision: Decision, scores: np.ndarray, budgets: tuple[float, ...], connected: bool
) -> tuple[np.ndarray, dict[str, Any]]:
    from backend.graphs.classifier import probabilities
    from backend.graphs.ms_fit import keys

    part, e = decision.part, len(scores)
    order = connected_order(scores, part.edges) if connected else np.argsort(-scores, kind="stable")
    key = keys(scores, budgets, order)
    place = np.empty(e, dtype=np.int64)
    place[order] = np.arange(e)
    sizes = np.unique(np.linspace(0, e, min(e, 100) + 1).astype(np.int64))
    first = place[None] < sizes[:, None]
    logits = decision.classifier.cut(part, np.concatenate([key, ~key, first]))
    p = probabilities(logits)[:, decision.label]
    kept, lost, prefix = p[: len(key)], p[len(key) : 2 * len(key)], p[2 * len(key) :]
    enough = np.flatnonzero(prefix >= 0.9 * decision.probability)
    found = scales(budgets, key, kept, lost, decision.probability, float(prefix[0]))
    adaptive = int(sizes[enough[0]]) if len(enough) else None
    return key, {"scales": found, "hierarchy": hierarchy(key, found), "adaptive": adaptive}


def loaded(subject: Explanation) -> Fitted:
    """The scorer a fit holds."""
    import torch

    from backend.graphs.ms_fit import Fitted
    from backend.graphs.ms_scorer import Scorer

    arrays, budgets = subject.arrays, tuple(subject.values["budgets"])
    scorer = Scorer(len(arrays["mean"]), len(budgets))
    scorer.load_state_dict(
        {
            name.removeprefix("scorer/"): torch.from_numpy(np.array(a))
            for name, a in arrays.items()
            if name.startswith("scorer/")
        }
    )
    prior, use = subject.values["prior"], subject.values["use"]
    return Fitted(scorer, arrays["mean"], arrays["deviation"], budgets, prior, use)
