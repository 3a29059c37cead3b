"""The GNNs and the batches they read: against torch_geometric's own, and by their symmetries."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv

from backend.errors import InputError
from backend.graphs import batch as batches
from backend.graphs.architecture import Architecture
from backend.graphs.classifier import Classifier, probabilities
from backend.graphs.explanation import GraphSet, GraphTarget
from backend.graphs.gnn import Gnn
from backend.graphs.part import Part
from tests.backend.graphs.made import graph_set

KINDS = ("gcn", "gin", "gat", "sage")
CONVOLUTIONS = dict(zip(KINDS, (GCNConv, GINConv, GATConv, SAGEConv), strict=True))


def part_of(kind, task="graph", graphs=None, node=None):
    found = graph_set(kind, task, graphs)
    return Classifier.of(found), Part.of(found, GraphTarget(graph=0, node=node))


@pytest.mark.parametrize("kind", KINDS)
def test_the_layers_are_torch_geometrics(kind):
    gnn = Gnn(Architecture(kind=kind, features=4, hidden=8, layers=2)).eval()
    assert [type(conv) for conv in gnn.convs] == [CONVOLUTIONS[kind]] * 2
    found = graph_set(kind, graphs=[nx.path_graph(5)])
    given = batches.whole(found, [0])
    both = torch.tensor([[0, 1, 2, 3, 1, 2, 3, 4], [1, 2, 3, 4, 0, 1, 2, 3]])
    assert torch.equal(given.edge_index, both)
    h = given.x
    for conv, norm in zip(gnn.convs, gnn.norms, strict=True):
        h = torch.relu(norm(conv(h, both)))
    readout = torch.relu(gnn.hidden(h.mean(dim=0, keepdim=True)))
    output = gnn(given)
    torch.testing.assert_close(output.readout, readout)
    torch.testing.assert_close(output.logits, gnn.out(readout))
    assert output.states.shape == (5, 16)


@pytest.mark.parametrize("kind", KINDS)
def test_graphs_side_by_side_are_what_they_are_alone(kind):
    found = graph_set(kind, graphs=[nx.path_graph(5), nx.empty_graph(3), nx.cycle_graph(4)])
    classifier = Classifier.of(found)
    together = classifier.logits(batches.whole(found, [0, 1, 2]))
    for number in range(3):
        alone = classifier.logits(batches.whole(found, [number]))
        torch.testing.assert_close(together[number : number + 1], alone)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("node", [0, 9, 19])
def test_a_node_is_classified_as_in_the_whole_graph(kind, node):
    found = graph_set(kind, "node", [nx.path_graph(20)])
    classifier = Classifier.of(found)
    whole = classifier.logits(batches.whole(found, [0]))[node]
    part = Part.of(found, GraphTarget(node=node))
    assert len(part.node_ids) < 20
    torch.testing.assert_close(classifier.logits(batches.parts([part]))[0], whole)


@pytest.mark.parametrize("kind", KINDS)
def test_masks_of_ones_change_nothing_and_are_gone_afterwards(kind):
    classifier, part = part_of(kind)
    given = batches.copies(part, 2)
    plain = classifier.logits(given)
    ones = classifier.logits(given, torch.ones(given.edges))
    torch.testing.assert_close(ones, plain)
    halves = classifier.logits(given, torch.full((given.edges,), 0.5))
    assert (halves - plain).abs().max() > 1e-4
    torch.testing.assert_close(classifier.logits(given), plain)


@pytest.mark.parametrize("kind", ["gin", "gat"])
def test_a_mask_of_zero_is_a_deleted_edge_where_no_degree_is_divided_by(kind):
    classifier, part = part_of(kind)
    keep = np.ones((3, len(part)), dtype=bool)
    keep[0, 2] = keep[1, 5] = keep[2, :] = False
    cut = classifier.cut(part, keep)
    if kind == "gat":  # Attention of what is left sums to 1 again, a mask takes from the sum.
        assert np.isfinite(cut).all()
        return
    given = batches.copies(part, 3)
    soft = classifier.logits(given, torch.from_numpy(keep.reshape(-1)).float())
    np.testing.assert_allclose(soft.numpy(), cut, atol=1e-6)


def test_deleting_recomputes_the_degrees_of_a_gcn():
    classifier, part = part_of("gcn", graphs=[nx.path_graph(3)])
    cut = classifier.cut(part, np.array([[True, False]]))[0]
    alone = graph_set("gcn", graphs=[nx.path_graph(3)])
    alone.arrays.update(
        edges=np.array([[0, 1]], dtype=np.int32), edge_counts=np.array([1], dtype=np.int32)
    )
    expected = classifier.logits(batches.whole(alone, [0]))[0]
    np.testing.assert_allclose(cut, expected.numpy(), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_nodes_does_not_matter(kind):
    graph = nx.barabasi_albert_graph(12, 2, seed=0)
    graph.add_edge(3, 3)
    found = graph_set(kind, graphs=[graph])
    order = np.random.default_rng(0).permutation(12)
    place = np.argsort(order)
    turned = graph_set(kind, graphs=[graph])
    turned.arrays["x"] = found.arrays["x"][order]
    turned.arrays["edges"] = place[found.arrays["edges"]].astype(np.int32)
    one, other = (Classifier.of(s).logits(batches.whole(s, [0])) for s in (found, turned))
    torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def test_columns_of_a_batch():
    graph = nx.path_graph(3)
    graph.add_edge(1, 1)
    undirected = batches.whole(graph_set(graphs=[graph]), [0])
    columns = list(zip(undirected.slots.tolist(), *undirected.edge_index.tolist(), strict=True))
    edges = [tuple(edge) for edge in graph.edges]
    forwards = [(i, u, v) for i, (u, v) in enumerate(edges)]
    assert columns == forwards + [(i, v, u) for i, u, v in forwards if u != v]
    directed = batches.whole(graph_set(graphs=[nx.DiGraph(graph)]), [0])
    assert directed.edge_index.shape[1] == directed.edges == 5
    assert directed.owners.tolist() == [0] * 5


def test_messages_follow_a_directed_edge():
    found = graph_set("gin", "node", [nx.DiGraph([(0, 1)])])
    classifier = Classifier.of(found)
    before = classifier.logits(batches.whole(found, [0]))
    found.arrays["x"][0] += 1.0
    after = classifier.logits(batches.whole(found, [0]))
    assert (before[1] - after[1]).abs().max() > 1e-4
    found.arrays["x"][1] += 1.0
    later = classifier.logits(batches.whole(found, [0]))
    torch.testing.assert_close(later[0], after[0])


def test_probabilities_are_a_softmax():
    given = np.array([[1000.0, 0.0], [0.0, np.log(3.0)]])
    np.testing.assert_allclose(probabilities(given), [[1.0, 0.0], [0.25, 0.75]])


def test_a_set_without_weights_has_nothing_to_explain():
    with pytest.raises(InputError, match="no GNN"):
        Classifier.of(GraphSet.none())
