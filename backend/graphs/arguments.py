"""The command line of the Graphs family: which graphs, whose network, what of them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from backend.errors import InputError, shown
from backend.examples import flagged
from backend.explanation import ModelRef
from backend.files import contents
from backend.graphs import inputs, own_weights
from backend.graphs.architecture import Architecture, Convolution, Labels, Pooling
from backend.graphs.endpoints import Endpoint
from backend.graphs.examples import OWN, example
from backend.graphs.explanation import MEMBERS, GraphSet, GraphTarget, Pretrained, Recipe
from backend.settings import Settings

OF_WEIGHTS = {
    "heads": "--heads",
    "pooling": "--pooling",
    "classes": "--classes",
    "task": "--task",
    "no_batch_norm": "--no-batch-norm",
}
OF_TRAINING = {"epochs": "--epochs", "train_seed": "--train-seed", "labels": "--labels"}
OF_NETWORK = {"architecture": "--architecture", "hidden": "--hidden", "layers": "--layers"}
OF_TRAINED = {"endpoint": "--endpoint", "member": "--member"}


def add(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """Add the family's own flags; returns the group of those that bring graphs.

    `--example` is not of that group: with graphs of one's own it names whose network reads them.
    """
    parser.add_argument(
        "--example", metavar="NAME", help="a bundled data set, or whose network reads your graphs"
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--input", metavar="FILE", type=Path, help=f"graphs: {', '.join(inputs.ENDINGS)}"
    )
    source.add_argument("--smiles", metavar="SMILES", help="a molecule")
    parser.add_argument("--nodes", metavar="FILE", type=Path, help="nodes of a table of edges")
    parser.add_argument(
        "--directed",
        action=argparse.BooleanOptionalAction,
        help="whether the edges of a table have a direction",
    )
    parser.add_argument(
        "--weights", metavar="FILE", type=Path, help="your network's weights, .safetensors"
    )
    parser.add_argument(
        "--architecture", choices=get_args(Convolution), help="which graph convolution"
    )
    for flag, what in (
        ("--hidden", "size of a node's state"),
        ("--layers", "graph convolutions"),
        ("--classes", "classes of your network"),
        ("--heads", "attention heads of your network"),
        ("--epochs", "passes over an example's training items"),
        ("--train-seed", "seed of an example's data and training"),
    ):
        parser.add_argument(flag, metavar="N", type=int, help=what)
    parser.add_argument(
        "--labels",
        choices=get_args(Labels),
        help="what an example's network is trained on (default: true); shuffled is a control",
    )
    parser.add_argument(
        "--endpoint", choices=get_args(Endpoint), metavar="NAME", help="what admet_ai is asked"
    )
    parser.add_argument(
        "--member", metavar="N", type=int, help=f"which of its networks answers, 1 to {MEMBERS}"
    )
    parser.add_argument("--pooling", choices=get_args(Pooling), help="readout of your network")
    parser.add_argument(
        "--task", choices=("graph", "node"), help="what your network classifies (default: graph)"
    )
    parser.add_argument(
        "--no-batch-norm", action="store_true", help="your network has no batch norm"
    )
    parser.add_argument("--graph", metavar="N", type=int, help="explain this graph, from 0")
    parser.add_argument("--node", metavar="N", help="explain this node: its number, or its name")
    parser.add_argument("--label", metavar="N", type=int, help="explain this class, from 0")
    return source


def graph_set(given: argparse.Namespace, settings: Settings) -> GraphSet | None:
    """The graphs of `--input` or `--smiles`, with the network of `--weights` where it is given.

    None for an example alone. Where `--example` comes with graphs, they hold no network yet: they
    are for `adopt.adopted` with the trained set.

    Raises:
        InputError: a file cannot be read, or flags do not go together.
    """
    brought = given.input is not None or given.smiles is not None
    if not brought and given.example is None:
        raise InputError("There is no graph.", "", "Give --example, --input or --smiles.")
    if given.weights is None:
        _none_of(given, OF_WEIGHTS, "is about your own network", "Give --weights.")
    else:
        theirs = OF_TRAINING | OF_TRAINED
        _none_of(given, theirs, "is about an example", "Leave it or --weights out.")
    if not brought:
        alone = {"nodes": "--nodes", "weights": "--weights", "directed": "--directed"}
        _none_of(given, alone, "is about graphs of your own", "Give --input.")
        return None
    if (given.example is None) == (given.weights is None):
        raise InputError(
            "Graphs of your own need one network.",
            "--input",
            "Give --example for a bundled one, or --weights for yours.",
        )
    found = _graphs(given, settings)
    if given.weights is None:
        return found
    architecture = _architecture(given, found)
    data = contents(given.weights, settings.max_graph_mb)
    weights = own_weights.read(given.weights.name, data, architecture, settings)
    return own_weights.attached(found, architecture, weights)


def model(given: argparse.Namespace) -> ModelRef:
    """The bundled data set of `--example`, or the entry that stands for a network of one's own.

    Raises:
        InputError: there is no such example.
    """
    return ModelRef(name=OWN if given.example is None else flagged(example, given.example).model)


def target(given: argparse.Namespace, graphs: GraphSet | None = None) -> GraphTarget:
    """What is explained, and for an example how its network is trained.

    Args:
        graphs: where a node's name is looked up.

    Raises:
        InputError: a flag's value is out of bounds, or there is no node of that name.
    """
    changes: dict[str, Any] = {"graph": given.graph, "label": given.label}
    if given.node is not None:
        changes["node"] = _node(given.node, given.graph or 0, graphs)
    try:
        if given.example is not None:
            changes["recipe"] = _recipe(given)
        return GraphTarget.model_validate(changes)
    except ValidationError as error:
        raise _bounds(error) from error


def _recipe(given: argparse.Namespace) -> Recipe | Pretrained:
    """The example's recipe with what the flags say."""
    recipe = flagged(example, given.example).recipe
    asked: dict[str, Any]
    if isinstance(recipe, Pretrained):
        flags = OF_TRAINING | OF_NETWORK
        _none_of(given, flags, "is about training", f"{given.example} comes trained: leave it out.")
        asked = {"endpoint": given.endpoint, "member": given.member}
    else:
        _none_of(given, OF_TRAINED, "is about a network that came trained", "Leave it out.")
        asked = {
            "kind": given.architecture,
            "hidden": given.hidden,
            "layers": given.layers,
            "epochs": given.epochs,
            "seed": given.train_seed,
            "labels": given.labels,
        }
    said = {k: v for k, v in asked.items() if v is not None}
    return type(recipe).model_validate(recipe.model_dump() | said)


