"""Faithfulness of maps: curves pixel by pixel, closed forms, an oracle against random maps."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from scipy.stats import pearsonr

from backend.errors import InputError
from backend.images.grad_cam import GradCam
from backend.images.image_faithfulness import ImageFaithfulness
from backend.images.image_metrics import METRICS, NO_OBJECT, NO_SPREAD, OF_OBJECT
from backend.images.integrated_gradients import IntegratedGradients
from tests.backend.images import made
from tests.backend.images.made import explain


def map_of(model, pictures, scores, image=0, label=None):
    """An explanation that is these scores."""
    found = explain(GradCam, model, pictures, image=image, label=label).explanation
    arrays = {**found.arrays, "scores": np.asarray(scores, dtype=np.float32)}
    return dataclasses.replace(found, arrays=arrays)


def scored(model, pictures, scores, image=0, label=None, seed=0, **parameters):
    subject = map_of(model, pictures, scores, image, label)
    return explain(
        ImageFaithfulness, model, pictures, image=image, label=label, seed=seed,
        subject=subject, **parameters,
    )  # fmt: skip


def probability(model, x, label):
    return float(made.logits(model, x).softmax(dim=1)[0, label])


def noise_map(seed=0):
    return np.random.default_rng(seed).normal(size=(made.SIDE, made.SIDE)).astype(np.float32)


@pytest.mark.parametrize(("deletion", "insertion"), [("grey", "blur"), ("black", "mean")])
def test_curves_are_what_taking_and_giving_pixels_does(cnn, photos, deletion, insertion):
    scores = noise_map()
    decision = made.decision(cnn, photos, 1, 2)
    ranked = np.argsort(-scores.ravel(), kind="stable")
    away, back = [], []
    for share in (0, 0.25, 0.5, 0.75, 1):
        on = np.zeros(scores.size, dtype=bool)
        on[ranked[: round(share * scores.size)]] = True
        on = torch.from_numpy(on.reshape(scores.shape))
        x, gone = decision.x, cnn.fill(decision.seen, deletion)
        hidden = cnn.fill(decision.seen, insertion)
        away.append(probability(cnn, torch.where(on, gone, x), 2))
        back.append(probability(cnn, torch.where(on, x, hidden), 2))
    found = scored(cnn, photos, scores, 1, 2, steps=4, deletion=deletion, insertion=insertion)
    np.testing.assert_allclose(found.arrays["curve/pixels/deletion"], away, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found.arrays["curve/pixels/insertion"], back, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found.arrays["fractions"], [0, 0.25, 0.5, 0.75, 1])
    numbers = found.values["metrics"]
    assert numbers["deletion"] == pytest.approx(np.trapezoid(away, dx=0.25), rel=1e-4)
    assert numbers["insertion"] == pytest.approx(np.trapezoid(back, dx=0.25), rel=1e-4)
    assert numbers["gap"] == pytest.approx(numbers["insertion"] - numbers["deletion"])


@pytest.mark.parametrize("label", [0, 1, 3])
def test_drop_and_increase_by_hand(cnn, photos, label):
    scores = noise_map(label)
    decision = made.decision(cnn, photos, 0, label)
    black = cnn.fill(decision.seen, "black")
    window = torch.from_numpy(np.maximum(scores, 0) / scores.max())
    left = probability(cnn, black + window * (decision.x - black), label)
    whole = probability(cnn, decision.x, label)
    numbers = scored(cnn, photos, scores, label=label).values["metrics"]
    assert numbers["drop"] == pytest.approx(max(0, 1 - left / whole), rel=1e-3, abs=1e-6)
    assert numbers["increase"] == (left > whole)


def test_what_each_part_adds_to_a_linear_model_correlates_perfectly(flat, photos):
    scores = explain(
        IntegratedGradients, flat, photos, label=2, baseline="grey", points="fixed", steps=1
    ).scores
    found = scored(flat, photos, scores, label=2).values["metrics"]
    assert found["correlation"] == pytest.approx(1, abs=1e-5)
    opposite = scored(flat, photos, -scores, label=2).values["metrics"]
    assert opposite["correlation"] == pytest.approx(-1, abs=1e-5)


def test_correlation_by_hand(cnn, photos):
    scores = noise_map(4)
    decision = made.decision(cnn, photos, 0, 1)
    cells = np.arange(32) * 14 // 32
    cells = cells[:, None] * 14 + cells
    generator, sums, falls = np.random.default_rng(6), [], []
    for _ in range(12):
        on = np.isin(cells, generator.choice(196, 39, replace=False))
        x = torch.where(torch.from_numpy(on), torch.zeros(1), decision.x)
        sums.append(scores[on].sum())
        falls.append(decision.logits[1] - float(made.logits(cnn, x)[0, 1]))
    found = scored(cnn, photos, scores, label=1, seed=6, parts=12).values["metrics"]
    assert found["correlation"] == pytest.approx(pearsonr(sums, falls)[0], abs=1e-4)


def test_an_oracle_beats_random_maps(bright):
    model = made.looking(0.01)
    oracle = np.zeros((made.SIDE, made.SIDE))
    oracle[made.SQUARE] = 1
    best = scored(model, bright, oracle, label=0).values["metrics"]
    random = explain(ImageFaithfulness, model, bright, label=0, draws=20)
    means, spread = random.values["metrics"], random.values["spread"]
    assert best["insertion"] > spread["insertion"][1] > means["insertion"]
    assert best["deletion"] < spread["deletion"][0] < means["deletion"]
    assert best["gap"] > spread["gap"][1]
    assert best["drop"] < 1e-4 < spread["drop"][0]
    assert best["correlation"] > 0.95 > spread["correlation"][1]
    assert {name: best[name] for name in OF_OBJECT} == dict.fromkeys(OF_OBJECT, 1)
    assert means["overlap"] < 0.3
    worst = scored(model, bright, -oracle, label=0).values["metrics"]
    assert worst["gap"] < spread["gap"][0]


def test_random_maps_have_a_spread_about_their_mean(cnn, photos):
    found = explain(ImageFaithfulness, cnn, photos, draws=8, steps=10)
    means, spread = found.values["metrics"], found.values["spread"]
    assert found.values["draws"] == 8
    for name in ("insertion", "deletion", "gap", "drop", "correlation"):
        low, high = spread[name]
        assert low < means[name] < high
    for name in ("insertion", "deletion"):
        low, high = found.arrays[f"spread/pixels/{name}"]
        curve = found.arrays[f"curve/pixels/{name}"]
        assert curve.shape == low.shape == (11,)
        assert (low <= curve + 1e-9).all()
        assert (curve <= high + 1e-9).all()
        assert (low < high)[1:-1].any()
    assert found.values["seconds"] == 0
    again = explain(ImageFaithfulness, cnn, photos, draws=8, steps=10)
    assert again.values["metrics"] == means
    other = explain(ImageFaithfulness, cnn, photos, draws=8, steps=10, seed=1)
    assert other.values["metrics"] != means


@pytest.mark.parametrize("level", [0.0, 0.7])
def test_a_map_of_one_level_is_scored_by_no_number_and_says_why(cnn, photos, level):
    found = scored(cnn, photos, np.full((made.SIDE, made.SIDE), level)).values
    assert found["metrics"] == dict.fromkeys(metric.id for metric in METRICS)
    reasons = {m.id: NO_OBJECT if m.id in OF_OBJECT else NO_SPREAD for m in METRICS}
    assert found["undefined"] == reasons


def test_every_metric_has_a_number_or_a_reason(cnn, photos, bright):
    known = {metric.id for metric in METRICS}
    found = scored(cnn, photos, noise_map()).values
    assert found["metrics"].keys() == known
    assert found["undefined"] == dict.fromkeys(OF_OBJECT, NO_OBJECT)
    assert found["spread"] == {}
    whole = scored(cnn, bright, noise_map()).values
    assert whole["metrics"].keys() == known
    assert whole["undefined"] == {}


def test_another_pictures_or_classs_map_is_refused(cnn, photos):
    subject = map_of(cnn, photos, noise_map(), image=1, label=2)
    for image, label in ((0, 2), (1, 3)):
        with pytest.raises(InputError, match="another picture or class"):
            explain(ImageFaithfulness, cnn, photos, image=image, label=label, subject=subject)
    own = explain(ImageFaithfulness, cnn, photos, image=1, label=2, subject=subject)
    assert (own.values["image"], own.values["label"]) == (1, 2)


def test_a_score_is_no_map(cnn, photos):
    score = scored(cnn, photos, noise_map()).explanation
    with pytest.raises(InputError, match="no map"):
        explain(ImageFaithfulness, cnn, photos, subject=score)
