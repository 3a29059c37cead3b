"""The nouns of the Graphs family: GraphSet, Recipe, GraphTarget, GraphExplanation."""

from __future__ import annotations

import dataclasses
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, JsonValue

from backend.bundle import Arrays, Bundle
from backend.explanation import Explanation, Frozen
from backend.graphs.architecture import Architecture, Convolution, Labels
from backend.graphs.endpoints import Endpoint

PREFIX = "gnn/"
"""In front of the names of the GNN's weights among a set's arrays."""
TRAIN, VALIDATION, TEST = 0, 1, 2
"""Values of `GraphSet.arrays["split"]`."""
MEMBERS = 5
"""Networks of a bundled ensemble."""


def prefixed(weights: Arrays) -> Arrays:
    """A GNN's weights as a set's arrays."""
    return {f"{PREFIX}{name}": array for name, array in weights.items()}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class GraphSet(Bundle):
    """Graphs, and the graph neural network (GNN) that classifies them or their nodes.

    Arrays (G graphs, N nodes and E edges in all, one graph after the other; F node features,
    A edge features, C classes; items are graphs or nodes, whichever the task classifies):
        node_counts: [G] int32. edge_counts: [G] int32.
        edges: [E, 2] int32. Node numbers within the edge's own graph. In an undirected set an edge
            stands once; in a directed one it goes from the first to the second. Self-loops and
            parallel edges may occur.
        x: [N, F] float32. Node features.
        edge_attr: [E, A] float32, optional. Edge features. Of the served GNNs only a D-MPNN reads
            them.
        labels: [items] int32, optional. True class, -1 where it is not known.
        split: [items] int8, optional. TRAIN, VALIDATION or TEST of a model trained here.
        edge_motifs: [E] int32, node_motifs: [N] int32, optional. Known reason: the number, from 1,
            of the planted motif it belongs to (numbers are unique within a graph), 0 for none.
        positions: [N, 2] float32, optional. Where a drawing puts the nodes (of molecules).
        logits: [items, C] float32, optional. What the GNN says.
        gnn/<name>: float32, optional. The GNN's weights, see `backend.graphs.gnn`.

    A set of no graphs stands for "none yet": the input of a request that trains a model.
    """

    arrays: Arrays
    title: str = ""
    task: Literal["graph", "node"] = "graph"
    directed: bool = False
    architecture: Architecture | None = None
    """None where there is no GNN yet."""
    graph_names: tuple[str, ...] = ()
    node_names: tuple[str, ...] = ()
    """[N] names as given, e.g. chemical symbols; none where nodes have only numbers."""
    feature_names: tuple[str, ...] = ()
    edge_feature_names: tuple[str, ...] = ()
    class_names: tuple[str, ...] = ()
    molecules: bool = False
    """Whether nodes are atoms (`node_names` their symbols) and edges bonds (among their features
    one-hot: single, double, triple, aromatic)."""
    smiles: tuple[str, ...] = ()
    """[G] of molecules that were read from SMILES: RDKit's atoms of it are the nodes, in order."""
    origin: dict[str, JsonValue] = dataclasses.field(default_factory=dict)
    """How the set came to be: how the model was trained, or what was assumed of a file."""

    @classmethod
    def none(cls) -> GraphSet:
        """The set of no graphs."""
        return cls(arrays={})

    def label(self) -> str:
        return self.title

    def __len__(self) -> int:
        return len(self.arrays["node_counts"]) if "node_counts" in self.arrays else 0

    def weights(self) -> Arrays:
        """The GNN's weights by their own names; none where there is no GNN."""
        return {
            name.removeprefix(PREFIX): array
            for name, array in self.arrays.items()
            if name.startswith(PREFIX)
        }

    def bare(self) -> Arrays:
        """The arrays without the GNN, its split and what it says."""
        return {
            name: array
            for name, array in self.arrays.items()
            if not name.startswith(PREFIX) and name not in ("logits", "split")
        }

    def graph(self, number: int) -> Graph:
        """One graph of the set.

        Raises:
            IndexError: there is no such graph.
        """
        if not 0 <= number < len(self):
            raise IndexError(f"there is no graph {number}")
        nodes = _slice(self.arrays["node_counts"], number)
        edges = _slice(self.arrays["edge_counts"], number)
        found = {
            name: self.arrays[name][part]
            for name, part in (
                *((name, nodes) for name in ("x", "node_motifs", "positions")),
                *((name, edges) for name in ("edges", "edge_attr", "edge_motifs")),
            )
            if name in self.arrays
        }
        names = self.node_names[nodes] if self.node_names else ()
        return Graph(number=number, first_node=nodes.start, arrays=found, node_names=names)


