"""Attention of a GAT: the paper's formula node by node."""

from __future__ import annotations

import numpy as np
import pytest

from backend.errors import InputError
from backend.graphs.architecture import Architecture
from backend.graphs.explanation import GraphSet, GraphTarget
from backend.graphs.gat_attention import GatAttention
from tests.backend.graphs.by_captum import directed_set, looped_set
from tests.backend.graphs.made import FEATURES, graph_set, weights
from tests.fake import FakeRun


def explain(graphs, target):
    return GatAttention().explain(None, graphs, target, GatAttention.Parameters(), FakeRun())


def softmax(values):
    raised = np.exp(values - np.max(values))
    return raised / raised.sum()


def by_hand(decision):
    """[layers, e]: e_ij = LeakyReLU(a_s·Wh_j + a_d·Wh_i), a softmax over all that i receives."""
    part = decision.part
    gnn = decision.classifier.gnn
    weights = {name: w.double().numpy() for name, w in gnn.state_dict().items()}
    heads, n = gnn.architecture.heads, len(part.x)
    h, found = part.x.astype(np.float64), []
    sources = [[(i, None)] for i in range(n)]  # Each node's own loop first.
    for e, (u, v) in enumerate(part.edges):
        if u != v:
            sources[v].append((u, e))
            if not part.directed:
                sources[u].append((v, e))
    for layer in range(gnn.architecture.layers):
        name = f"convs.{layer}"
        W = weights[f"{name}.lin.weight"].reshape(heads, -1, h.shape[1])
        grown, shares = np.zeros((n, W.shape[1])), [[] for _ in part.edges]
        loops = np.zeros(n)
        for k in range(heads):
            z = h @ W[k].T
            source = z @ weights[f"{name}.att_src"][0, k]
            goal = z @ weights[f"{name}.att_dst"][0, k]
            for i in range(n):
                raw = np.array([source[j] + goal[i] for j, _ in sources[i]])
                alpha = softmax(np.where(raw > 0, raw, 0.2 * raw))
                loops[i] += alpha[0] / heads
                for share, (j, e) in zip(alpha, sources[i], strict=True):
                    grown[i] += share * z[j] / heads
                    if e is not None:
                        shares[e].append(share)
        found.append(
            [loops[u] if u == v else np.mean(shares[e]) for e, (u, v) in enumerate(part.edges)]
        )
        h = grown + weights[f"{name}.bias"]
        mean, spread = (weights[f"norms.{layer}.running_{s}"] for s in ("mean", "var"))
        h = (h - mean) / np.sqrt(spread + 1e-5)
        h = h * weights[f"norms.{layer}.weight"] + weights[f"norms.{layer}.bias"]
        h = np.maximum(h, 0)
    return np.array(found)


def two_heads():
    graphs = looped_set("gat")
    architecture = Architecture(kind="gat", features=FEATURES, hidden=8, heads=2)
    arrays = {n: a for n, a in graphs.arrays.items() if not n.startswith("gnn/")}
    return GraphSet(arrays={**arrays, **weights(architecture)}, architecture=architecture)


@pytest.mark.parametrize(
    "graphs",
    [graph_set("gat"), directed_set("gat"), looped_set("gat"), two_heads()],
    ids=["trees", "directed", "looped", "two heads"],
)
def test_it_is_the_papers_attention(graphs):
    from backend.graphs.explained import Decision

    target = GraphTarget(graph=1)
    found = explain(graphs, target)
    expected = by_hand(Decision(graphs, target))
    np.testing.assert_allclose(found.arrays["layers"], expected, atol=1e-5)
    np.testing.assert_allclose(found.arrays["scores"], expected.mean(axis=0), atol=1e-5)


def test_of_a_node_it_is_the_whole_graphs_attention():
    graphs = graph_set("gat", "node")
    found = explain(graphs, GraphTarget(graph=1, node=4))
    whole = GraphSet(arrays=graphs.arrays, architecture=graphs.architecture)
    architecture = graphs.architecture.model_copy(update={"task": "graph"})
    whole = GraphSet(arrays=graphs.arrays, architecture=architecture)
    everywhere = explain(whole, GraphTarget(graph=1)).arrays["layers"]
    # The first layer sees no further than an edge's ends' neighbours, so inner edges agree.
    distances = np.abs(found.arrays["layers"][0] - everywhere[0][found.arrays["edge_ids"]])
    ends = (found.arrays["edges"] == found.values["target"]).any(axis=1)
    assert ends.any()
    assert distances[ends].max() < 1e-5


def test_it_does_not_depend_on_the_class():
    graphs = graph_set("gat")
    one, two = (explain(graphs, GraphTarget(graph=0, label=k)).arrays["scores"] for k in (0, 1))
    assert np.array_equal(one, two)


@pytest.mark.parametrize("kind", ["gin", "gcn", "sage"])
def test_other_gnns_are_refused(kind):
    graphs = graph_set(kind)
    assert "GAT" in GatAttention().supports({}, graphs)
    with pytest.raises(InputError, match="Only a GAT"):
        explain(graphs, GraphTarget(graph=0))
    assert GatAttention().supports({}, graph_set("gat")) is None
    assert GatAttention().supports({}, GraphSet.none()) is None
