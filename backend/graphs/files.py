"""The files a graph explanation is taken away as; the page and the command line write the same.

A set that comes with Vitrine is named by its example and recipe; graphs and weights of one's own go
along as files that the readers of uploads take back.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any

import numpy as np
import safetensors.numpy
from pydantic import JsonValue, TypeAdapter

from backend import card as cards
from backend import files
from backend.explanation import Comparison, Request
from backend.files import arrays, values
from backend.graphs import card_tables
from backend.graphs.explanation import (
    GraphExplanation,
    GraphSet,
    GraphTarget,
    Pretrained,
    Recipe,
)
from backend.graphs.naming import node_names

__all__ = [
    "GRAPHS_FILE", "MOLECULES_FILE", "WEIGHTS_FILE", "arrays", "card", "command",
    "graphs_jsonl", "molecules", "numbers", "study_command", "values", "weights",
]  # fmt: skip

GRAPHS_FILE = "graphs.jsonl"
MOLECULES_FILE = "molecules.smi"
WEIGHTS_FILE = "weights.safetensors"
_RECIPE: TypeAdapter[Recipe | Pretrained] = TypeAdapter(Recipe | Pretrained)
_ALT = "The graph with each edge's score as its colour and width"

Rows = Iterator[list[object]]


def numbers(explanation: GraphExplanation) -> bytes:
    """CSV: a row an edge; of a score, a row a metric.

    `scale` is the smallest scale (from 1) whose key part holds the edge, empty where none does or
    the method has no scales. A name that a spreadsheet would run as a formula gets an apostrophe.

    Raises:
        ValueError: it is of another kind, e.g. a set.
    """
    kind = explanation.values.get("kind")
    if kind == "edges":
        header = ("edge", "from", "to", "score", "rank", "share", "scale", "known_reason")
        return files.table(header, _edges(explanation))
    if kind == "score":
        return files.table(("metric", "value"), _score(explanation))
    raise ValueError(f"no numbers are written of an explanation of kind {kind!r}")


def card(explanation: GraphExplanation, graphs: GraphSet, picture: bytes) -> bytes:
    """The explanation card as HTML; `picture` is the figure as SVG."""
    line = command(explanation.source().request, graphs)
    attached = [name for name in (GRAPHS_FILE, MOLECULES_FILE, WEIGHTS_FILE) if name in line]
    text = cards.card(
        explanation,
        picture=picture,
        alt=_ALT,
        tables=card_tables.tables(explanation),
        command="".join(f"# {name} is a file of its own beside this card.\n" for name in attached)
        + line,
        prompt=_about(graphs),
    )
    return text.encode("utf-8")


def command(request: Request, graphs: GraphSet, out: str = "out") -> str:
    """The command line that makes this request again, quoted for a shell."""
    target = GraphTarget.model_validate(request.target)
    words = ["python", "-m", "backend", "explain", "graphs", *files.explainer_words(request)]
    words += _source_words(graphs)
    for flag, value in (
        ("--graph", target.graph), ("--node", target.node), ("--label", target.label)
    ):  # fmt: skip
        if value is not None:
            words += [flag, str(value)]
    words += files.parameter_words(request)
    words += ["--seed", str(request.seed), "--out", out]
    return shlex.join(words)


def study_command(comparison: Comparison, graphs: GraphSet, inputs: int, seeds: int) -> str:
    """The command line of a study of the set's first items."""
    words = ["python", "-m", "backend", "study", "graphs", *_source_words(graphs)]
    return shlex.join([*words, *files.study_words(comparison, inputs, seeds)])


def beside(graphs: GraphSet) -> dict[str, bytes]:
    """The files that the command of graphs of one's own needs, by name."""
    if _example(graphs):
        return {}
    written = molecules if graphs.smiles else graphs_jsonl
    found = {_graphs_file(graphs): written(graphs)}
    if not _adopted(graphs) and graphs.architecture is not None:
        found[WEIGHTS_FILE] = weights(graphs)
    return found


def graphs_jsonl(graphs: GraphSet) -> bytes:
    """A node-link graph a line, with features and edge attributes by name."""
    return b"".join(
        (json.dumps(_node_link(graphs, number), ensure_ascii=False) + "\n").encode("utf-8")
        for number in range(len(graphs))
    )


def molecules(graphs: GraphSet) -> bytes:
    """A SMILES a line, with the molecule's name where it has another."""
    pairs = zip(graphs.smiles, graphs.graph_names, strict=True)
    lines = (smiles if name == smiles else f"{smiles} {name}" for smiles, name in pairs)
    return "".join(f"{line}\n" for line in lines).encode("utf-8")


def weights(graphs: GraphSet) -> bytes:
    """The GNN's state dict as safetensors."""
    return safetensors.numpy.save(graphs.weights())


