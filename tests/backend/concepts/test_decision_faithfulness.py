"""Faithfulness of concept rankings: a case by hand, an oracle, and random rankings."""

import numpy as np
import pytest

from backend.concepts import concept_metrics as metrics
from backend.concepts.concept_faithfulness import ConceptFaithfulness
from backend.concepts.concept_flip import ConceptFlip
from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget
from backend.concepts.linear_contributions import LinearContributions
from backend.errors import Cancelled, InputError
from tests.backend.concepts.decisions import decide, table
from tests.fake import FakeRun

UP = [m.id for m in metrics.METRICS if m.higher_is_better]


def subject(scores, sample=3, label=None, given=None):
    label = int(given.arrays["predictions"][sample]) if label is None else label
    return ConceptExplanation(
        arrays={"scores": np.asarray(scores, np.float32)},
        values={"kind": "decision", "sample": sample, "label": label},
    )


def score(given, about=None, *, sample=3, seed=0, **parameters):
    run = FakeRun(subject=about, seed=seed)
    return decide(ConceptFaithfulness, given, sample=sample, run=run, **parameters)


def row(found):
    return found.values["metrics"]["baseline"]


def by_hand():
    """Two concepts, both on; log-odds 2 a + b - 1 of class 1; "absent" is (0, 0)."""
    return ConceptTable(
        arrays={
            "logits": np.array([[4.0, 4.0]], np.float32),
            "concepts": np.ones((1, 2), np.int8),
            "labels": np.array([1], np.int32),
            "predictions": np.array([1], np.int32),
            "head/0/weight": np.array([[2.0, 1.0]], np.float32),
            "head/0/bias": np.array([-1.0], np.float32),
        }
    )


def test_two_concepts_by_hand():
    given = by_hand()
    found = score(given, subject([2, 1], 0, given=given), sample=0, baseline="absent")
    np.testing.assert_allclose(found.arrays["fractions"], [0, 0.5, 1])
    np.testing.assert_allclose(found.arrays["logit/baseline/deletion"], [2, 0, -1])
    np.testing.assert_allclose(found.arrays["logit/baseline/insertion"], [-1, 1, 2])
    p = {z: 1 / (1 + np.exp(-z)) for z in (-1, 0, 1, 2)}
    np.testing.assert_allclose(found.arrays["curve/baseline/deletion"], [p[2], 0.5, p[-1]])
    np.testing.assert_allclose(found.arrays["curve/baseline/insertion"], [p[-1], p[1], p[2]])
    deletion, insertion = (p[2] + p[-1] + 1) / 4, (p[2] + p[-1] + 2 * p[1]) / 4
    assert row(found) == pytest.approx(
        {
            "deletion_auc": deletion,
            "insertion_auc": insertion,
            "insertion_gap": insertion - deletion,
            "deletion_logit": 0.25,
            "insertion_logit": 0.75,
            "comprehensiveness": p[2] - 0.5,
            "sufficiency": p[2] - p[1],
        }
    )
    assert set(row(found)) == {m.id for m in metrics.METRICS}
    turned = row(score(given, subject([1, 2], 0, given=given), sample=0, baseline="absent"))
    assert turned["comprehensiveness"] == pytest.approx(p[2] - p[1])


@pytest.mark.parametrize("hidden", [(), (8,)])
def test_curves_equal_a_loop(hidden):
    given = table(k=6, m=4, hidden=hidden)
    head, x, b = given.head(), given.head_inputs()[3], given.head_inputs().mean(axis=0)
    label = int(given.arrays["predictions"][3])
    scores = np.array([0.5, -1.0, 2.0, 0.5, 0.0, -3.0])
    found = score(given, subject(scores, given=given))
    order = [2, 0, 3, 4, 1, 5]
    for done in range(7):
        deleted, inserted = x.copy(), b.copy()
        deleted[order[:done]] = b[order[:done]]
        inserted[order[:done]] = x[order[:done]]
        for name, point in (("deletion", deleted), ("insertion", inserted)):
            p, z = head.probabilities(point)[label], head.logits(point)[label]
            assert found.arrays[f"curve/baseline/{name}"][done] == pytest.approx(p)
            assert found.arrays[f"logit/baseline/{name}"][done] == pytest.approx(z)
    p = [head.probabilities(np.where(np.isin(range(6), order[:n]), b, x))[label] for n in (1, 2, 3)]
    full = head.probabilities(x)[label]
    drops = [full - p[n - 1] for n in (1, 1, 1, 2, 3)]  # 1, 5, 10, 20 and 50 % of six
    assert row(found)["comprehensiveness"] == pytest.approx(np.mean(drops))
    assert "equal scores" in found.notes[0]


