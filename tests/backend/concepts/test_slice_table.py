"""Scores over seeds: means, intervals, and sentences that say no more than the numbers do."""

from __future__ import annotations

import pytest

from backend.bootstrap import interval
from backend.concepts.slice_metrics import METRICS
from backend.concepts.slice_table import remarks, rows

TITLES = {"cb_slice": "CB-SLICE", "kmeans": "K-means", "random": "Random slices"}


def values(seconds=None, undefined=None, **metrics):
    """What a score says: 0.5 of everything but these."""
    known = {metric.id: 0.5 for metric in METRICS} | metrics
    return {"metrics": known, "undefined": undefined or {}, "seconds": seconds}


def seeded(*found):
    return dict(enumerate(found))


def told(**found):
    return remarks(rows(found), TITLES)


def ahead(**found):
    """The remarks on who is ahead, in a table that has a random row without an advantage."""
    return [said for said in told(**found) if "ahead" in said]


def test_a_row_has_means_and_bootstrap_intervals() -> None:
    mgf, spread = [0.2, 0.4, 0.9], [3.0, 4.0, 8.0]
    pairs = zip(mgf, spread, strict=True)
    [row] = rows({"kmeans": seeded(*(values(mgf=a, slices=b, seconds=2 * b) for a, b in pairs))})
    assert row.explainer == "kmeans"
    assert row.metrics["mgf"] == pytest.approx(0.5)
    assert row.metrics["slices"] == pytest.approx(5.0)
    assert row.seconds == pytest.approx(10.0)
    assert row.by_seed["mgf"] == {0: 0.2, 1: 0.4, 2: 0.9}
    expected = interval(mgf)
    assert row.intervals["mgf"] == (expected.low, expected.high)
    assert row.intervals["mgf"][0] < 0.5 < row.intervals["mgf"][1]
    assert row.intervals["purity"] == (0.5, 0.5)
    assert set(row.metrics) == {metric.id for metric in METRICS}


def test_rows_keep_their_order() -> None:
    found = {name: seeded(values()) for name in ("random", "cb_slice", "kmeans")}
    assert [row.explainer for row in rows(found)] == ["random", "cb_slice", "kmeans"]


def test_seeds_without_a_value_are_left_out_of_the_mean() -> None:
    reason = {"mgf": "No planted group has 10 errors or more."}
    [row] = rows({"kmeans": {4: values(mgf=None, undefined=reason), 5: values(mgf=0.8)}})
    assert (row.metrics["mgf"], row.by_seed["mgf"]) == (0.8, {5: 0.8})
    assert "mgf" not in row.intervals
    assert row.undefined == {}
    [nothing] = rows({"kmeans": {4: values(mgf=None, undefined=reason)}})
    assert (nothing.metrics["mgf"], nothing.by_seed["mgf"]) == (None, {})
    assert nothing.undefined == reason


def test_one_seed_has_no_interval_and_unknown_seconds_none() -> None:
    [row] = rows({"kmeans": seeded(values())})
    assert row.intervals == {}
    assert row.seconds is None


def test_a_control_that_is_ahead_is_named_with_its_lead() -> None:
    ours = [values(mgf=0.3, slices=2.0), values(mgf=0.5, slices=4.0)]
    theirs = [values(mgf=0.4, slices=1.0), values(mgf=0.7, slices=2.0)]
    assert ahead(cb_slice=seeded(*ours), kmeans=seeded(*theirs)) == [
        "K-means is ahead of CB-SLICE: group frequency +0.150, slices a group -1.500."
    ]


def test_being_behind_or_level_is_no_remark() -> None:
    ours = values(mgf=0.6, slices=2.0)
    worse, same = values(mgf=0.5, slices=3.0), values(mgf=0.6, slices=2.0)
    assert ahead(cb_slice=seeded(ours), kmeans=seeded(worse), random=seeded(same)) == []


def test_a_lead_whose_interval_holds_zero_is_within_chance() -> None:
    ours = [values(mgf=x, slices=4.0) for x in (0.5, 0.5, 0.5)]
    theirs = [values(mgf=x, slices=y) for x, y in ((0.9, 1.0), (0.45, 5.0), (0.45, 5.0))]
    assert ahead(cb_slice=seeded(*ours), random=seeded(*theirs)) == [
        "Random slices is ahead of CB-SLICE: group frequency +0.100 (within chance), "
        "slices a group -0.333 (within chance)."
    ]


def test_one_seed_says_nothing_of_chance() -> None:
    [said] = ahead(cb_slice=seeded(values(mgf=0.3)), kmeans=seeded(values(mgf=0.9)))
    assert said == "K-means is ahead of CB-SLICE: group frequency +0.600."


def test_methods_are_compared_on_the_seeds_both_have() -> None:
    ours = {0: values(mgf=0.9), 1: values(mgf=0.2)}
    theirs = {0: values(mgf=None), 1: values(mgf=0.3)}
    [said] = ahead(cb_slice=ours, kmeans=theirs)  # 0.55 and 0.3 on average
    assert said == "K-means is ahead of CB-SLICE: group frequency +0.100."


def test_a_table_without_the_method_compares_nothing() -> None:
    found = {"kmeans": seeded(values(mgf=0.9)), "random": seeded(values())}
    assert told(**found) == []


@pytest.mark.parametrize(
    ("kmeans", "random", "said"),
    [
        (0.9499, 0.2, None),
        (0.95, 0.2, "K-means reaches 0.95 too"),
        (0.3, 1.0, "Random slices reaches 0.95 too"),
        (1.0, 0.96, "K-means and Random slices reach 0.95 too"),
        (None, 0.2, None),
    ],
)
def test_a_control_as_good_as_can_be_saturates_precision(kmeans, random, said) -> None:
    found = told(
        cb_slice=seeded(values(precision_at_10=1.0)),
        kmeans=seeded(values(precision_at_10=kmeans)),
        random=seeded(values(precision_at_10=random)),
    )
    if said is None:
        assert found == []
    else:
        assert found == [
            f"Precision@10 is saturated: {said}. Compare completeness and the number of slices "
            "a group is split over."
        ]


def test_a_method_that_is_no_control_saturates_nothing() -> None:
    full = seeded(values(precision_at_10=1.0))
    assert told(cb_slice=full, domino=full, random=seeded(values())) == []


def test_a_table_without_chance_says_so() -> None:
    missing = "There is no random row: add Random to see what chance gives."
    assert told(cb_slice=seeded(values()), kmeans=seeded(values())) == [missing]
    assert missing not in told(cb_slice=seeded(values()), random=seeded(values()))
