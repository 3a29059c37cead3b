"""Bootstrapped tables: what belongs to a sample is drawn together, all else stays."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from backend.concepts.bootstrap_table import PER_SAMPLE, bootstrapped, drawn
from backend.concepts.explanation import ConceptTable
from tests.backend.concepts import decisions

N = 60


def numbered():
    """A table of which every entry tells its sample's number, with a head."""
    given = decisions.table(k=3, m=3, hidden=(4,), n=N)
    rows = np.arange(N)
    arrays = {
        "logits": rows[:, None] + np.array([0.0, 100, 200], dtype=np.float32),
        "concepts": (rows[:, None] % np.array([2, 3, 5]) == 0).astype(np.int8),
        "labels": rows.astype(np.int32),
        "predictions": (rows + 1000).astype(np.int32),
        "task_logits": rows[:, None] * np.array([1.0, 2, 3], dtype=np.float32),
        "groups": (rows % 4 - 1).astype(np.int32),
        "images": np.broadcast_to(rows[:, None, None, None], (N, 2, 2, 3)).astype(np.uint8),
        "embedding": rows[:, None] + np.zeros((N, 7), dtype=np.float32),
    }
    return dataclasses.replace(
        given,
        arrays={**given.arrays, **arrays},
        title="numbered",
        group_names=("a", "b", "c"),
        planted=("b",),
        exclusive=((0, 1),),
        references=tuple(f"{i}.png" for i in range(N)),
        origin={"example": "shapes"},
    )


def test_all_of_a_sample_is_drawn_together():
    given, found = numbered(), bootstrapped(numbered(), 3)
    rows = drawn(N, 3)
    assert {name for name in given.arrays if not name.startswith("head/")} == set(PER_SAMPLE)
    assert len(found) == N
    assert found.arrays["labels"].tolist() == rows.tolist()
    for name in PER_SAMPLE:
        assert found.arrays[name].dtype == given.arrays[name].dtype
        for place, row in enumerate(rows):
            np.testing.assert_array_equal(found.arrays[name][place], given.arrays[name][row])
    assert found.references == tuple(f"{row}.png" for row in rows)


def test_head_and_names_stay():
    given, found = numbered(), bootstrapped(numbered(), 3)
    heads = [name for name in given.arrays if name.startswith("head/")]
    assert len(heads) == 4
    for name in heads:
        np.testing.assert_array_equal(found.arrays[name], given.arrays[name])
    kept = ("title", "concept_names", "class_names", "group_names", "planted", "exclusive")
    for name in (*kept, "bottleneck"):
        assert getattr(found, name) == getattr(given, name)
    assert found.origin == {"bootstrap": 3}, "it is no longer the example's table"
    assert ConceptTable.from_bytes(found.to_bytes()).digest() == found.digest()


def test_a_table_with_less_is_drawn_too():
    given = decisions.table(n=N, with_head=False)
    found = bootstrapped(given, 0)
    assert found.arrays.keys() == given.arrays.keys()
    assert found.references == ()
    np.testing.assert_array_equal(found.arrays["logits"], given.arrays["logits"][drawn(N, 0)])


@pytest.mark.parametrize("kept", [0, 17, N - 1])
def test_a_kept_sample_stays_at_its_place(kept):
    given = numbered()
    before = given.arrays["labels"].copy()
    for seed in range(20):
        free, found = drawn(N, seed), bootstrapped(given, seed, kept).arrays["labels"]
        assert found[kept] == kept
        np.testing.assert_array_equal(np.delete(found, kept), np.delete(free, kept))
    np.testing.assert_array_equal(given.arrays["labels"], before)


def test_equal_seeds_draw_the_same_and_others_do_not():
    assert bootstrapped(numbered(), 5).digest() == bootstrapped(numbered(), 5).digest()
    assert len({bootstrapped(numbered(), seed).digest() for seed in range(8)}) == 8


def test_samples_are_drawn_evenly_with_replacement():
    counts = np.stack([np.bincount(drawn(200, seed), minlength=200) for seed in range(400)])
    assert (counts.sum(axis=1) == 200).all()
    # A sample is left out of 1/e of the bootstraps, and stands in one on average.
    assert (counts == 0).mean() == pytest.approx((1 - 1 / 200) ** 200, abs=0.01)
    assert np.abs(counts.mean(axis=0) - 1).max() < 5 / 400**0.5
