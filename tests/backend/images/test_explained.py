"""What every explainer of a picture starts from: the decision, fills, and the explanation."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.ndimage import gaussian_filter
from scipy.special import softmax

from backend.errors import Cancelled, InputError, ModelError
from backend.images.explained import enlarged, explained
from backend.images.models import blurred
from tests.backend.images import made


def test_the_decision_is_the_models(cnn, photos):
    decision = made.decision(cnn, photos, 1)
    logits = made.logits(cnn, decision.x)[0].numpy()
    np.testing.assert_allclose(decision.logits, logits, rtol=1e-5)
    np.testing.assert_allclose(decision.probabilities, softmax(logits), rtol=1e-5)
    assert decision.label == decision.predicted == logits.argmax()
    assert decision.probability == pytest.approx(softmax(logits).max(), rel=1e-5)
    other = made.decision(cnn, photos, 1, 3)
    assert (other.label, other.predicted) == (3, decision.predicted)


def test_the_picture_is_what_the_model_sees_normalised(cnn, photos):
    decision = made.decision(cnn, photos, 0)
    assert decision.seen.shape == (32, 32, 3)
    expected = (decision.seen / 255 - [0.5, 0.4, 0.6]) / [0.25, 0.3, 0.2]
    np.testing.assert_allclose(decision.x[0].permute(1, 2, 0), expected, atol=1e-5)


def test_unknown_pictures_and_classes_are_refused(cnn, photos):
    with pytest.raises(InputError, match="no picture 3") as caught:
        made.decision(cnn, photos, 3)
    assert caught.value.where == "image"
    with pytest.raises(InputError, match="no class 5") as caught:
        made.decision(cnn, photos, 0, 5)
    assert caught.value.where == "label"


def test_items_are_passed_through_in_batches(cnn, photos, monkeypatch):
    monkeypatch.setattr("backend.images.models.PIXELS_AT_ONCE", 2 * made.SIDE**2)
    decision = made.decision(cnn, photos, 0, 1)
    shades = [0.0, 0.5, 1.0, 1.5, 2.0]
    found = {
        of: decision.each(shades, lambda shade: shade * decision.x, "", of=of)
        for of in ("logit", "probability")
    }
    logits = np.stack([made.logits(cnn, shade * decision.x)[0].numpy() for shade in shades])
    np.testing.assert_allclose(found["logit"], logits[:, 1], rtol=1e-4)
    np.testing.assert_allclose(found["probability"], softmax(logits, axis=1)[:, 1], rtol=1e-4)
    assert decision.run.batch_size == 2
    assert decision.run.forward_passes == 11


def test_fills_are_what_they_are_called(cnn, photos):
    decision = made.decision(cnn, photos, 0)
    black, grey, mean, blur = (
        cnn.fill(decision.seen, kind) for kind in ("black", "grey", "mean", "blur")
    )
    assert {tuple(f.shape) for f in (black, grey, mean, blur)} == {(1, 3, 32, 32)}
    np.testing.assert_allclose(black, cnn.tensor(np.zeros((32, 32, 3), np.uint8)), atol=1e-6)
    assert not grey.any()
    colour = decision.seen.reshape(-1, 3).mean(axis=0)
    expected = (colour / 255 - [0.5, 0.4, 0.6]) / [0.25, 0.3, 0.2]
    np.testing.assert_allclose(mean[0, :, 7, 9], expected, atol=1e-4)
    assert torch.equal(mean.amin(dim=(2, 3)), mean.amax(dim=(2, 3)))
    sigma = 0.045 * 32
    wide = gaussian_filter(
        decision.x[0].numpy(), (0, sigma, sigma), mode="mirror", radius=(0, 4, 4)
    )
    np.testing.assert_allclose(blur[0], wide, atol=1e-4)


def test_an_even_picture_out_of_focus_stays_even():
    even = torch.full((1, 3, 20, 30), 0.7)
    torch.testing.assert_close(blurred(even), even)


def test_an_explanation_tells_the_most_probable_classes(cnn, photos):
    decision = made.decision(cnn, photos, 2, 4)
    found = explained(decision, np.eye(32), unit="lot", values={"more": 1})
    probabilities = decision.probabilities
    assert [c for c, _ in found.values["top"]] == np.argsort(-probabilities).tolist()
    np.testing.assert_allclose([p for _, p in found.values["top"]], np.sort(probabilities)[::-1])
    assert found.values["class_names"]["4"] == "class 4"
    assert (found.values["label"], found.values["image"], found.values["more"]) == (4, 2, 1)
    assert (found.values["height"], found.values["width"]) == (48, 64)
    assert found.values["picture"] == "2.png"
    assert found.notes == ()
    np.testing.assert_array_equal(found.arrays["seen"], decision.seen)


def test_the_mask_is_cut_as_the_picture_is(cnn, bright):
    found = explained(made.decision(cnn, bright), np.eye(32), unit="")
    expected = np.zeros((32, 32))
    expected[made.SQUARE] = 1
    np.testing.assert_array_equal(found.arrays["mask"], expected)


def test_scores_that_are_no_map_are_a_fault(cnn, photos):
    decision = made.decision(cnn, photos)
    with pytest.raises(ValueError, match="shape"):
        explained(decision, np.zeros((8, 8)), unit="")
    with pytest.raises(ValueError, match="not finite"):
        explained(decision, np.full((32, 32), np.nan), unit="")


def test_enlarging_keeps_the_sum_and_a_levels_value():
    small = torch.rand(4, 8, generator=torch.Generator().manual_seed(0))
    grown = enlarged(small, (32, 32))
    assert grown.sum() == pytest.approx(float(small.sum()) * 8 * 4, rel=1e-6)
    np.testing.assert_allclose(enlarged(torch.full((3, 3), 0.4), (9, 7)), 0.4, rtol=1e-6)


def test_a_wrong_number_of_classes_is_refused():
    from backend.images.models import Classifier

    with pytest.raises(ModelError, match="it has 3 classes"):
        Classifier(made.seeded(made.Cnn), made.PREPROCESSING, ["a", "b", "c"], "Tiny")


def test_a_pass_can_be_interrupted(cnn, photos):
    x = made.decision(cnn, photos).x

    def stop():
        raise Cancelled("stopped")

    with cnn.interruptible(stop), pytest.raises(Cancelled):
        cnn.logits(x)
    assert cnn.logits(x).shape == (1, 5)
