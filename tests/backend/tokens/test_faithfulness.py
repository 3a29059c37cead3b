"""The harness on a model whose answer is a known sum: closed forms, oracles and guards."""

import itertools
import math

import numpy as np
import pytest
from pydantic import ValidationError

from backend.bundle import canonical_json
from backend.errors import Cancelled, InputError
from backend.tokens import ablation, metrics
from backend.tokens.explanation import Target, TokenExplanation
from backend.tokens.faithfulness import subject_scores
from tests.backend.tokens.linear import (
    Linear,
    attribution,
    renamed,
    scored,
)
from tests.fake import FakeRun

WEIGHTS = (0.1, 1.5, 0.2, 0.9, 0.3, 2.0, 0.4, 0.6)
OPERATORS = ("key_masking", "neutral")


def values(explanation, operator="key_masking"):
    return explanation.values["metrics"][operator]


def probability(kept):
    return math.exp(-1.0 + sum(WEIGHTS[i] for i in kept))


@pytest.mark.parametrize("operator", OPERATORS)
def test_comprehensiveness_and_sufficiency_are_the_closed_form(operator):
    found = values(scored(Linear(WEIGHTS), WEIGHTS), operator)
    order = sorted(range(8), key=lambda i: -WEIGHTS[i])
    full = probability(range(8))
    drops, rests = [], []
    for k, top in ((1, 1), (5, 1), (10, 1), (20, 2), (50, 4)):
        drops.append(full - probability(order[top:]))
        rests.append(full - probability(order[:top]))
        assert found[f"comprehensiveness@{k}"] == pytest.approx(drops[-1], rel=1e-5)
        assert found[f"sufficiency@{k}"] == pytest.approx(rests[-1], rel=1e-5)
    assert found["comprehensiveness"] == pytest.approx(np.mean(drops), rel=1e-5)
    assert found["sufficiency"] == pytest.approx(np.mean(rests), rel=1e-5)


@pytest.mark.parametrize("operator", OPERATORS)
def test_curves_and_areas_are_the_closed_form(operator):
    scores = np.array([3.0, 1, 4, 1.5, 9, 2, 6, 5])
    explanation = scored(Linear(WEIGHTS), scores, groups=4)
    order = np.argsort(-scores)
    expected = {
        "morf": [probability(order[cut:]) for cut in (0, 2, 4, 6, 8)],
        "lerf": [probability(order[: 8 - cut]) for cut in (0, 2, 4, 6, 8)],
    }
    for name, curve in expected.items():
        found = explanation.arrays[f"curve/{operator}/{name}"]
        np.testing.assert_allclose(found, curve, rtol=1e-5)
        area = sum((a + b) / 2 for a, b in itertools.pairwise(curve)) / 4
        assert values(explanation, operator)[f"{name}_auc"] == pytest.approx(area, rel=1e-5)
    np.testing.assert_allclose(explanation.arrays["fractions"], [0, 0.25, 0.5, 0.75, 1])
    assert values(explanation, operator)["gap"] == pytest.approx(
        values(explanation, operator)["lerf_auc"] - values(explanation, operator)["morf_auc"]
    )


def test_the_true_weights_are_the_best_of_all_rankings_and_their_reverse_the_worst():
    weights = (0.2, 1.1, 0.5, 0.8)
    model = Linear(weights)
    every = [values(scored(model, order)) for order in itertools.permutations((1.0, 2, 3, 4))]
    best, worst = values(scored(model, weights)), values(scored(model, [-w for w in weights]))
    for metric in metrics.METRICS[:6]:
        column = [row[metric.id] for row in every]
        ends = (max(column), min(column)) if metric.higher_is_better else (min(column), max(column))
        assert (best[metric.id], worst[metric.id]) == pytest.approx(ends), metric.id