@dataclasses.dataclass(frozen=True, eq=False)
class Graph:
    """One graph of a `GraphSet`; arrays as there, of this graph alone.

    `first_node`: number within the set of its node 0, where labels of nodes are looked up.
    """

    number: int
    first_node: int
    arrays: Arrays
    node_names: tuple[str, ...] = ()

    @property
    def edges(self) -> np.ndarray:
        """[E, 2] int32."""
        return self.arrays["edges"]

    @property
    def x(self) -> np.ndarray:
        """[N, F] float32."""
        return self.arrays["x"]

    @property
    def edge_attr(self) -> np.ndarray | None:
        """[E, A] float32, or None where edges have no features."""
        return self.arrays.get("edge_attr")


def _slice(counts: np.ndarray, number: int) -> slice:
    start = int(counts[:number].sum(dtype=np.int64))
    return slice(start, start + int(counts[number]))


class Recipe(Frozen):
    """How a bundled GNN is trained. What is None is as the data set's example has it."""

    HEADING: ClassVar = "How it is trained"

    kind: Convolution = Field("gin", title="Architecture", description="Which graph convolution.")
    hidden: Annotated[int, Field(ge=4, le=256)] | None = Field(
        None, title="Width", description="Size of a node's state."
    )
    layers: Annotated[int, Field(ge=1, le=8)] | None = Field(
        None, title="Layers", description="Graph convolutions one after the other."
    )
    epochs: Annotated[int, Field(ge=1, le=5000)] | None = Field(
        None, title="Epochs", description="Passes over the training items."
    )
    seed: Annotated[int, Field(ge=0, lt=2**32)] = Field(
        0, title="Training seed", description="Decides data, initial weights and order."
    )
    labels: Labels = Field(
        "true",
        title="Labels",
        description="Shuffled: the GNN is trained on labels of other items, of which nothing true "
        "can be learned. A control for explainers.",
    )


class Pretrained(Frozen):
    """Which network of a bundled ensemble, and which of its answers."""

    HEADING: ClassVar = "Which answer of which network"

    endpoint: Endpoint = Field(
        "AMES", title="Endpoint", description="What is asked of a molecule, as the data name it."
    )
    member: Annotated[int, Field(ge=1, le=MEMBERS)] = Field(
        1, title="Network", description="Which of the ensemble's five networks answers."
    )


class GraphTarget(Frozen):
    """What of a set is explained.

    Pages and the command line start with a recipe, ask the step `train_gnn` for the set, and then
    put that set in the place of the input; explainers and scores need no recipe.
    """

    recipe: Recipe | Pretrained | None = None
    graph: Annotated[int, Field(ge=0)] | None = None
    """Which graph; None is the first one (of the test graphs, where there are any)."""
    node: Annotated[int, Field(ge=0)] | None = None
    """Which node of that graph, where nodes are classified; None is the first (test) node."""
    label: Annotated[int, Field(ge=0)] | None = None
    """Which class; None is the predicted one."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class GraphExplanation(Explanation):
    """What an explainer found in one graph, or a step in a set.

    `values["kind"]` says which of these it is.

    "edges": scores of the edges of what was explained, a `backend.graphs.part.Part` with n nodes
        and e edges (the graph, or the neighbourhood of a node that the GNN can see).
        scores: [e] float32. node_scores: [n] float32. edges: [e, 2] int32, numbers within the part.
        node_ids: [n] int32, edge_ids: [e] int32, numbers within the graph. positions: [n, 2]
        float32. truth: [e] uint8, optional. bonds: [e] int8, optional, of molecules.
        Of explainers with scales (K of them, from the smallest part to the largest):
        masks: [K, e] float32. key: [K, e] uint8, nested.
        Values: see `backend.graphs.explained`.
    "set" (step `train_gnn`): arrays and fields of a `GraphSet`, see `backend.graphs.plan.set_of`.
    "fit" (steps `fit_...`): what an explainer learned of a model once for all graphs.
    "score": numbers about a subject.
    """
