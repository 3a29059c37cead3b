"""A linear head: fitted, tried on pictures it saw no view of, and refused without sense."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from backend.errors import InputError, ModelError
from backend.images import head
from backend.images.crops import crops
from backend.images.explanation import Photos
from tests.backend.images import made

RNG = np.random.default_rng(0)


def photos(*folders: str) -> Photos:
    arrays = {
        f"image/{i}": RNG.integers(0, 256, (40, 60, 3), dtype=np.uint8) for i in range(len(folders))
    }
    return Photos(
        arrays=arrays, names=tuple(f"{i}.png" for i in range(len(folders))), folders=folders
    )


@pytest.mark.parametrize("kinds", [2, 4])
def test_a_head_tells_apart_what_is_apart(kinds):
    labels = np.repeat(np.arange(kinds), 30)
    features = RNG.normal(size=(kinds, 6))[labels] * 5 + RNG.normal(size=(len(labels), 6)) * 0.1
    weight, bias = head.fit_head(features, labels)
    assert (weight.shape, bias.shape) == ((kinds, 6), (kinds,))
    assert weight.dtype == bias.dtype == np.float32
    assert ((features @ weight.T + bias).argmax(axis=1) == labels).all()


@pytest.mark.parametrize("kinds", [2, 3])
def test_its_probabilities_are_those_of_the_regression_on_even_features(kinds):
    from scipy.special import softmax
    from sklearn.linear_model import LogisticRegression

    labels = np.arange(60) % kinds
    features = RNG.normal(size=(60, 4)) * [1, 10, 0.1, 3] + [0, 5, 1, -7]
    weight, bias = head.fit_head(features, labels, 0.5)
    even = (features - features.mean(axis=0)) / features.std(axis=0)
    model = LogisticRegression(C=0.5, class_weight="balanced", max_iter=1000).fit(even, labels)
    found = softmax(features @ weight.T.astype(float) + bias, axis=1)
    np.testing.assert_allclose(found, model.predict_proba(even), atol=1e-4)


def test_a_feature_that_never_changes_does_no_harm():
    features = np.column_stack([np.arange(10.0), np.full(10, 3.0)])
    weight, bias = head.fit_head(features, np.arange(10) // 5)
    assert np.isfinite(weight).all()
    assert np.isfinite(bias).all()


def test_a_picture_is_judged_by_a_head_that_saw_none_of_its_views():
    # Each picture's views are one point of its own: whoever saw one knows it, others guess.
    pictures = np.repeat(np.arange(40), 3)
    features = np.eye(40)[pictures] * 10
    labels = (np.arange(40) % 2)[pictures]
    weight, bias = head.fit_head(features, labels, 100.0)
    assert ((features @ weight.T + bias).argmax(axis=1) == labels).all()
    judged = head.left_out(features, labels, pictures, 100.0)
    assert judged.shape == (40,)
    # Nothing tells them apart but the bias, which is the same for a whole fold.
    for fold in range(5):
        assert len(set(judged[np.arange(40) // 2 % 5 == fold])) == 1


def test_pictures_that_are_alike_are_judged_rightly_when_left_out():
    pictures = np.repeat(np.arange(12), 2)
    labels = np.repeat(np.arange(3), 8)
    features = RNG.normal(size=(3, 5))[labels] * 9 + RNG.normal(size=(24, 5)) * 0.1
    assert head.left_out(features, labels, pictures).tolist() == np.repeat([0, 1, 2], 4).tolist()


@pytest.mark.parametrize(
    ("counts", "folds"), [((2, 9), 2), ((3, 3, 4), 3), ((5, 5), 5), ((20, 30), 5)]
)
def test_folds_are_as_many_as_the_rarest_class_has_pictures(counts, folds):
    assert head.fold_count(np.repeat(np.arange(len(counts)), counts)) == folds


@pytest.mark.parametrize(
    ("folders", "said"),
    [
        (("a", "a", "a"), "All pictures are in one folder, 'a'. Bring a zip of two"),
        (("a", "a", "b", "b", ""), "4.png: This picture is in no folder"),
        (("",), "0.png: This picture is in no folder"),
        (("a", "a", "b"), "b: There is only one picture in this folder. Bring 2 or more"),
    ],
)
def test_sets_that_make_no_classes(folders, said):
    with pytest.raises(InputError, match=said):
        head.check(photos(*folders))


def test_views_are_the_whole_picture_and_parts_of_it():
    given = photos("owl", "crow", "owl")
    views = head.Views.of(given, 4, 0, lambda pixels: pixels)
    assert views.labels.tolist() == [1] * 4 + [0] * 4 + [1] * 4
    assert views.pictures.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    for i in range(3):
        assert np.array_equal(views.seen[4 * i], given.image(i))
    again = head.Views.of(given, 4, 0, lambda pixels: pixels)
    assert all(np.array_equal(a, b) for a, b in zip(views.seen, again.seen, strict=True))


def test_parts_are_square_and_every_other_one_is_mirrored():
    pixels = np.broadcast_to(np.arange(60, dtype=np.uint8)[None, :, None], (40, 60, 3))
    found = crops(pixels, 40, np.random.default_rng(0))
    assert len(found) == 40
    for number, part in enumerate(found[1:], start=1):
        assert part.shape[0] == part.shape[1]
        assert 16 <= part.shape[0] <= 40
        step = int(part[0, 1, 0]) - int(part[0, 0, 0])
        assert step == (-1 if number % 2 else 1)
    assert crops(np.zeros((1, 1, 3), np.uint8), 3, np.random.default_rng(0))[2].shape == (1, 1, 3)


def test_features_are_what_the_last_layer_reads(vit):
    seen = [RNG.integers(0, 256, (32, 32, 3), dtype=np.uint8) for _ in range(5)]
    told = []
    found = head.embed(vit, seen, told.append)
    name, layer = head.last_layer(vit.module)
    assert name == "classifier"
    assert told == [0]
    logits = vit.logits(torch.cat([vit.tensor(one) for one in seen]))
    again = found @ layer.weight.double().numpy().T + layer.bias.double().numpy()
    np.testing.assert_allclose(again, logits.numpy(), atol=1e-5)
    assert not layer._forward_pre_hooks


def test_a_network_of_no_transformers_has_no_such_layer(cnn):
    assert isinstance(cnn.module, made.Cnn)
    with pytest.raises(ModelError, match="as dinov2-small does; Cnn does not"):
        head.embed(cnn, [])