@pytest.mark.parametrize("bottleneck", ["hard", "soft"])
@pytest.mark.parametrize("m", [2, 5])
def test_exact_contributions_beat_random_rankings(m, bottleneck):
    """Of a linear head; its log-odds for two classes, where the ranking is the best there is."""
    for sample in range(4):
        given = table(k=14, m=m, bottleneck=bottleneck, n=60, seed=sample)
        about = decide(LinearContributions, given, sample=sample, contrast="runner-up")
        best, random = (row(score(given, a, sample=sample)) for a in (about, None))
        band = score(given, sample=sample).values["spread"]["baseline"]
        for name in ("insertion_gap", "comprehensiveness", "deletion_logit", "insertion_logit"):
            low, high = band[name]
            assert low <= random[name] <= high
            assert best[name] > high if name in UP else best[name] < low


def test_the_exact_ranking_is_the_best_of_all():
    import itertools

    given = table(k=5, m=2, bottleneck="soft")
    best = row(score(given, decide(LinearContributions, given)))
    for order in itertools.permutations(range(5)):
        other = row(score(given, subject(order, given=given)))
        assert best["insertion_gap"] >= other["insertion_gap"] - 1e-12
        assert best["deletion_logit"] <= other["deletion_logit"] + 1e-12


def test_a_turned_ranking_has_the_opposite_gap():
    given = table(k=7, hidden=(6,))
    scores = np.array([3.0, -2, 1, 5, -4, 0, 2])
    one, other = (row(score(given, subject(s, given=given))) for s in (scores, -scores))
    assert one["insertion_gap"] == pytest.approx(-other["insertion_gap"])


def test_random_rankings_have_a_spread_and_follow_the_seed():
    given = table(k=9, m=3)
    found, same, other = (score(given, seed=seed) for seed in (1, 1, 2))
    assert row(found) == row(same) != row(other)
    assert found.values["draws"] == 20
    assert found.values["seconds"] == 0
    assert set(found.values["spread"]["baseline"]) == set(row(found))
    low, high = found.arrays["spread/baseline/deletion"]
    assert (low <= high).all()
    assert low[0] == high[0] == pytest.approx(found.arrays["curve/baseline/deletion"][0])
    many = row(score(given, draws=200, seed=3))
    assert abs(many["insertion_gap"]) < 0.1
    assert score(given, decide(ConceptFlip, given)).values["spread"] == {}


def test_absolute_ranking_ranks_by_size():
    given = table(k=4)
    signed, absolute = np.array([3.0, -2.0, 1.0, -4.0]), np.array([3.0, 2.0, 1.0, 4.0])
    a = score(given, subject(signed, given=given), rank_by="absolute")
    assert row(a) == row(score(given, subject(absolute, given=given)))


def test_many_concepts_go_several_at_once():
    assert metrics.counts(3).tolist() == [0, 1, 2, 3]
    many = metrics.counts(1001)
    assert (many[0], many[-1], len(many)) == (0, 1001, metrics.MOST_POINTS + 1)
    assert set(np.diff(many)) <= {5, 6}
    assert metrics.level_counts(112) == [2, 6, 12, 23, 56]
    assert metrics.ranking(np.array([np.nan, 1.0, 2.0, 1.0])).tolist() == [2, 1, 3, 0]


def test_one_concept_has_no_ranking():
    given = table(k=1, m=2)
    found = score(given, decide(LinearContributions, given))
    assert set(row(found).values()) == {None}
    assert "one concept" in found.values["undefined"]["baseline/insertion_gap"]
    assert ConceptExplanation.from_bytes(found.to_bytes()).values == found.values


@pytest.mark.parametrize("about", [{"sample": 4}, {"label": 0, "sample": 3}])
def test_another_decision_is_refused(about):
    given = table()
    given.arrays["predictions"][:] = 1
    with pytest.raises(InputError, match="another decision"):
        score(given, subject(np.zeros(5), given=given, **about))
    with pytest.raises(InputError, match="another decision"):
        score(given, subject(np.zeros(4), given=given))


def test_slices_are_refused():
    slices = ConceptExplanation(arrays={}, values={"kind": "slices"})
    with pytest.raises(InputError, match="no scores of concepts"):
        score(table(), slices)


def test_cancelled():
    run = FakeRun(cancel_after=2)
    with pytest.raises(Cancelled):
        ConceptFaithfulness().explain(
            None, table(), ConceptTarget(), ConceptFaithfulness.Parameters(), run
        )
