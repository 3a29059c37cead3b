"""The score step: planted groups, no groups, small groups, other tables, and chance."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from backend.concepts.explanation import ConceptExplanation, ConceptTarget
from backend.concepts.kmeans_slices import KMeansSlices
from backend.concepts.random_slices import RandomSlices
from backend.concepts.slice_metrics import METRICS
from backend.concepts.slice_score import NO_GROUPS, SliceScore
from backend.errors import InputError
from tests.backend.concepts.planted import planted
from tests.fake import FakeRun


def slicing(method, table, **parameters):
    return method().explain(
        None, table, ConceptTarget(), method.Parameters(**parameters), FakeRun()
    )


def scored(table, subject, seed=0, **parameters):
    run = FakeRun(subject=subject, seed=seed)
    chosen = SliceScore.Parameters(**parameters)
    return SliceScore().explain(None, table, ConceptTarget(), chosen, run).values


def test_planted_groups_that_are_found():
    table = planted()
    found = scored(table, slicing(KMeansSlices, table, slices=4))
    assert found["kind"] == "score"
    assert found["metrics"] == pytest.approx(
        {m.id: 1.0 for m in METRICS}  # one slice a group is 1 as well
    )
    assert found["undefined"] == {}
    assert found["saturated"]
    assert found["groups_by"] == "planted"
    assert [one["name"] for one in found["per_group"]] == list(table.planted)
    assert {one["slice"] for one in found["per_group"]} == {0, 1, 2, 3}
    assert "spread" not in found


def test_only_the_planted_groups_count():
    table = dataclasses.replace(planted(), planted=("group 2", "group 0"))
    found = scored(table, slicing(KMeansSlices, table))
    assert [one["group"] for one in found["per_group"]] == [2, 0]


def test_without_planted_groups_those_that_fail_more_count():
    table = dataclasses.replace(planted(sizes=(60, 60)), planted=())
    arrays = dict(table.arrays)
    right = np.flatnonzero(arrays["groups"] == -1)
    groups = arrays["groups"].copy()
    groups[right] = 1
    table = dataclasses.replace(table, arrays={**arrays, "groups": groups})
    found = scored(table, slicing(KMeansSlices, table))
    # Group 1 now has 60 errors in 260 samples, the table 120 in 320.
    assert [one["group"] for one in found["per_group"]] == [0]
    assert found["groups_by"] == "underperforming"


def test_small_groups_are_listed():
    table = planted(sizes=(60, 9))
    subject = slicing(KMeansSlices, table)
    assert scored(table, subject)["left_out"] == {"group 1": 9}
    assert scored(table, subject, fewest=9)["left_out"] == {}
    none = scored(table, subject, fewest=100)
    assert none["left_out"] == {"group 0": 60, "group 1": 9}
    assert none["metrics"]["precision_at_10"] is None
    assert "No planted group has 100 errors" in none["undefined"]["precision_at_10"]
    assert none["metrics"]["purity"] is not None
    assert not none["saturated"]


@pytest.mark.parametrize("groups", ["absent", "none"])
def test_no_groups(groups):
    table = planted()
    arrays = {name: array for name, array in table.arrays.items() if name != "groups"}
    if groups == "none":
        arrays["groups"] = np.full(len(table), -1, dtype=np.int32)
    table = dataclasses.replace(table, arrays=arrays, planted=(), group_names=())
    for subject in (slicing(KMeansSlices, table), None):
        found = scored(table, subject)
        assert set(found["metrics"].values()) == {None}
        assert set(found["undefined"].values()) == {NO_GROUPS}


def test_chance_is_near_the_base_rate_and_far_from_found():
    table = planted(sizes=(100, 100, 100, 100))
    found = scored(table, None, slices=8, draws=50)
    # A slice holds a group about as often as the errors do.
    assert 0 < found["metrics"]["entropy_completeness"] < 0.05
    assert 0.4 < found["metrics"]["precision_at_10"] < 0.65
    low, high = found["spread"]["precision_at_10"]
    assert low < found["metrics"]["precision_at_10"] < high
    assert found["metrics"]["slices"] == pytest.approx(8, abs=0.1)
    assert found["draws"] == 50
    assert found["seconds"] == 0
    one = scored(table, slicing(RandomSlices, table, slices=8))["metrics"]["precision_at_10"]
    assert one == pytest.approx(found["metrics"]["precision_at_10"], abs=0.2)


def test_equal_seeds_give_equal_chance():
    table = planted()
    assert scored(table, None, seed=3) == scored(table, None, seed=3)
    assert scored(table, None, seed=3) != scored(table, None, seed=4)


def test_slices_of_all_samples_are_scored_by_the_errors():
    table = planted()
    subject = slicing(KMeansSlices, table, slices=4)
    everyone = np.arange(len(table))
    memberships = np.zeros((len(table), 4), dtype=np.float32)
    memberships[:, 0] = 1
    memberships[table.errors] = subject.arrays["memberships"]
    wider = dataclasses.replace(
        subject,
        arrays={
            "errors": everyone.astype(np.int32),
            "memberships": memberships,
            "slices": memberships.argmax(axis=1).astype(np.int32),
        },
    )
    assert scored(table, wider)["metrics"] == scored(table, subject)["metrics"]


def test_other_subjects_are_refused():
    table = planted()
    with pytest.raises(InputError, match="no slices"):
        scored(table, ConceptExplanation(arrays={}, values={"kind": "decision"}))
    with pytest.raises(InputError, match="another table"):
        scored(planted(seed=1), slicing(KMeansSlices, table))


def test_it_travels():
    table = planted()
    run = FakeRun(subject=slicing(KMeansSlices, table))
    found = SliceScore().explain(None, table, ConceptTarget(), SliceScore.Parameters(), run)
    assert ConceptExplanation.from_bytes(found.to_bytes()).values == found.values
