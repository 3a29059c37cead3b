"""ECTP against a double loop over samples and concepts, by hand, and what is kept."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from backend.concepts import ectp
from backend.concepts.ectp import VALUES, by_class, influence, keep
from backend.concepts.head import Head
from backend.concepts.kept import chosen, kept
from backend.errors import Cancelled, InputError
from tests.backend.concepts.failing import FAILING, failing_table, random_head, random_logits


def kl(a, b):
    return float((a * (np.log(a) - np.log(b))).sum())


def by_loops(head, inputs, probabilities, bottleneck, exclusive=()):
    off, on = VALUES[bottleneck]
    found = np.zeros(inputs.shape)

    def classes(x):
        if head.classes > 2:
            return head.probabilities(x)
        p = np.clip(head.probabilities(x)[1], 1e-6, 1 - 1e-6)
        return np.array([1 - p, p])

    for i, x in enumerate(inputs):
        for j in range(inputs.shape[1]):
            without, with_it = x.copy(), x.copy()
            without[j] = off
            for group in exclusive:
                if j in group:
                    with_it[list(group)] = off
            with_it[j] = on
            p = probabilities[i, j]
            found[i, j] = (1 - p) * kl(classes(without), classes(x))
            found[i, j] += p * kl(classes(with_it), classes(x))
    return found


@pytest.mark.parametrize("exclusive", [(), ((0, 2, 3), (4, 5))])
@pytest.mark.parametrize("hidden", [0, 8])
@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize("bottleneck", ["hard", "soft"])
def test_it_equals_a_double_loop(bottleneck, m, hidden, exclusive, monkeypatch):
    monkeypatch.setattr(ectp, "CELLS", 7 * 6 * 8)  # several blocks, the last one short
    logits = random_logits(20, 6)
    head = random_head(6, m, hidden=hidden)
    p = 1 / (1 + np.exp(-logits))
    inputs = (logits > 0).astype(float) if bottleneck == "hard" else logits
    found = influence(head, inputs, p, bottleneck, exclusive)
    np.testing.assert_allclose(
        found, by_loops(head, inputs, p, bottleneck, exclusive), rtol=1e-6, atol=1e-9
    )
    assert (found >= 0).all()
    assert found.max() > 1e-3


def test_two_concepts_by_hand():
    # z = 2 x0 - x1, x = (1, 0): p = s(2). Off x0: s(0) = 1/2. On x1: s(1).
    head = Head((np.array([[2.0, -1.0]]),), (np.zeros(1),))
    found = influence(head, np.array([[1.0, 0.0]]), np.array([[0.8, 0.3]]), "hard")
    p = 1 / (1 + np.exp(-2))
    first = 0.5 * np.log(0.5 / p) + 0.5 * np.log(0.5 / (1 - p))
    q = 1 / (1 + np.exp(-1))
    second = q * np.log(q / p) + (1 - q) * np.log((1 - q) / (1 - p))
    np.testing.assert_allclose(found, [[0.2 * first, 0.3 * second]], atol=1e-12)
    np.testing.assert_allclose(found, [[0.0867562, 0.0247823]], atol=1e-6)


@pytest.mark.parametrize("bottleneck", ["hard", "soft"])
@pytest.mark.parametrize("m", [2, 3])
def test_a_concept_without_weight_has_no_influence(m, bottleneck):
    head = random_head(5, m)
    head.weights[0][:, 3] = 0
    logits = random_logits(30, 5)
    inputs = (logits > 0).astype(float) if bottleneck == "hard" else logits
    found = influence(head, inputs, 1 / (1 + np.exp(-logits)), bottleneck)
    assert (found[:, 3] == 0).all()
    assert (found[:, [0, 1, 2, 4]] > 0).any(axis=0).all()


def test_saturated_heads_give_finite_numbers():
    head = random_head(4, 3)
    head = Head((head.weights[0] * 1e4,), head.biases)
    logits = random_logits(10, 4) * 100
    found = influence(head, logits, (logits > 0).astype(float), "soft")
    assert np.isfinite(found).all()
    assert (found >= 0).all()


def test_means_by_class_and_the_kept_concepts():
    scores = np.array([[1.0, 0, 0, 2], [3, 0, 0, 0], [0, 0, 5, 0]])
    means = by_class(scores, np.array([0, 0, 2]), 3)
    np.testing.assert_allclose(means[[0, 2]], [[2, 0, 0, 1], [0, 0, 5, 0]])
    assert np.isnan(means[1]).all()
    assert keep(means, 20).tolist() == [0, 2, 3]  # 2 and 1 are above .75, 5 above 1.25
    assert keep(means, 2).tolist() == [0, 2]
    assert keep(means[2:], 20).tolist() == [0, 2]  # one is above; the first other joins
    assert keep(np.ones((1, 1)), 20).tolist() == [0]


def test_the_filter_keeps_what_moves_the_class():
    table = failing_table()
    found = kept(table, table.errors, 20)
    assert found.by == "ectp"
    assert FAILING in found.concepts
    assert np.nanargmax(found.ectp[0]) == FAILING
    assert found.fidelity is None
    assert found.notes == ()


def test_a_list_overrides_the_filter():
    table = failing_table()
    found = kept(table, table.errors, 2, "Concept 4, 0 ,concept 1")
    assert found.concepts.tolist() == [0, 1, 4]
    assert found.by == "list"
    with pytest.raises(InputError, match=r"no concept 'stripes'.*concept 0, concept 1"):
        chosen("stripes", table)
    with pytest.raises(InputError, match="needs two"):
        chosen("concept 1", table)
    assert chosen("concept 5; concept 1", table).tolist() == [1, 5]


def test_an_unfaithful_surrogate_filters_nothing():
    table = failing_table()
    arrays = {n: a for n, a in table.arrays.items() if not n.startswith("head/")}
    found = kept(dataclasses.replace(table, arrays=arrays), table.errors, 20)
    assert found.by == "ectp"
    assert found.fidelity > 0.95
    assert "fitted to the predictions" in found.notes[0]

    coins = np.random.default_rng(0).integers(0, 2, len(table)).astype(np.int32)
    guessed = dataclasses.replace(table, arrays=arrays | {"predictions": coins})
    found = kept(guessed, guessed.errors, 2)
    assert found.by == "all"
    assert found.concepts.tolist() == [0, 1, 2, 3, 4, 5]
    assert "all concepts are kept" in found.notes[0]


def test_exclusive_concepts_are_set_together_only_where_asked():
    table = dataclasses.replace(failing_table(), exclusive=((1, FAILING),))
    together, alone = (kept(table, table.errors, 20, "", grouped) for grouped in (True, False))
    plain = kept(failing_table(), table.errors, 20)
    np.testing.assert_array_equal(alone.ectp, plain.ectp)
    assert together.ectp[0, 1] > 100 * alone.ectp[0, 1]  # its errors have the failing concept on


def test_it_is_cancelled_between_blocks(monkeypatch):
    monkeypatch.setattr(ectp, "CELLS", 60)
    table = failing_table()
    seen = []

    def step(done, total):
        seen.append(done)
        if len(seen) == 3:
            raise Cancelled("cancelled")

    with pytest.raises(Cancelled):
        kept(table, table.errors, 20, step=step)
    assert seen == [0, 10, 20]
