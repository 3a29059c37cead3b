"""Interventions: hand examples, a sample by sample loop, and what is said of a stand-in head."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest

from backend.concepts.explanation import ConceptTable
from backend.concepts.head import Head
from backend.concepts.intervene import Ready, each, intervene
from backend.errors import InputError


def table(n=60, k=5, m=3, hidden=0, bottleneck="hard", seed=0, keep_head=True):
    """Labels are what the head makes of the true concepts; predictions of the predicted ones."""
    generator = np.random.default_rng(seed)
    out = 1 if m == 2 else m
    sizes = [k, hidden, out] if hidden else [k, out]
    pairs = list(zip(sizes[1:], sizes[:-1], strict=True))
    head = Head(
        tuple(generator.normal(size=pair).astype(np.float32).astype(float) for pair in pairs),
        tuple(generator.normal(size=a).astype(np.float32).astype(float) for a, _ in pairs),
    )
    concepts = generator.integers(0, 2, (n, k))
    flipped = generator.random((n, k)) < 0.3
    logits = np.where(concepts ^ flipped, 1, -1) * generator.uniform(0.5, 3, (n, k))
    read = (logits > 0).astype(float) if bottleneck == "hard" else logits.astype(np.float32)
    return ConceptTable(
        arrays={
            "logits": logits.astype(np.float32),
            "concepts": concepts.astype(np.int8),
            "labels": head.predictions(concepts).astype(np.int32),
            "predictions": head.predictions(read).astype(np.int32),
            **(head.arrays() if keep_head else {}),
        },
        concept_names=tuple(f"c{j}" for j in range(k)),
        class_names=tuple(f"y{c}" for c in range(m)),
        bottleneck=bottleneck,
    )


def test_by_hand():
    # The class is concept 0 alone; concept 1 is not looked at.
    logits = np.array([[2, 1], [-2, 1], [2, -1], [-2, -1]], dtype=np.float32)
    concepts = np.array([[1, 1], [1, 1], [0, 1], [0, 0]], dtype=np.int8)
    given = ConceptTable(
        arrays={
            "logits": logits,
            "concepts": concepts,
            "labels": np.array([1, 1, 0, 1], dtype=np.int32),
            "predictions": np.array([1, 0, 1, 0], dtype=np.int32),
            **Head((np.array([[2.0, 0.0]]),), (np.array([-1.0]),)).arrays(),
        },
        concept_names=("a", "b"),
        class_names=("no", "yes"),
    )
    found = intervene(given, [0])
    assert (found.before, found.after) == (0.25, 0.75)
    assert (found.fixed, found.broken, found.rows) == (2, 0, 4)
    assert found.gain.mean == 0.5
    some = intervene(given, [0], np.array([1, 3]))
    assert (some.before, some.after, some.all_before, some.all_after) == (0, 0.5, 0.25, 0.5)
    assert (some.gain.n, some.all_gain.n, some.all_gain.mean) == (2, 4, 0.25)
    assert intervene(given, [1]).gain.mean == 0
    assert found.agreement == 1
    assert found.caution == ""
    first, second = each(given)
    assert (first.concept, first.wrong, first.fixed, first.gain.mean) == (0, 2, 2, 0.5)
    assert (second.concept, second.wrong, second.fixed, second.broken) == (1, 1, 0, 0)


@pytest.mark.parametrize("bottleneck", ["hard", "soft"])
@pytest.mark.parametrize(("m", "hidden"), [(2, 0), (3, 0), (2, 8), (4, 8)])
@pytest.mark.parametrize("concepts", [[2], [0, 3], [4, 1, 0]])
def test_equals_a_loop_over_samples(bottleneck, m, hidden, concepts):
    given = table(m=m, hidden=hidden, bottleneck=bottleneck)
    head, inputs, labels = given.head(), given.head_inputs(), given.arrays["labels"]
    rows = np.arange(5, 45)
    right = []
    for i in rows:
        x = inputs[i].copy()
        for j in concepts:
            true = given.arrays["concepts"][i, j]
            percentile = np.percentile(inputs[:, j], 95 if true else 5)
            x[j] = true if bottleneck == "hard" else percentile
        right.append(head.predictions(x) == labels[i])
    before = head.predictions(inputs)[rows] == labels[rows]
    found = intervene(given, concepts, rows)
    assert found.after == pytest.approx(np.mean(right))
    assert found.before == pytest.approx(before.mean())
    assert found.fixed == int((np.array(right) & ~before).sum())
    assert found.broken == int((before & ~np.array(right)).sum())
    assert found.gain.mean == pytest.approx(found.after - found.before)
    assert found.all_gain.mean == pytest.approx(found.all_after - found.all_before)


@pytest.mark.parametrize("bottleneck", ["hard", "soft"])
@pytest.mark.parametrize("hidden", [0, 8])
def test_each_is_every_concept_alone(bottleneck, hidden):
    given = table(hidden=hidden, bottleneck=bottleneck)
    rows = np.arange(40)
    found = each(given, rows)
    assert sorted(one.concept for one in found) == list(range(5))
    gains = [one.gain.mean for one in found]
    assert gains == sorted(gains, reverse=True)
    for one in found:
        alone = intervene(given, [one.concept], rows)
        assert (one.fixed, one.broken, one.gain) == (alone.fixed, alone.broken, alone.gain)
        predicted = given.arrays["logits"][rows, one.concept] > 0
        assert one.wrong == (predicted != given.arrays["concepts"][rows, one.concept]).sum()


def test_all_concepts_known_is_all_right():
    given = table()
    found = intervene(given, range(5))
    assert found.after == 1.0
    assert found.broken == 0
    assert found.before < 0.8
    assert found.gain.low <= found.gain.mean <= found.gain.high
    assert found.gain.low > 0


def test_a_stand_in_says_so():
    given = table(n=400, keep_head=False)
    found = intervene(given, [0])
    assert found.surrogate
    assert f"{found.agreement:.1%}" in (found.caution or "100.0%")
    other = dataclasses.replace(
        given, arrays={**given.arrays, "predictions": np.roll(given.arrays["predictions"], 1)}
    )
    assert "stand-in" in intervene(other, [0]).caution


def test_a_head_that_does_not_fit_the_predictions():
    given = table()
    wrong = given.arrays["predictions"].copy()
    wrong[:6] = (wrong[:6] + 1) % 3
    given = dataclasses.replace(given, arrays={**given.arrays, "predictions": wrong})
    found = intervene(given, [0])
    assert found.agreement == 0.9
    assert found.caution.startswith("The label head repeats 90.0% of the table's predictions")


@pytest.mark.parametrize(
    ("concepts", "rows", "message"),
    [
        ([], None, "No concept"),
        ([5], None, "5 concepts; concept 5"),
        ([-1], None, "concept -1"),
        ([0], np.array([], dtype=int), "No sample"),
        ([0], np.array([60]), "60 samples; sample 60"),
    ],
)
def test_bad_choices_are_refused(concepts, rows, message):
    with pytest.raises(InputError, match=message):
        intervene(table(), concepts, rows)


def test_it_is_quick():
    given = table(n=10_000, k=112, m=200)
    ready = Ready.of(given)
    start = time.perf_counter()
    intervene(given, [3], ready=ready)
    # Measured: a few milliseconds; the bound leaves room for a busy machine.
    assert time.perf_counter() - start < 0.5
