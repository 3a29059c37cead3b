"""Matching of two slicings: scikit-learn's index beside ours, permutations, hand examples."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from backend.concepts.explanation import ConceptExplanation
from backend.concepts.match_slices import ari, contingency, match, paired
from backend.errors import InputError


def slicing(slices, errors=None, count=None):
    slices = np.asarray(slices, dtype=np.int32)
    count = count or int(slices.max()) + 1
    return ConceptExplanation(
        arrays={
            "errors": np.arange(len(slices), dtype=np.int32)
            if errors is None
            else np.asarray(errors, dtype=np.int32),
            "slices": slices,
            "memberships": np.eye(count, dtype=np.float32)[slices],
        },
        values={"kind": "slices", "slices": [{}] * count},
    )


@pytest.mark.parametrize("seed", range(10))
def test_the_index_is_scikit_learns(seed):
    generator = np.random.default_rng(seed)
    first = generator.integers(0, 6, 200)
    other = np.where(generator.random(200) < seed / 10, first, generator.integers(0, 4, 200))
    assert ari(first, other) == pytest.approx(adjusted_rand_score(first, other), abs=1e-12)


@pytest.mark.parametrize(
    ("first", "other"),
    [([0, 0, 0], [0, 0, 0]), ([0, 1, 2], [2, 0, 1]), ([0, 0, 0], [0, 1, 2]), ([0], [0])],
)
def test_the_index_of_trivial_partitions(first, other):
    found = ari(np.array(first), np.array(other))
    assert found == pytest.approx(adjusted_rand_score(first, other))


def test_a_slicing_matches_itself_in_another_order():
    slices = np.random.default_rng(0).integers(0, 5, 100)
    order = np.array([3, 0, 4, 1, 2])
    found = match(slicing(slices), slicing(order[slices]))
    assert [pair.other for pair in found.pairs] == order.tolist()
    assert all(pair.overlap == 1 for pair in found.pairs)
    assert found.ari == 1
    assert len(found.moved) == len(found.only_first) == len(found.only_other) == 0


def test_by_hand():
    first = slicing([0, 0, 0, 1, 1, 2], errors=[1, 3, 5, 7, 9, 11])
    other = slicing([1, 1, 0, 0, 0, 1], errors=[1, 3, 5, 7, 9, 20])
    found = match(first, other)
    assert found.table.tolist() == [[1, 2], [2, 0], [0, 0]]
    # Slices 0 and 1 hold {1, 3, 5} and {1, 3, 20}; 1 and 0 hold {7, 9} and {5, 7, 9}.
    assert [(p.first, p.other, p.shared) for p in found.pairs] == [(0, 1, 2), (1, 0, 2)]
    assert [p.overlap for p in found.pairs] == pytest.approx([2 / 4, 2 / 3])
    assert found.moved.tolist() == [5]
    assert found.only_first.tolist() == [11]
    assert found.only_other.tolist() == [20]
    assert found.samples == 5
    assert found.counterpart(2) is None
    assert found.counterpart(0) == 1


@pytest.mark.parametrize("seed", range(5))
def test_no_other_pairing_overlaps_more(seed):
    generator = np.random.default_rng(seed)
    first, other = generator.integers(0, 4, 40), generator.integers(0, 4, 40)
    table = contingency(first, other, (4, 4))
    sizes, others = table.sum(axis=1), table.sum(axis=0)
    overlap = table / (sizes[:, None] + others - table)
    best = max(
        sum(overlap[i, j] for i, j in enumerate(order))
        for order in itertools.permutations(range(4))
    )
    assert sum(pair.overlap for pair in paired(table, sizes, others)) == pytest.approx(best)


def test_more_slices_on_one_side():
    found = match(slicing([0, 0, 1, 1]), slicing([0, 1, 2, 3]))
    assert len(found.pairs) == 2
    assert len(found.moved) == 2


def test_what_cannot_be_compared():
    one = slicing([0, 1, 0])
    with pytest.raises(InputError, match="no slices"):
        match(one, ConceptExplanation(arrays={}, values={"kind": "score"}))
    with pytest.raises(InputError, match="No sample"):
        match(one, slicing([0, 1], errors=[5, 6]))
