"""What tests of planted graphs ask: graphs as networkx knows them, and their motifs."""

from __future__ import annotations

import networkx as nx
import numpy as np


def graph(graphs, number):
    """One graph of a set as networkx's."""
    one = graphs.graph(number)
    found = nx.Graph()
    found.add_nodes_from(range(len(one.x)))
    found.add_edges_from(one.edges.tolist())
    assert found.number_of_edges() == len(one.edges), "an edge stands twice"
    return found


def motif_graphs(graphs, number):
    """The planted motifs of a graph, each built of its edges alone; their nodes are checked."""
    one = graphs.graph(number)
    found = []
    for motif in range(1, 1 + int(one.arrays["edge_motifs"].max(initial=0))):
        of_edges = one.edges[one.arrays["edge_motifs"] == motif]
        built = nx.Graph(of_edges.tolist())
        of_nodes = np.flatnonzero(one.arrays["node_motifs"] == motif)
        assert sorted(built) == of_nodes.tolist()
        found.append(built)
    return found


def equal(first, second):
    """Whether two sets hold the same."""
    return first.digest() == second.digest()
