"""CB-SLICE as a whole: planted failures, controls, refusals, and what its result holds."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from backend.concepts.cb_slice import CBSlice
from backend.concepts.described import reading
from backend.concepts.explanation import ConceptExplanation, ConceptTarget
from backend.concepts.slices import Keyword, Slice
from backend.errors import Cancelled, InputError
from tests.backend.concepts.failing import FAILING, failing_table
from tests.fake import FakeRun


def explain(table, run=None, **parameters):
    method = CBSlice()
    return method.explain(
        None, table, ConceptTarget(), method.Parameters(**parameters), run or FakeRun()
    )


@pytest.fixture(scope="module")
def table():
    return failing_table()


@pytest.fixture(scope="module")
def found(table):
    return explain(table)


@pytest.mark.parametrize("slices", [0, 6])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_failing_concept_is_the_first_mispredicted_keyword(seed, slices):
    found = explain(failing_table(seed), FakeRun(seed=seed), slices=slices)
    for each in found.values["slices"]:
        wrong = [word for word in each["keywords"] if word["mispredicted"]]
        assert wrong[0]["concept"] == FAILING
    top = found.values["slices"][0]
    assert FAILING in [word["concept"] for word in top["keywords"][:3]]
    assert top["reading"].startswith('concept failure: the model says "')
    assert "concept 2" in top["reading"]


def test_a_label_heads_failure_reads_as_one():
    table = failing_table(flip=0.0)
    labels = table.arrays["labels"].copy()
    rare = (table.arrays["concepts"][:, 1] == 1) & (table.arrays["concepts"][:, FAILING] == 0)
    labels[rare] = 1
    found = explain(dataclasses.replace(table, arrays=table.arrays | {"labels": labels}))
    assert all(
        each["reading"].startswith("rare combination or label-head failure")
        for each in found.values["slices"]
    )


def flags(found):
    return np.mean([
        word["mispredicted"] for each in found.values["slices"] for word in each["keywords"]
        if word["concept"] == FAILING
    ])  # fmt: skip


def test_permuted_truth_changes_the_flags(table, found):
    rows = table.errors
    concepts = table.arrays["concepts"].copy()
    concepts[rows] = concepts[np.random.default_rng(0).permutation(rows)]
    permuted = dataclasses.replace(table, arrays=table.arrays | {"concepts": concepts})
    assert flags(found) == 1.0
    assert flags(explain(permuted)) < 0.8


def test_what_the_result_holds(table, found):
    e, k = len(table.errors), 6
    K, d = len(found.values["slices"]), len(found.arrays["kept"])
    arrays = found.arrays
    np.testing.assert_array_equal(arrays["errors"], table.errors)
    assert arrays["memberships"].shape == (e, K)
    np.testing.assert_allclose(arrays["memberships"].sum(axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(arrays["slices"], arrays["memberships"].argmax(axis=1))
    assert arrays["ectp"].shape == (2, k)
    for name in ("pearson", "concept_precision", "concept_recall", "concept_f1"):
        assert (arrays[name].shape, arrays[name].dtype) == ((k,), np.float32)
    assert arrays["objective"].shape == (61,)
    assert arrays["keywords/paper"].shape == arrays["keywords/percentile"].shape == (K, d)
    assert arrays["k/values"].tolist() == [4, 6, 8, 10, 14, 18]
    chosen = arrays["k/values"].tolist().index(found.values["chosen_slices"])
    assert arrays["k/objectives"][chosen] == pytest.approx(arrays["objective"][-1])
    scores = [each["score"] for each in found.values["slices"]]
    assert scores == sorted(scores, reverse=True)
    assert found.values["kept_by"] == "ectp"
    assert found.values["fidelity"] is None
    assert -1 <= found.values["spearman"] <= 1
    back = ConceptExplanation.from_bytes(found.to_bytes())
    assert back.digest() == found.digest()


def test_each_slice_counts_its_members(table, found):
    for number, each in enumerate(found.values["slices"]):
        words = tuple(
            Keyword(word["concept"], word["score"], word["predicted"], word["true"])
            for word in each["keywords"]
        )
        assert each["reading"] == reading(Slice(1, 1.0, 1.0, words), table.concept_names)
        rows = table.errors[found.arrays["slices"] == number]
        assert each["size"] == len(rows) > 0
        pairs = [(table.arrays["labels"][i], table.arrays["predictions"][i]) for i in rows]
        assert {(a, b): n for a, b, n in each["confusion"]} == Counter(pairs)
        counts = [n for *_, n in each["confusion"]]
        assert counts == sorted(counts, reverse=True)
        assert set(each["parts"]) == {"MC", "SC", "rho"}
        members = found.arrays["memberships"][found.arrays["slices"] == number, number]
        assert each["weight"] == pytest.approx(members.sum(), rel=1e-5)
        ranked = np.argsort(-found.arrays["keywords/paper"][number], kind="stable")
        words = [word["concept"] for word in each["keywords"]]
        assert words == found.arrays["kept"][ranked][:5].tolist()
        p = table.probabilities[rows][:, words[0]]
        assert each["keywords"][0]["predicted"] == pytest.approx(
            np.average(p, weights=members), rel=1e-4
        )


def test_equal_seeds_equal_bytes_and_others_differ(table, found):
    assert explain(table).to_bytes() == found.to_bytes()
    other = explain(table, FakeRun(seed=1))
    assert not np.array_equal(other.arrays["objective"], found.arrays["objective"])


def test_stability_compares_the_fits(table):
    three = explain(table, slices=6).values["stability"]
    assert len(three["pairs"]) == 3
    assert three["mean"] == pytest.approx(np.mean(three["pairs"]))
    alone = explain(table, slices=6, stability_seeds=1)
    assert alone.values["stability"] == {"mean": None, "pairs": []}
    again = explain(table, slices=6, stability_seeds=2)
    np.testing.assert_array_equal(alone.arrays["slices"], again.arrays["slices"])


def test_empty_components_are_left_out(table):
    found = explain(table, slices=30, start="published", stability_seeds=1)
    K = len(found.values["slices"])
    assert K < 30 == found.values["chosen_slices"]
    assert set(found.arrays["slices"].tolist()) == set(range(K))
    np.testing.assert_allclose(found.arrays["memberships"].sum(axis=1), 1, atol=1e-5)


def test_a_fit_to_all_samples_still_slices_errors_alone(table, found):
    every = explain(table, scope="all")
    np.testing.assert_array_equal(every.arrays["errors"], table.errors)
    assert adjusted_rand_score(every.arrays["slices"], found.arrays["slices"]) < 1


def test_the_intervention_decides_the_keywords_order(table):
    found = explain(table, slices=4, intervention="percentile", concepts="0,1,2,3,4,5", keywords=6)
    assert found.values["kept_by"] == "list"
    for row, each in zip(found.arrays["keywords/percentile"], found.values["slices"], strict=True):
        words = [word["concept"] for word in each["keywords"]]
        assert words == np.argsort(-row, kind="stable").tolist()


def test_too_few_errors_are_refused_with_a_sentence(table):
    labels = table.arrays["predictions"].copy()
    labels[:19] = 1 - labels[:19]
    few = dataclasses.replace(table, arrays=table.arrays | {"labels": labels})
    with pytest.raises(InputError, match=r"Only 19 of 800 samples.*Bring more"):
        explain(few)
    labels[19] = 1 - labels[19]
    enough = dataclasses.replace(table, arrays=table.arrays | {"labels": labels})
    assert explain(enough).arrays["k/values"].tolist() == [4]


def test_more_slices_than_errors_are_no_error(table):
    rows = np.concatenate([table.errors[:25], np.arange(100)])
    arrays = {
        name: array if name.startswith("head/") else array[rows]
        for name, array in table.arrays.items()
    }
    found = explain(dataclasses.replace(table, arrays=arrays), slices=50)
    assert 1 <= len(found.values["slices"]) <= len(found.arrays["errors"])


@pytest.mark.parametrize("after", [1, 2, 30, 400])
def test_it_can_be_cancelled_anywhere(table, after):
    run = FakeRun(cancel_after=after)
    with pytest.raises(Cancelled):
        explain(table, run)
    assert len(run.reports) == after


def test_progress_counts_up_to_its_total(table):
    run = FakeRun()
    explain(table, run, slices=5, epochs=7, restarts=2)
    fitting = [(done, total) for done, total, what in run.reports if what == "fitting 5 slices"]
    assert fitting == [(i, 42) for i in range(42)]


def test_a_reading_names_what_the_model_says():
    def slice(predicted, true):
        return Slice(1, 1.0, 1.0, (Keyword(1, 2.0, predicted, true),))

    names = ("red", "striped")
    assert '"striped" here and is wrong' in reading(slice(0.9, 0.1), names)
    assert '"no striped" here and is wrong' in reading(slice(0.1, 0.9), names)
    assert '"no striped" is right here' in reading(slice(0.1, 0.2), names)
    assert '"concept 1" is right' in reading(slice(0.9, 0.9), ())
    assert reading(Slice(1, 1.0, 1.0), names) == ""


def test_a_reading_names_the_worst_of_the_first_three_keywords():
    right, wrong, worse = (Keyword(0, 9, 0.9, 0.9), Keyword(1, 8, 0.6, 0.4), Keyword(2, 7, 0.1, 1))
    names = ("red", "big", "striped", "round")
    assert '"no striped" here' in reading(Slice(1, 1.0, 1.0, (right, wrong, worse)), names)
    last = (right, right, right, worse)
    assert '"red" is right' in reading(Slice(1, 1.0, 1.0, last), names)
