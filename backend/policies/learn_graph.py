"""The preparation of CausalXRL: learn the causal graph of an experience once, for every moment."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.policies.equations import UNKNOWN, known_edges
from backend.policies.explanation import Experience, PolicyExplanation, PolicyTarget
from backend.policies.learner_names import LEARNER, Learner
from backend.policies.structure_metrics import scores

Bootstraps = Annotated[
    int,
    Field(
        ge=2,
        le=100,
        title="Bootstraps",
        description="How often the graph is learned anew from episodes drawn with replacement: an "
        "edge that is in fewer than nine in ten is drawn dashed.",
    ),
]
BOOTSTRAPS: Bootstraps = 10


class LearnGraphParameters(Frozen):
    """How the graph is learned."""

    learner: Learner = LEARNER
    bootstraps: Bootstraps = BOOTSTRAPS


class LearnGraph(Explainer):
    """Learns which state variables and actions move which next state variables and the reward.

    Result: kind "graph". Arrays: those of `Structure.to_arrays`, and truth [S + 1, S + 1] uint8
    where equations are known: 1 an edge, 0 none, 255 unknown.

    Values: those of `Structure.to_values`; transitions, how many; still and flat, the names of
    sources and targets that never move; structure_scores (precision, recall, f1, shd against the
    equations) or None.
    """

    id = "learn_graph"
    title = "Learn the causal graph"
    family = "policies"
    role = "preparation"
    reference = Reference(
        authors="Lei, G'Sell, Rinaldo, Tibshirani, Wasserman",
        title="Distribution-Free Predictive Inference for Regression",
        year=2018,
        link="https://arxiv.org/abs/1604.04173",
    )
    how_to_read = (
        "An edge says that predictions of the variable after the step get worse without the one "
        "before it. Time gives the direction."
    )
    libraries = ("numpy", "scipy", "scikit-learn", "torch", "stochtree", "causal-learn")
    uses_seed = True
    Parameters = LearnGraphParameters

    def explain(
        self, model: Any, input: Experience, target: PolicyTarget, parameters: Any, run: Run
    ) -> PolicyExplanation:
        """Learn it.

        Raises:
            InputError: there are too few transitions.
        """
        from backend.policies.learning import learn
        from backend.policies.transitions import prepare
        from backend.threads import one_thread

        transitions = prepare(input, run.seed)
        with one_thread():
            found = learn(
                transitions, parameters.learner, parameters.bootstraps, run.seed, run.progress
            )
        arrays, truth = found.to_arrays(), known_edges(input.environment)
        judged = None
        if truth is not None:
            truth = np.where(found.tested, truth, UNKNOWN).astype(np.uint8)
            arrays["truth"] = truth
            judged = scores(found.present, truth)
        return PolicyExplanation(
            arrays=arrays,
            values={
                "kind": "graph",
                "environment": input.environment,
                "variable_names": list(input.names),
                "action_names": list(input.action_names),
                **found.to_values(),
                "transitions": len(transitions),
                "still": [transitions.source_names[i] for i in np.flatnonzero(transitions.still)],
                "flat": [transitions.target_names[j] for j in np.flatnonzero(transitions.flat)],
                "structure_scores": judged,
            },
            notes=transitions.notes,
        )
