"""A decision tree in place of the agent, after VIPER (Bastani, Pu & Solar-Lezama, NeurIPS 2018).

1. States of the experience are labelled with the agent's choice; each weighs as much as the best
   action is worth above the worst there.
2. A tree of limited depth is fitted.
3. Where the environment is known the tree itself plays, the agent labels the states it gets into,
   they are added, and it is fitted again.
4. It explains a choice by its path, and each variable by its share in it (tree SHAP).
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.policies.explained import explained
from backend.policies.explanation import Experience, PolicyExplanation, PolicyTarget
from backend.policies.moment import moment


class TreeSurrogateParameters(Frozen):
    """How large the tree is, and how often it plays."""

    depth: Annotated[int, Field(ge=1, le=12)] = Field(
        4, title="Depth", description="Decisions between the root and a leaf, at most."
    )
    rounds: Annotated[int, Field(ge=0, le=20)] = Field(
        3,
        title="Rounds",
        description="How often the tree plays and is corrected, where the environment is known.",
    )


class TreeSurrogate(Explainer):
    """A decision tree's reasons for the agent's choice.

    Values beside those of `explained`: fidelity (share of held-out states in which the tree chooses
    as the agent), tree_return and agent_return (means over five episodes; None where no environment
    is known), leaves, rule (the path to this choice, in words), says (the tree's action here).
    """

    id = "tree_surrogate"
    title = "Decision tree (VIPER)"
    family = "policies"
    reference = Reference(
        authors="Bastani, Pu, Solar-Lezama",
        title="Verifiable Reinforcement Learning via Policy Extraction",
        year=2018,
        link="https://arxiv.org/abs/1805.08328",
    )
    how_to_read = (
        "Each variable's share in what the tree says of the action here, against its mean. "
        "Positive: it speaks for the action. The tree is not the agent: its fidelity says how "
        "often they agree."
    )
    libraries = ("scikit-learn", "shap", "numpy", "gymnasium")
    uses_seed = True
    Parameters = TreeSurrogateParameters

    def explain(
        self, model: Any, input: Experience, target: PolicyTarget, parameters: Any, run: Run
    ) -> PolicyExplanation:
        """Fit the tree and read it.

        Raises:
            InputError: there is no such moment.
        """
        from backend.policies.surrogate import fit_tree
        from backend.threads import one_thread

        at = moment(input, target)
        with one_thread():
            found = fit_tree(input, parameters.depth, parameters.rounds, run)
        scores = found.shares(at.state, at.action)
        says = int(found.act(at.state[None])[0])
        rule = found.rule(at.state)
        chosen, notes = input.action_names[says], found.notes
        if says != at.action:
            notes += (f"The tree chooses “{chosen}” here.",)
        agreement = f"It agrees with the agent in {found.fidelity:.1%} of held-out states."
        return explained(
            input,
            at,
            scores,
            unit="probability",
            values={
                "fidelity": found.fidelity,
                "tree_return": found.tree_return,
                "agent_return": found.agent_return,
                "leaves": int(found.tree.get_n_leaves()),
                "rule": rule,
                "says": says,
                "sentences": {"why": [f"The tree chooses “{chosen}” where {rule}.", agreement]},
            },
            notes=notes,
        )
