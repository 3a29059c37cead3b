"""Integrated gradients: captum's numbers, completeness, and what is exact of a linear model."""

from __future__ import annotations

import numpy as np
import pytest

from backend.images.integrated_gradients import CLOSE, IntegratedGradients
from tests.backend.images import made
from tests.backend.images.made import explain


@pytest.mark.parametrize("baseline", ["black", "grey", "mean", "blur"])
@pytest.mark.parametrize("which", ["cnn", "vit"])
def test_fixed_points_are_captums(request, photos, which, baseline):
    from captum.attr import IntegratedGradients as Peer

    model = request.getfixturevalue(which)
    decision = made.decision(model, photos, 1, 2)
    base = model.fill(decision.seen, baseline)
    expected = Peer(model.logits).attribute(
        decision.x, base, target=2, n_steps=7, method="gausslegendre"
    )
    found = explain(
        IntegratedGradients, model, photos, image=1, label=2, points="fixed", steps=7,
        baseline=baseline,
    )  # fmt: skip
    assert np.abs(found.scores).max() > 1e-3
    np.testing.assert_allclose(found.scores, expected[0].sum(dim=0), rtol=1e-4, atol=2e-5)
    assert found.values["steps"] == 7
    assert found.run.backward_passes == 7


@pytest.mark.parametrize("image", [0, 1, 2])
@pytest.mark.parametrize("baseline", ["black", "grey", "blur"])
@pytest.mark.parametrize("which", ["cnn", "vit"])
def test_scores_sum_to_the_difference_of_the_logits(request, photos, which, baseline, image):
    model = request.getfixturevalue(which)
    decision = made.decision(model, photos, image)
    base = made.logits(model, model.fill(decision.seen, baseline))[0, decision.label]
    difference = decision.logits[decision.label] - float(base)
    found = explain(IntegratedGradients, model, photos, image=image, baseline=baseline)
    assert found.values["difference"] == pytest.approx(difference, rel=1e-4, abs=1e-5)
    gap = abs(found.scores.sum() - difference) / abs(difference)
    assert gap < CLOSE + 1e-4
    assert found.values["gap"] == pytest.approx(gap, abs=1e-4)
    assert found.run.warnings == []


def test_one_step_is_exact_of_a_linear_model(flat, photos):
    decision = made.decision(flat, photos, 0, 3)
    way = decision.x - flat.fill(decision.seen, "black")
    weights = flat.module.head.weight[3].view(3, made.SIDE, made.SIDE)
    expected = (weights * way[0]).sum(dim=0)
    one = explain(IntegratedGradients, flat, photos, label=3, points="fixed", steps=1)
    np.testing.assert_allclose(one.scores, expected, atol=1e-6)
    assert one.values["gap"] < 1e-4
    adaptive = explain(IntegratedGradients, flat, photos, label=3)
    np.testing.assert_allclose(adaptive.scores, expected, atol=1e-6)
    assert adaptive.values["steps"] == 16


def test_too_few_steps_are_warned_of(photos):
    model = made.cnn()
    model.module.second_act = made.Steep()
    found = explain(IntegratedGradients, model, photos, points="fixed", steps=1)
    assert found.values["gap"] > CLOSE
    assert "after 1 steps" in found.run.warnings[0]
    finer = explain(IntegratedGradients, model, photos)
    assert finer.values["gap"] <= CLOSE
    assert finer.values["steps"] > 16


def test_a_picture_that_is_its_baseline_gets_nothing(cnn):
    pictures = made.of_arrays({"image/0": np.zeros((40, 40, 3), dtype=np.uint8)})
    found = explain(IntegratedGradients, cnn, pictures)
    assert not found.scores.any()
    assert found.values["gap"] == 0
    assert found.notes[-1].startswith("Every score is zero")
