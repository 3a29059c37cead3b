"""Which weights are drawn anew, and what that does to explainers and to one that looks away."""

from __future__ import annotations

import dataclasses
import functools
import itertools

import numpy as np
import pytest

from backend.graphs import FAMILY, ba_2motifs
from backend.graphs.classifier import Classifier
from backend.graphs.explanation import GraphTarget, Recipe
from backend.graphs.noise import alone
from backend.graphs.part import Part, first_item
from backend.graphs.reinitialised import layers, reinitialised
from backend.graphs.train_gnn import trained
from backend.sanity import randomised
from tests.backend.graphs.made import graph_set
from tests.fake import FakeRun

KINDS = ["gin", "gcn", "gat", "sage", "dmpnn"]
DRAWS = 5


def changed(before, after):
    """Names of the weights that differ."""
    return {
        name
        for name, weight in before.weights().items()
        if not np.array_equal(weight, after.weights()[name])
    }


@pytest.mark.parametrize("kind", KINDS)
def test_each_depth_reaches_one_layer_further_and_the_last_reaches_all(kind):
    graphs = graph_set(kind)
    names = layers(graphs.architecture)
    reached = [changed(graphs, reinitialised(graphs, depth, 0)) for depth in range(len(names) + 1)]
    assert reached[0] == set()
    assert reached[1] == {"out.weight", "out.bias"}
    for before, after in itertools.pairwise(reached):
        assert before < after
    matrices = {name for name, weight in graphs.weights().items() if weight.ndim > 1}
    assert matrices <= reached[-1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_is_the_same_at_every_depth_and_another_for_another_seed(kind):
    graphs = graph_set(kind)
    depth = len(layers(graphs.architecture))
    one, whole, other = (reinitialised(graphs, d, s) for d, s in ((2, 3), (depth, 3), (depth, 4)))
    for name in changed(graphs, one):
        np.testing.assert_array_equal(one.weights()[name], whole.weights()[name])
    assert {"out.weight", "hidden.weight"} <= changed(whole, other)
    assert Classifier.of(whole).whole(whole, range(3)).shape == (3, 2)


def test_weights_are_drawn_as_glorot_does_and_batch_norms_start_again():
    graphs = graph_set("gin")
    graphs.arrays["logits"] = np.zeros((3, 2), dtype=np.float32)
    found = reinitialised(graphs, len(layers(graphs.architecture)), 0)
    weight = found.weights()["convs.0.nn.2.weight"]
    bound = (6 / sum(weight.shape)) ** 0.5
    assert 0.8 * bound < np.abs(weight).max() <= bound
    assert (found.weights()["convs.0.nn.2.bias"] == 0).all()
    assert (found.weights()["norms.1.running_var"] == 1).all()
    assert (found.weights()["norms.1.weight"] == 1).all()
    assert (found.weights()["norms.1.running_mean"] == 0).all()
    assert "logits" not in found.arrays
    np.testing.assert_array_equal(found.arrays["x"], graphs.arrays["x"])


def test_there_is_no_deeper_than_all():
    graphs = graph_set("gin")
    with pytest.raises(ValueError, match="has no 6"):
        reinitialised(graphs, 6, 0)
    with pytest.raises(ValueError, match="no GNN"):
        reinitialised(dataclasses.replace(graphs, architecture=None), 1, 0)


@functools.cache
def motifs():
    return trained(ba_2motifs.data(0), "ba_2motifs", Recipe(epochs=20), FakeRun())


def forgetting(scores):
    """Of the first graph worth a look: `scores` of the trained GNN and of those that forgot."""
    graphs = motifs()
    target = GraphTarget(graph=first_item(graphs))
    one = alone(graphs, target)
    label = int(graphs.arrays["logits"][target.graph].argmax())
    names = layers(graphs.architecture)
    wanted = GraphTarget(graph=0, label=label)
    drawn = [
        [scores(reinitialised(one, depth + 1, draw), wanted) for depth in range(len(names))]
        for draw in range(DRAWS)
    ]
    return randomised(names, scores(graphs, target.model_copy(update={"label": label})), drawn)


@pytest.mark.parametrize("id", ["saliency", "integrated_gradients"])
def test_gradients_of_a_gnn_that_forgets_lose_their_ranking(id):
    explainer = FAMILY.find(id)

    def scores(graphs, target):
        found = explainer.explain(None, graphs, target, explainer.Parameters(), FakeRun())
        return found.arrays["scores"].astype(float)

    curve = forgetting(scores)
    means = [one.mean for one in curve.means]
    assert means[0] == 1
    assert means[-1] < 0.5
    assert curve.verdict == "depends"


def test_an_explainer_that_ignores_the_gnn_is_flagged():
    """The control: an edge's score is the smaller degree of its ends, whatever the GNN."""

    def scores(graphs, target):
        part = Part.of(graphs, target)
        degrees = np.bincount(part.edges.ravel(), minlength=len(part.node_ids))
        return degrees[part.edges].min(axis=1).astype(float)

    curve = forgetting(scores)
    np.testing.assert_allclose(curve.correlation, 1)
    assert curve.verdict == "ignores"
