"""Explainers of reinforcement-learning agents: causal graphs of what they experience and do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from backend.explainer import Family, Progress
from backend.explanation import ModelRef
from backend.policies.causal_xrl import CausalXRL
from backend.policies.causes_fidelity import CausesFidelity
from backend.policies.collect import Collect
from backend.policies.consensus import PolicyConsensus
from backend.policies.correlation_causes import CorrelationCauses
from backend.policies.explanation import Experience, PolicyExplanation, PolicyTarget
from backend.policies.learn_graph import LearnGraph
from backend.policies.models import unsupported
from backend.policies.play_episode import PlayEpisode
from backend.policies.policy_integrated_gradients import PolicyIntegratedGradients
from backend.policies.policy_saliency import PolicySaliency
from backend.policies.policy_shap import PolicyShap
from backend.policies.presets import PRESETS
from backend.policies.random_variables import RandomVariables
from backend.policies.read_agent import ReadAgent
from backend.policies.reward_decomposition import RewardDecomposition
from backend.policies.train_agent import TrainAgent
from backend.policies.tree_surrogate import TreeSurrogate
from backend.policies.variable_faithfulness import VariableFaithfulness


def _load(folder: Path, ref: ModelRef, device: str) -> Any:  # noqa: ARG001
    from backend.policies import models

    return models.load(folder)


def _convert(carrier: Path, folder: Path, progress: Progress) -> None:  # noqa: ARG001
    from backend.policies import models

    models.convert(carrier, folder)


FAMILY = Family(
    id="policies",
    title="Policies",
    summary="Why an agent acts as it does, what would have happened, and what it pursues.",
    explainers=(
        CausalXRL,
        PolicyShap,
        PolicyIntegratedGradients,
        PolicySaliency,
        TreeSurrogate,
        CorrelationCauses,
        RewardDecomposition,
        PolicyConsensus,
        RandomVariables,
    ),
    steps=(
        TrainAgent,
        ReadAgent,
        Collect,
        PlayEpisode,
        LearnGraph,
        VariableFaithfulness,
        CausesFidelity,
    ),
    presets=PRESETS,
    Input=Experience,
    Target=PolicyTarget,
    Explanation=PolicyExplanation,
    load=_load,
    convert=_convert,
    unsupported=unsupported,
    default=(CausalXRL.id, PolicyShap.id, TreeSurrogate.id, RandomVariables.id),
)
