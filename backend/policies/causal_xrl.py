"""CausalXRL: why an agent acts as it does, by a causal graph of what it experiences.

"Explainable Reinforcement Learning through Causal Graph Reasoning" (ICML 2026). Its text could not
be had: the method is rebuilt from its public description.

1. The causal graph between two moments is learned once (`learn_graph`).
2. Effect models are fitted along its edges, on bootstraps (`effects`).
3. Why: interventions on each state variable tell what moves the choice (`policy_causes`), the graph
   at this very state what the action does (`local_graph`), and its chain leads on to the reward.
4. Why not: both actions are followed in imagination (`imagined`), and states nearby are found in
   which the agent would have chosen otherwise (`counterfactual_states`).
5. What if: the true environment goes the same way, where it can be put into the state.
6. What the agent pursues: by region of the state space (`pursuits`).
7. All of it in words (`sentences`).
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from backend.bundle import Arrays
from backend.errors import InputError
from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.policies import sentences
from backend.policies.explained import about, explained, value_words
from backend.policies.explanation import Experience, PolicyExplanation, PolicyTarget
from backend.policies.learn_graph import BOOTSTRAPS, Bootstraps, LearnGraph
from backend.policies.learner_names import LEARNER, Learner
from backend.policies.moment import moment


class CausalXRLParameters(Frozen):
    """How the graph is learned, how far is looked, and how often is drawn."""

    learner: Learner = LEARNER
    bootstraps: Bootstraps = BOOTSTRAPS
    horizon: Annotated[int, Field(ge=1, le=100)] = Field(
        10, title="Steps ahead", description="How many steps the paths after an action have."
    )
    models: Annotated[int, Field(ge=2, le=100)] = Field(
        12, title="Effect models", description="Fitted on bootstraps; they make the intervals."
    )
    draws: Annotated[int, Field(ge=50, le=5000)] = Field(
        400, title="Draws", description="Values that are tried for each state variable."
    )
    counterfactuals: Annotated[int, Field(ge=1, le=200)] = Field(
        40,
        title="Other states",
        description="States in which the other action is taken.",
    )


class CausalXRL(Explainer):
    """Causal explanation of one choice, on the graph that `run.subject` holds.

    Arrays beside `scores` (which are `policy/effect`; S state variables, H steps, C states):
        graph/...: those of the structure.
        policy/effect, policy/low, policy/high: [S], nats.
        local/present [S + 1, S + 1] uint8, local/effect, local/low, local/high: see `LocalGraph`.
        rollout/action, rollout/instead: [H + 1, S + 1], the state, then the reward so far; each
            with /low and /high, a band that holds 95 % of paths whole.
        true/action, true/instead: the same of the true environment, where it can be set.
        contrast/difference, contrast/low, contrast/high: [H + 1, S + 1].
        counterfactuals/states [C, S], counterfactuals/changed [C, S] uint8,
            counterfactuals/importance [S].

    Values beside those of `explained`: sufficient (numbers of variables), sufficient_share,
    carriers, chain, pursuits, sentences (why, why_not, what_if, pursues), errors (of the effect
    models), horizon, stretches (that calibrated the band), learner, source_names, target_names.
    """

    id = "causal_xrl"
    title = "CausalXRL"
    family = "policies"
    reference = Reference(
        authors="CausalXRL (ICML 2026)",
        title="Explainable Reinforcement Learning through Causal Graph Reasoning",
        year=2026,
        link="https://github.com/yanmluk/causal-xrl",
    )
    reconstruction = True
    how_to_read = (
        "How far the agent's choice moves when a variable is drawn anew from the states it visits, "
        "the others held: a cause of the choice has a large value, in nats."
    )
    libraries = ("numpy", "scipy", "scikit-learn", "gymnasium")
    uses_seed = True
    fit = LearnGraph.id
    Parameters = CausalXRLParameters

    def explain(
        self, model: Any, input: Experience, target: PolicyTarget, parameters: Any, run: Run
    ) -> PolicyExplanation:
        """Explain the choice.

        Raises:
            InputError: there is no such moment, or the subject is no graph of this experience.
        """
        from backend.policies.acting import acting
        from backend.policies.chains import carriers, chain
        from backend.policies.counterfactual_states import counterfactual_states
        from backend.policies.effects import fit_models
        from backend.policies.imagined import band, contrast, imagine, true_path
        from backend.policies.local_graph import local_graph
        from backend.policies.policy_causes import causes
        from backend.policies.pursuits import pursuits
        from backend.policies.structure import Structure
        from backend.policies.transitions import prepare
        from backend.threads import one_thread

        at = moment(input, target)
        if not isinstance(run.subject, PolicyExplanation) or run.subject.values["kind"] != "graph":
            raise InputError("CausalXRL needs the causal graph of the experience.")
        structure = Structure.from_explanation(run.subject)
        with one_thread():
            transitions, generator = prepare(input, run.seed), run.numpy_generator()
            models = fit_models(transitions, structure, run.seed, parameters.models, run.progress)
            agent, notes = acting(input, run.seed)
            run.progress(0, 4, "moving each variable")
            found = causes(
                agent, at.state, at.action, transitions.states, generator, parameters.draws
            )
            run.progress(1, 4, "following both actions")
            local = local_graph(models, at.state, at.action, at.instead)
            widths, stretches = band(models, parameters.horizon, generator)
            ours = imagine(models, agent, at.state, at.action, widths)
            other = imagine(models, agent, at.state, at.instead, widths)
            difference = contrast(ours, other)
            run.progress(2, 4, "following both actions in the true environment")
            true = [
                true_path(input, agent, at.state, action, parameters.horizon)
                for action in (at.action, at.instead)
            ]
            run.progress(3, 4, "looking for states with the other action")
            others = counterfactual_states(
                agent, at.state, at.instead, transitions.states, transitions.variables, generator,
                parameters.counterfactuals,
            )  # fmt: skip
            regions = pursuits(agent, models, generator, run.progress)
        links, carried = chain(models, local), carriers(models, difference)
        names, units = input.names, [variable.unit for variable in input.variables]
        told = about(input, at)
        values = [value_words(told, i, float(value)) for i, value in enumerate(at.state)]
        chosen, rejected = (input.action_names[a] for a in (at.action, at.instead))
        arrays: Arrays = {
            **structure.to_arrays(),
            **_matrices("policy", effect=found.effect, low=found.low, high=found.high),
            **_matrices("local", effect=local.effect, low=local.low, high=local.high),
            "local/present": local.present.astype(np.uint8),
            "counterfactuals/changed": others.changed.astype(np.uint8),
            **_matrices("counterfactuals", states=others.states, importance=others.importance),
            **_matrices("contrast", difference=difference.expected, low=difference.low,
                        high=difference.high),
        }  # fmt: skip
        for name, path, real in zip(("action", "instead"), (ours, other), true, strict=True):
            arrays[f"rollout/{name}"] = path.expected.astype(np.float32)
            arrays |= _matrices(f"rollout/{name}", low=path.low, high=path.high)
            if real is not None:
                arrays[f"true/{name}"] = real.astype(np.float32)
        if not np.isfinite(widths).all():
            notes += ("There are too few held-out stretches to say how wide the band is.",)
        return explained(
            input,
            at,
            found.effect,
            unit="nats",
            arrays=arrays,
            values={
                **structure.to_values(),
                "sufficient": [int(i) for i in found.sufficient],
                "sufficient_share": found.share,
                "carriers": carried,
                "chain": links,
                "pursuits": regions,
                "errors": list(models.errors),
                "horizon": parameters.horizon,
                "stretches": stretches,
                "sentences": {
                    "why": sentences.why(
                        chosen, names, values, found.sufficient, found.share, links
                    ),
                    "why_not": sentences.why_not(
                        chosen, rejected, names, units, difference, carried, others.importance,
                        len(others.states),
                    ),
                    "what_if": sentences.what_if(chosen, rejected, names, other, true[1]),
                    "pursues": sentences.pursues(regions),
                },
            },
            notes=(*transitions.notes, *notes),
        )  # fmt: skip


def _matrices(prefix: str, **arrays: np.ndarray) -> Arrays:
    return {f"{prefix}/{name}": array.astype(np.float32) for name, array in arrays.items()}
