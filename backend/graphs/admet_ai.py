"""ADMET-AI: D-MPNNs that were trained to tell what a compound does in a body.

Swanson et al., "ADMET-AI: a machine learning ADMET platform for evaluation of large-scale chemical
libraries", Bioinformatics 40 (2024). Five networks of one architecture (an ensemble) answer 31 yes
or no questions at once; what is explained is one network's answer to one question. The package's
five networks of measured quantities make no decision and are not served. Read from the checkpoints
of the package admet-ai, of which nothing is run: neither it nor chemprop is imported.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import numpy as np

from backend.bundle import Arrays
from backend.graphs import chemprop_features, nitro_amine
from backend.graphs.architecture import Architecture
from backend.graphs.endpoints import ANSWERS, Endpoint
from backend.graphs.explanation import MEMBERS, GraphSet, Pretrained, prefixed

CHECKPOINT = "model_{}.pt"
NAMES = {
    "message_passing.W_i.weight": "convs.0.W_i.weight",
    "message_passing.W_h.weight": "convs.0.W_h.weight",
    "message_passing.W_o.weight": "convs.0.W_o.weight",
    "message_passing.W_o.bias": "convs.0.W_o.bias",
    "predictor.ffn.0.0.weight": "hidden.weight",
    "predictor.ffn.0.0.bias": "hidden.bias",
    "predictor.ffn.1.2.weight": "out.weight",
    "predictor.ffn.1.2.bias": "out.bias",
}
"""Chemprop's names of the weights, and those of `backend.graphs.gnn`."""
BUILT = {
    "message_passing": {"depth": 3, "undirected": False, "d_vd": 0, "bias": False},
    "agg": {"norm": 100},
    "predictor": {"n_layers": 1},
}
"""How the networks are built, where their weights do not tell."""
MUTAGENIC: Endpoint = "AMES"
"""The endpoint of which nitro groups and aromatic amines are known reasons (Kazius et al. 2005)."""


def read(carrier: Path) -> Arrays:
    """The weights of the five checkpoints beside the carrier `model_0.pt`: `<member>/<name>`.

    Raises:
        OSError: a checkpoint is missing.
        ValueError: one is no checkpoint of these networks.
    """
    return {
        f"{member}/{name}": weight
        for member in range(1, MEMBERS + 1)
        for name, weight in _weights(carrier.with_name(CHECKPOINT.format(member - 1))).items()
    }


def data(arrays: Arrays, asked: Pretrained) -> GraphSet:
    """Molecules of the NCI's open collection, and the network with the asked answer.

    True classes are not known. Nitro groups and aromatic amines are marked, as the known reason of
    class 1, where mutagenicity is asked for.
    """
    graphs = nitro_amine.data(0)
    kept = graphs.bare()
    del kept["labels"]
    if asked.endpoint != MUTAGENIC:
        del kept["edge_motifs"], kept["node_motifs"]
    kept |= chemprop_features.described(graphs.smiles)
    weights = _asked(arrays, asked)
    hidden, features = weights["convs.0.W_o.weight"].shape
    return GraphSet(
        arrays=kept | prefixed(weights),
        title=f"ADMET-AI: {asked.endpoint}",
        architecture=Architecture(
            kind="dmpnn",
            features=features - hidden,
            edge_features=weights["convs.0.W_i.weight"].shape[1] - (features - hidden),
            hidden=hidden,
            layers=BUILT["message_passing"]["depth"],
            pooling="sum",
            batch_norm=False,
        ),
        graph_names=graphs.graph_names,
        node_names=graphs.node_names,
        feature_names=chemprop_features.atom_names(),
        edge_feature_names=chemprop_features.bond_names(),
        class_names=ANSWERS[asked.endpoint],
        molecules=True,
        smiles=graphs.smiles,
    )


def _asked(arrays: Arrays, asked: Pretrained) -> Arrays:
    """One member's weights, with two classes: half its logit for "yes", as much against "no".

    So the probability is the network's, and a gradient of either class says as much.
    """
    first = f"{asked.member}/"
    found = {
        name.removeprefix(first): weight
        for name, weight in arrays.items()
        if name.startswith(first)
    }
    row = get_args(Endpoint).index(asked.endpoint)
    for name in ("out.weight", "out.bias"):
        yes = found[name][row]
        found[name] = np.stack([-yes / 2, yes / 2])
    return found


class _Inert:
    """Stands for every class that a checkpoint names but containers and tensors; does nothing."""

    def __new__(cls, *_: Any, **__: Any) -> _Inert:
        return object.__new__(cls)

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __setstate__(self, _: Any) -> None:
        pass


def _stand_in(name: str) -> type:
    return dict if name.endswith(".AttributeDict") else _Inert


def _weights(file: Path) -> Arrays:
    """The weights of one checkpoint by `backend.graphs.gnn`'s names.

    torch's reader of weights makes tensors and containers alone; whatever else a checkpoint names
    is an `_Inert` here, so that nothing of it is imported or run.
    """
    import torch

    try:
        named = torch.serialization.get_unsafe_globals_in_checkpoint(file)
        known: list[Any] = [(_stand_in(name), name) for name in named]
        with torch.serialization.safe_globals(known):
            found = torch.load(file, map_location="cpu", weights_only=True)  # noqa: TID251
        settings, state = found["hyper_parameters"], found["state_dict"]
        questions = tuple(found["output_columns"])
        built = {part: {k: settings[part][k] for k in own} for part, own in BUILT.items()}
        weights = {ours: state[theirs].float().numpy() for theirs, ours in NAMES.items()}
    except OSError:
        raise
    except Exception as error:  # whatever a broken file makes torch raise
        raise ValueError(f"{file.name} is no checkpoint of chemprop 2") from error
    if built != BUILT or questions != get_args(Endpoint):
        raise ValueError(f"{file.name} is not one of ADMET-AI 2's classifying networks")
    # Chemprop divides the sum over atoms by a constant.
    weights["hidden.weight"] /= BUILT["agg"]["norm"]
    return weights