def test_random_lies_between_the_oracle_and_its_reverse_and_has_a_spread():
    model = Linear(WEIGHTS)
    best, worst = (values(scored(model, w)) for w in (WEIGHTS, [-w for w in WEIGHTS]))
    explanation = scored(model, draws=20)
    random, spread = values(explanation), explanation.values["spread"]["key_masking"]
    assert worst["comprehensiveness"] < random["comprehensiveness"] < best["comprehensiveness"]
    assert best["rise"] < random["rise"] < worst["rise"]
    # each reversed pair of rankings swaps the two curves
    assert random["gap"] == pytest.approx(0.0, abs=1e-6)
    for name, (low, high) in spread.items():
        assert low <= random[name] <= high
    assert spread["comprehensiveness"][0] < spread["comprehensiveness"][1]
    assert explanation.arrays["spread/neutral/morf"].shape == (2, 9)
    assert explanation.values["draws"] == 20


def test_random_rows_depend_on_the_seed_alone():
    one, same, other = (
        scored(Linear(WEIGHTS), run=FakeRun(seed=seed), draws=5) for seed in (3, 3, 4)
    )
    assert one.digest() == same.digest()
    assert values(one)["rise"] != values(other)["rise"]


def test_each_distinct_removal_is_computed_once_and_counted():
    model, run = Linear(WEIGHTS), FakeRun()
    scored(model, run=run, draws=20)
    assert run.forward == len(model.rows)
    assert len(set(model.rows)) * 2 == len(model.rows)  # once an operator
    assert run.reports[-1][:2] == (run.forward, run.forward)


def test_the_batch_size_does_not_matter(monkeypatch):
    large = scored(Linear(WEIGHTS, pair=0.7), WEIGHTS)
    monkeypatch.setattr(ablation, "ROWS_PER_BATCH", 1)
    assert scored(Linear(WEIGHTS, pair=0.7), WEIGHTS).digest() == large.digest()


def test_reordering_tokens_with_their_scores_changes_nothing():
    scores = np.array([3.0, 1, 4, 1.5, 9, 2, 6, 5])
    order = np.random.default_rng(1).permutation(8)
    one = values(scored(Linear(WEIGHTS, gold=(2, 6)), scores))
    moved = tuple(int(np.flatnonzero(order == index)[0]) + 1 for index in (1, 5))
    other = values(scored(Linear(np.array(WEIGHTS)[order], gold=moved), scores[order]))
    assert one == pytest.approx(other, rel=1e-6)


def test_planted_evidence():
    model = Linear(WEIGHTS, gold=(2, 6))  # the weights 1.5 and 2.0
    found = values(scored(model, WEIGHTS))
    assert found["recovery"] == 0.5  # one of two fits into ceil(0.8) = 1
    assert found["mass_on_gold"] == pytest.approx(3.5 / sum(WEIGHTS))
    assert values(scored(model, [-w for w in WEIGHTS]))["recovery"] == 0.0
    assert values(scored(model, draws=8))["mass_on_gold"] == pytest.approx(2 / 8)


def test_no_planted_evidence_is_a_reason_not_a_number():
    explanation = scored(Linear(WEIGHTS), WEIGHTS)
    for name in ("recovery", "mass_on_gold"):
        assert values(explanation)[name] is None
        reason = explanation.values["undefined"][f"key_masking/{name}"]
        assert reason == "no planted evidence in this input"
    # a special token is not ranked, so evidence on it alone is none
    assert values(scored(Linear(WEIGHTS, gold=(0,)), WEIGHTS))["recovery"] is None


def test_sign_policy():
    weights = (0.5, -2.0, 1.0, 0.1)
    by_sign = scored(Linear(weights), weights)
    by_size = scored(Linear(weights), weights, rank_by="absolute")
    positive = scored(Linear(weights), np.abs(weights))
    assert values(by_size) == values(positive)
    assert values(by_sign)["comprehensiveness"] > values(by_size)["comprehensiveness"]


def test_a_prompt_that_only_hurts_has_no_rise_but_a_comprehensiveness():
    weights = (-0.5, -1.0, -0.25)
    explanation = scored(Linear(weights), weights)
    found, reasons = values(explanation), explanation.values["undefined"]
    assert found["rise"] is None
    assert found["mas"] is None
    assert "does not make the answer less likely" in reasons["key_masking/rise"]
    assert found["comprehensiveness"] < 0