def _source_words(graphs: GraphSet) -> list[str]:
    trained = graphs.origin if _example(graphs) else _adopted(graphs)
    if not trained:
        words = ["--input", _graphs_file(graphs)]
        if graphs.architecture is not None:
            words += ["--weights", WEIGHTS_FILE, *_architecture_words(graphs)]
        return words
    recipe = _RECIPE.validate_python(trained.get("recipe") or {})
    source = [] if _example(graphs) else ["--input", _graphs_file(graphs)]
    words = [*source, "--example", str(trained["example"])]
    if isinstance(recipe, Pretrained):
        return [*words, "--endpoint", recipe.endpoint, "--member", str(recipe.member)]
    words += ["--architecture", recipe.kind]
    for flag, value in (
        ("--hidden", recipe.hidden), ("--layers", recipe.layers), ("--epochs", recipe.epochs)
    ):  # fmt: skip
        if value is not None:
            words += [flag, str(value)]
    if recipe.labels != "true":
        words += ["--labels", recipe.labels]
    return [*words, "--train-seed", str(recipe.seed)]


def _graphs_file(graphs: GraphSet) -> str:
    return MOLECULES_FILE if graphs.smiles else GRAPHS_FILE


def _architecture_words(graphs: GraphSet) -> list[str]:
    assert graphs.architecture is not None  # noqa: S101  the caller looked
    a = graphs.architecture
    words = ["--architecture", a.kind, "--task", a.task, "--hidden", str(a.hidden)]
    words += ["--layers", str(a.layers), "--classes", str(a.classes), "--heads", str(a.heads)]
    words += ["--pooling", a.pooling]
    return words if a.batch_norm else [*words, "--no-batch-norm"]


def _example(graphs: GraphSet) -> bool:
    return isinstance(graphs.origin.get("example"), str)


def _adopted(graphs: GraphSet) -> dict[str, Any]:
    """How the GNN was trained that reads graphs brought to it; {} where it is one's own."""
    found = graphs.origin.get("model")
    return found if isinstance(found, dict) else {}


def _about(graphs: GraphSet) -> JsonValue:
    """The input in a few words, for programs that read the card."""
    return {
        "title": graphs.title,
        "digest": graphs.digest(),
        "graphs": len(graphs),
        "task": graphs.task,
        "directed": graphs.directed,
        "architecture": None
        if graphs.architecture is None
        else graphs.architecture.model_dump(mode="json"),
        "classes": list(graphs.class_names),
        "origin": graphs.origin,
    }


def _node_link(graphs: GraphSet, number: int) -> dict[str, Any]:
    one = graphs.graph(number)
    names = one.node_names if one.node_names and len(set(one.node_names)) == len(one.x) else None
    ids: list[Any] = list(names) if names else list(range(len(one.x)))
    features = graphs.feature_names or tuple(f"x{i}" for i in range(one.x.shape[1]))
    nodes = [
        {"id": ids[v], **{name: float(value) for name, value in zip(features, row, strict=True)}}
        for v, row in enumerate(one.x)
    ]
    edges = [{"source": ids[u], "target": ids[v]} for u, v in one.edges.tolist()]
    for name, column in zip(
        graphs.edge_feature_names, one.arrays.get("edge_attr", np.zeros((0, 0))).T, strict=False
    ):
        for edge, value in zip(edges, column, strict=True):
            edge[name] = float(value)
    graph: dict[str, Any] = {}
    if graphs.task == "graph" and "labels" in graphs.arrays:
        graph["label"] = int(graphs.arrays["labels"][number])
    if number < len(graphs.graph_names):
        graph["name"] = graphs.graph_names[number]
    return {
        "directed": graphs.directed,
        "multigraph": True,
        "graph": graph,
        "nodes": nodes,
        "edges": edges,
    }


def _edges(found: GraphExplanation) -> Rows:
    scores = found.arrays["scores"].astype(np.float64)
    total = float(np.abs(scores).sum())
    ranks = np.empty(len(scores), dtype=np.int64)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    names = node_names(found)
    key, truth = found.arrays.get("key"), found.arrays.get("truth")
    for i, (u, v) in enumerate(found.arrays["edges"].tolist()):
        scale: object = ""
        if key is not None and key[:, i].any():
            scale = int(key[:, i].argmax()) + 1
        yield [
            int(found.arrays["edge_ids"][i]),
            files.cell(names[u]),
            files.cell(names[v]),
            files.number(float(scores[i])),
            int(ranks[i]),
            files.number(abs(scores[i]) / total if total > 0 else np.nan),
            scale,
            "" if truth is None else int(truth[i]),
        ]


def _score(found: GraphExplanation) -> Rows:
    for name, value in found.values["metrics"].items():
        yield [name, "" if value is None else files.number(value)]
