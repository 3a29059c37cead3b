"""Explainers of graph neural networks: which part of a graph decides, at several scales."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from backend.explainer import Family, Preset, Progress
from backend.explanation import ModelRef
from backend.graphs.consensus import GraphConsensus
from backend.graphs.edge_occlusion import EdgeOcclusion
from backend.graphs.examples import OWN
from backend.graphs.explanation import GraphExplanation, GraphSet, GraphTarget
from backend.graphs.fit_ms_explainer import FitMSExplainer
from backend.graphs.fit_pg_explainer import FitPGExplainer
from backend.graphs.gat_attention import GatAttention
from backend.graphs.gnn_explainer import GnnExplainer
from backend.graphs.graph_faithfulness import GraphFaithfulness
from backend.graphs.graph_suite import GraphSuite
from backend.graphs.integrated_gradients_edges import IntegratedGradientsEdges
from backend.graphs.models import unsupported
from backend.graphs.ms_explainer import MSExplainer
from backend.graphs.pg_explainer import PGExplainer
from backend.graphs.random_edges import RandomEdges
from backend.graphs.saliency import Saliency
from backend.graphs.subgraphx import SubgraphX
from backend.graphs.train_gnn import TrainGnn


def _load(folder: Path, ref: ModelRef, device: str) -> Any:
    from backend.graphs import models

    return models.load(folder, ref, device)


def _convert(carrier: Path, folder: Path, progress: Progress) -> None:  # noqa: ARG001
    from backend.graphs import models

    models.convert(carrier, folder)


def _made_here(id: str, title: str, note: str) -> Preset:
    """A data set whose carrier is the module that makes it."""
    return Preset(
        id=id,
        title=f"{title} (trained here)",
        package="backend",
        file=f"graphs/{id.replace('-', '_')}.py",
        distribution="vitrine",
        licence="Apache-2.0",
        note=note,
    )


FAMILY = Family(
    id="graphs",
    title="Graphs",
    summary="Which part of a graph a graph neural network decides by, at several scales at once.",
    explainers=(
        MSExplainer,
        GnnExplainer,
        PGExplainer,
        Saliency,
        IntegratedGradientsEdges,
        EdgeOcclusion,
        SubgraphX,
        GatAttention,
        GraphConsensus,
        RandomEdges,
    ),
    steps=(TrainGnn, FitMSExplainer, FitPGExplainer, GraphFaithfulness, GraphSuite),
    presets=(
        _made_here("ba-2motifs", "BA-2Motifs", "A house or a five-cycle on a random tree."),
        _made_here("multi-shapes", "Multi-shapes", "Classes by combinations of three shapes."),
        _made_here("ba-shapes", "BA-Shapes", "Nodes: which part of a house, or none."),
        _made_here("tree-cycles", "Tree-Cycles", "Nodes: in a six-cycle, or in the tree."),
        _made_here("nitro-amine", "Nitro and amine groups", "Molecules; the groups are known."),
        _made_here("benzene", "Benzene rings", "Molecules; the rings are known."),
        Preset(
            id="mutag",
            title="MUTAG (trained here)",
            package="grakel",
            file="tests/data/MUTAG/MUTAG_A.txt",
            distribution="grakel==0.1.11",
            licence="BSD-3-Clause; data by Debnath et al. 1991",
            note="188 aromatic and heteroaromatic nitro compounds: mutagenic or not.",
        ),
        Preset(
            id="admet-ai",
            title="ADMET-AI (trained D-MPNNs)",
            package="admet_ai",
            file="resources/models/admet_classification/model_0.pt",
            distribution="admet-ai==2.0.1",
            licence="MIT",
            note="Trained to answer 31 questions about a compound, from mutagenicity to hERG "
            "blocking. An optional extra: `pip install --no-deps admet-ai==2.0.1`",
        ),
        Preset(
            id=OWN,
            title="A GNN of your own",
            package="backend",
            file="graphs/explanation.py",
            distribution="vitrine",
            licence="",
        ),
    ),
    Input=GraphSet,
    Target=GraphTarget,
    Explanation=GraphExplanation,
    load=_load,
    convert=_convert,
    unsupported=unsupported,
    default=(MSExplainer.id, GnnExplainer.id, PGExplainer.id, Saliency.id),
)