def test_scores_without_mass_have_no_mas_but_a_rise():
    explanation = scored(Linear(WEIGHTS), np.zeros(8))
    assert values(explanation)["rise"] is not None
    assert values(explanation)["mas"] is None
    assert "more than zero" in explanation.values["undefined"]["neutral/mas"]
    assert explanation.notes == ("All scores are equal (0): the ranking is the order of the text.",)
    ordered = scored(Linear(WEIGHTS), np.arange(8, 0, -1))
    assert values(explanation)["morf_auc"] == values(ordered)["morf_auc"]


def test_tokens_without_a_score_come_last_and_are_mentioned():
    scores = np.array(WEIGHTS)
    scores[[1, 5]] = np.nan
    last = np.array(WEIGHTS)
    last[[1, 5]] = -1.0, -2.0
    explanation = scored(Linear(WEIGHTS), scores)
    assert values(explanation)["morf_auc"] == values(scored(Linear(WEIGHTS), last))["morf_auc"]
    assert explanation.notes == ("2 of 8 tokens have no score and are ranked last.",)


def test_one_token_to_rank_is_undefined_with_a_reason():
    explanation = scored(Linear((1.0,)), (1.0,))
    for operator in OPERATORS:
        assert set(values(explanation, operator).values()) == {None}
    assert "one token" in explanation.values["undefined"]["neutral/comprehensiveness"]
    assert set(values(scored(Linear((1.0,)))).values()) == {None}


def test_two_tokens_are_enough():
    found = values(scored(Linear((1.0, 0.5)), (1.0, 0.5)))
    assert found["comprehensiveness"] == pytest.approx(math.exp(0.5) - math.exp(-0.5), rel=1e-5)


@pytest.mark.parametrize("base", [float("nan"), float("-inf")])
def test_a_model_without_finite_probabilities(base):
    explanation = scored(Linear(WEIGHTS, base=base), WEIGHTS)
    assert values(explanation)["rise"] is None
    assert "no finite" in explanation.values["undefined"]["key_masking/rise"]
    canonical_json(explanation.values)  # would refuse a NaN


def test_a_span_of_the_answer_is_scored_alone():
    one = scored(Linear(WEIGHTS), WEIGHTS, target=Target(ids=(5, 6), span=(1,)))
    assert one.explained == (10,)
    whole = scored(Linear(WEIGHTS), WEIGHTS)
    assert values(one)["comprehensiveness"] == pytest.approx(values(whole)["comprehensiveness"])


def test_the_result_survives_storage():
    explanation = renamed(scored(Linear(WEIGHTS), draws=3), provenance=None)
    back = TokenExplanation.from_bytes(explanation.to_bytes())
    assert back.digest() == explanation.digest()


def test_cancelling_stops_between_batches(monkeypatch):
    monkeypatch.setattr(ablation, "ROWS_PER_BATCH", 4)
    model = Linear(WEIGHTS)
    with pytest.raises(Cancelled):
        scored(model, run=FakeRun(cancel_after=2))
    assert len(model.rows) == 8


def test_what_cannot_be_scored():
    model = Linear(WEIGHTS)
    with pytest.raises(InputError, match="no answer"):
        scored(model, target=Target())
    good = attribution(model, WEIGHTS)
    for wrong, match in (
        (renamed(good, arrays={}), "no token scores"),
        (renamed(good, explained=(9,)), "another input or answer"),
        (renamed(good, arrays={"scores": np.zeros(3)}), r"\(3,\)"),
    ):
        with pytest.raises(InputError, match=match):
            subject_scores(wrong, good.sequence, good.explained)


@pytest.mark.parametrize("wrong", [{"groups": 1}, {"draws": 0}, {"rank_by": "size"}, {"k": 3}])
def test_parameters_are_checked(wrong):
    with pytest.raises(ValidationError):
        scored(Linear(WEIGHTS), WEIGHTS, **wrong)