def check(found: GraphSet, asked: GraphTarget) -> None:
    """Check that the explained graph, node and class are there.

    Raises:
        InputError: one is not.
    """
    counts = found.arrays["node_counts"]
    if asked.graph is not None and asked.graph >= len(found):
        raise InputError(
            f"There is no {asked.graph}.", "--graph", f"Choose from 0 to {len(found) - 1}."
        )
    nodes = int(counts[asked.graph or 0])
    classes = found.architecture.classes if found.architecture else len(found.class_names)
    for value, size, flag in ((asked.node, nodes, "--node"), (asked.label, classes, "--label")):
        if value is not None and value >= size:
            raise InputError(f"There is no {value}.", flag, f"Choose from 0 to {size - 1}.")


def _graphs(given: argparse.Namespace, settings: Settings) -> GraphSet:
    if given.smiles is not None:
        _none_of(given, {"nodes": "--nodes"}, "goes with a table of edges", "Give --input.")
        return inputs.read("molecule.smi", given.smiles.encode("utf-8", "replace"), settings)
    most = settings.max_graph_mb
    nodes = None if given.nodes is None else (given.nodes.name, contents(given.nodes, most))
    data = contents(given.input, most)
    return inputs.read(given.input.name, data, settings, nodes=nodes, directed=given.directed)


def _architecture(given: argparse.Namespace, graphs: GraphSet) -> Architecture:
    if given.architecture is None:
        raise InputError("The weights' architecture is not said.", "--architecture", "Name it.")
    names = ("task", "hidden", "layers", "classes", "heads", "pooling")
    asked = {name: getattr(given, name) for name in names}
    try:
        return Architecture.model_validate(
            {k: v for k, v in asked.items() if v is not None}
            | {
                "kind": given.architecture,
                "features": graphs.arrays["x"].shape[1],
                "batch_norm": not given.no_batch_norm,
            }
        )
    except ValidationError as error:
        raise _bounds(error) from error


def _node(text: str, graph: int, graphs: GraphSet | None) -> int:
    """A node's number; a name wins over a number that reads the same."""
    if graphs is not None and graphs.node_names and 0 <= graph < len(graphs):
        names = graphs.graph(graph).node_names
        if names.count(text) == 1:
            return names.index(text)
    if text.isascii() and text.isdecimal() and len(text) < 10:
        return int(text)
    raise InputError(
        f"There is no one node '{shown(text)}'.", "--node", "Give its number, from 0, or its name."
    )


def _bounds(error: ValidationError) -> InputError:
    first = error.errors()[0]
    name = str(first["loc"][-1])
    flag = {"seed": "train-seed", "kind": "architecture"}.get(name, name)
    return InputError(f"{first['msg']}.", f"--{flag}")


def _none_of(given: argparse.Namespace, flags: dict[str, str], what: str, todo: str) -> None:
    for name, flag in flags.items():
        if getattr(given, name) not in (None, False):
            raise InputError(f"{flag} {what}.", flag, todo)
