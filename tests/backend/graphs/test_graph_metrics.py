"""The numbers themselves: scikit-learn's and torch_geometric's values, and cases by hand."""

import numpy as np
import pytest

from backend.graphs import graph_metrics as metrics


@pytest.mark.parametrize("seed", range(5))
def test_auc_with_ties_is_scikit_learns(seed):
    from sklearn.metrics import roc_auc_score

    generator = np.random.default_rng(seed)
    scores = generator.integers(-3, 4, 40).astype(float)
    truth = generator.random(40) < 0.3
    assert metrics.auc(scores, truth) == pytest.approx(roc_auc_score(truth, scores), abs=1e-12)


def test_auc_is_the_share_of_pairs_in_the_right_order():
    scores, truth = np.array([0.9, 0.5, 0.5, 0.1]), np.array([1, 0, 1, 0])
    pairs = [(s > o) + 0.5 * (s == o) for s in scores[truth == 1] for o in scores[truth == 0]]
    assert metrics.auc(scores, truth) == pytest.approx(np.mean(pairs))


@pytest.mark.parametrize("truth", [[0, 0, 0], [1, 1, 1], []])
def test_auc_needs_edges_of_both_kinds(truth):
    assert metrics.auc(np.arange(len(truth)), np.array(truth)) is None


def test_precision_looks_at_as_many_edges_as_are_true():
    truth = np.array([1, 0, 1, 0, 0], dtype=bool)
    assert metrics.precision(np.array([5.0, 4.0, 3.0, 2.0, 1.0]), truth) == 0.5
    assert metrics.precision(np.array([5.0, 1.0, 4.0, 2.0, 3.0]), truth) == 1.0
    assert metrics.precision(np.zeros(5), truth) == 0.5, "equals stay in the order of the file"
    assert metrics.precision(np.ones(5), np.zeros(5, dtype=bool)) is None


def test_ranking_goes_down_with_equals_in_order():
    assert metrics.ranking(np.array([1.0, 3.0, 1.0, -2.0, 3.0])).tolist() == [1, 4, 0, 2, 3]


@pytest.mark.parametrize(
    ("share", "edges", "size"), [(0.1, 24, 2), (0.1, 3, 1), (0.5, 1, 1), (0.25, 24, 6), (0.9, 0, 0)]
)
def test_a_part_has_at_least_one_edge_and_no_more_than_there_are(share, edges, size):
    assert metrics.size_of(share, edges) == size


@pytest.mark.parametrize("edges", [0, 1, 2, 7, 5_000, 100_000])
def test_curves_have_few_points_whatever_the_graphs_size(edges):
    at = metrics.fractions(edges)
    assert at[0] == 0.0
    assert at[-1] == (1.0 if edges else 0.0)
    assert (np.diff(at) > 0).all()
    assert len(at) <= len(metrics.LEVELS) + 2
    sizes = at * edges
    np.testing.assert_allclose(sizes, sizes.round(), atol=1e-9)


def test_parts_of_a_ranking_are_nested():
    order = np.array([2, 0, 3, 1])
    held = metrics.top(order, np.array([0, 1, 3, 4]))
    assert held.tolist() == [
        [False, False, False, False],
        [False, False, True, False],
        [True, False, True, True],
        [True, True, True, True],
    ]


@pytest.mark.parametrize(("plus", "minus"), [(0.9, 0.1), (0.2, 0.7), (1.0, 0.0), (0.5, 0.5)])
def test_characterisation_is_torch_geometrics(plus, minus):
    import torch
    from torch_geometric.explain.metric import characterization_score

    theirs = characterization_score(torch.tensor(plus), torch.tensor(minus))
    assert metrics.characterisation(plus, minus) == pytest.approx(float(theirs), rel=1e-6)


@pytest.mark.parametrize(("plus", "minus"), [(0.0, 0.1), (-0.2, 0.1), (0.8, 1.0)])
def test_characterisation_is_zero_where_one_side_fails(plus, minus):
    assert metrics.characterisation(plus, minus) == 0.0


def test_unfaithfulness_by_hand():
    whole, part = np.array([0.75, 0.25]), np.array([0.5, 0.5])
    divergence = 0.5 * np.log(0.5 / 0.75) + 0.5 * np.log(0.5 / 0.25)
    assert metrics.unfaithfulness(whole, part) == pytest.approx(1 - np.exp(-divergence))
    assert metrics.unfaithfulness(whole, whole) == 0.0
    assert 0.9999 < metrics.unfaithfulness(np.array([1.0, 0.0]), np.array([0.0, 1.0])) <= 1.0


def test_area_is_the_mean_height():
    at = np.array([0.0, 0.5, 1.0])
    assert metrics.area(at, np.full(3, 0.3)) == pytest.approx(0.3)
    assert metrics.area(at, at) == pytest.approx(0.5)
    assert metrics.area(np.array([0.0, 0.1, 1.0]), np.array([1.0, 0.0, 0.0])) == pytest.approx(0.05)


def test_jaccard_by_hand():
    one, other = np.array([1, 1, 0, 0], dtype=bool), np.array([1, 0, 1, 0], dtype=bool)
    assert metrics.jaccard(one, other) == pytest.approx(1 / 3)
    assert metrics.jaccard(one, one) == 1.0
    assert metrics.jaccard(one, ~one) == 0.0
    assert metrics.jaccard(~one & one, ~one & one) == 1.0


def test_metrics_have_names_of_their_own():
    ids = [metric.id for metric in metrics.METRICS]
    assert len(set(ids)) == len(ids)
    assert len({metric.title for metric in metrics.METRICS}) == len(ids)
