"""Ready examples: graphs whose reason is known, and the recipe of a GNN that finds it."""

from __future__ import annotations

from backend import examples
from backend.graphs.explanation import Pretrained, Recipe

OWN = "own"
"""The preset that stands for a GNN and graphs that a person brings."""


Example = examples.Example[Recipe | Pretrained]

EXAMPLES: tuple[Example, ...] = (
    Example(
        "ba_2motifs",
        "A house or a ring",
        "Random trees with a house or a five-cycle attached; the class is which. The attached "
        "motif is the known reason: six edges of a house, five of a ring.",
        "ba-2motifs",
        Recipe(),
    ),
    Example(
        "multi_shapes",
        "Two of three shapes",
        "Trees with a house, a grid, a wheel or several: class 1 has exactly two kinds. No single "
        "shape is the reason, so look at what joins at each scale.",
        "multi-shapes",
        Recipe(),
    ),
    Example(
        "ba_shapes",
        "Places in a house",
        "One graph of 700 nodes; a node is in the middle, at the bottom or at the top of a house, "
        "or in none. The known reason of a node is its own house.",
        "ba-shapes",
        Recipe(),
    ),
    Example(
        "tree_cycles",
        "Cycles on a tree",
        "One graph of 991 nodes; a node is in a six-cycle or in the tree. The known reason of a "
        "node is its own cycle.",
        "tree-cycles",
        Recipe(),
    ),
    Example(
        "nitro_amine",
        "Nitro and amine groups",
        "Molecules that hold a nitro group or an amine on a ring, or neither. The group is the "
        "known reason of the one class; the other is an absence, and has none.",
        "nitro-amine",
        Recipe(),
    ),
    Example(
        "benzene",
        "Benzene rings",
        "Molecules with and without a benzene ring, which is the known reason where there is one.",
        "benzene",
        Recipe(),
    ),
    Example(
        "mutag",
        "Mutagenic compounds",
        "188 nitro compounds, mutagenic or not, as measured. Nitro and amine groups are what "
        "chemists point at, which need not be what the GNN learned.",
        "mutag",
        Recipe(),
    ),
    Example(
        "admet_ai",
        "What a compound does in a body",
        "Molecules of the NCI's open collection, and 31 questions about them that ADMET-AI's "
        "D-MPNNs were trained to answer. Of mutagenicity, nitro groups and aromatic amines are "
        "known reasons; what was measured of these molecules is not in the data.",
        "admet-ai",
        Pretrained(),
    ),
)


def example(name: str) -> Example:
    """An example by its id.

    Raises:
        KeyError: there is none; the text lists those there are.
    """
    return examples.find(EXAMPLES, name)
