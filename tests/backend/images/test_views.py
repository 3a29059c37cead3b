"""The pictures that concepts are found in: which, how many views, and what is held out."""

from __future__ import annotations

import numpy as np
import pytest

from backend.errors import InputError
from backend.images.classify import Classify, probabilities
from backend.images.views import FROM_ONE, HELD_OUT, KEPT, views
from tests.backend.images import made
from tests.backend.images.made import SIDE, SQUARE, worker_run

MOST = 50


def pictures(bright, dull, seed=0):
    """Pictures that are bright where `looking` looks, or below grey there."""
    generator = np.random.default_rng(seed)
    arrays = {}
    for i in range(bright + dull):
        pixels = generator.integers(90, 130, (SIDE, SIDE, 3))
        pixels[SQUARE] += 100 if i < bright else -60
        arrays[f"image/{i}"] = pixels.astype(np.uint8)
    return made.of_arrays(arrays)


@pytest.fixture(scope="module")
def model():
    """Sure of class 0 of the bright ones, and of class 1 of the dull ones."""
    return made.looking(0.02)


def found(model, photos, most=MOST, seed=0):
    return views(model, photos, 0, most, worker_run(seed))


def test_classes_are_told_of_every_picture(model):
    run = worker_run()
    told = Classify().explain(model, pictures(3, 2), made.ImageTarget(), Classify.Parameters(), run)
    assert told.arrays["labels"].tolist() == [0, 0, 0, 1, 1]
    assert told.values == {"kind": "classes", "names": {"0": "class 0", "1": "class 1"}}
    assert run.forward_passes == 5
    assert (told.arrays["probabilities"] > 0.2).all()


def test_of_a_class_in_no_picture_the_likeliest_are_taken_and_it_says_so(model):
    views = found(model, pictures(0, 8))
    assert "takes none of these pictures for 'class 0'" in views.few
    assert "in the 3 where it is likeliest" in views.few
    mine, others = (set(views.source[views.of_class == own].tolist()) for own in (True, False))
    assert len(mine) == 3
    assert not mine & others
    assert not found(model, pictures(3, 5)).few


@pytest.mark.parametrize("others", [0, 1])
def test_too_few_others_are_refused(model, others):
    with pytest.raises(InputError, match=f"takes all but {others} of these pictures") as error:
        found(model, pictures(4, others))
    assert error.value.todo == "Bring pictures of other classes too."


def test_the_class_comes_first_and_every_picture_is_there_whole(model):
    photos = pictures(5, 6)
    got = found(model, photos)
    assert np.all(np.diff(got.of_class.astype(int)) <= 0)
    assert set(got.source[got.of_class].tolist()) == set(range(5))
    assert set(got.source[~got.of_class].tolist()) == set(range(5, 11))
    assert sorted(got.source[got.whole].tolist()) == list(range(11))
    for view, source in zip(got.pictures[got.whole], got.source[got.whole], strict=True):
        np.testing.assert_array_equal(view, model.preprocessing.seen(photos.image(source)))


def test_pictures_are_held_out_whole_when_there_are_enough(model):
    got = found(model, pictures(6, 7))
    assert got.by_picture
    for is_class, count in ((True, 6), (False, 7)):
        here = got.of_class == is_class
        out = set(got.source[here & got.held_out].tolist())
        assert len(out) == round(HELD_OUT * count)
        assert not out & set(got.source[here & ~got.held_out].tolist())


@pytest.mark.parametrize(("bright", "dull"), [(3, 8), (8, 3), (1, 2)])
def test_of_few_pictures_only_cut_outs_are_held_out(model, bright, dull):
    got = found(model, pictures(bright, dull))
    assert not got.by_picture
    assert not (got.held_out & got.whole).any()
    assert got.held_out.any()


def test_few_pictures_are_seen_several_times(model):
    got = found(model, pictures(1, 2))
    assert 1 < got.of_class.sum() <= FROM_ONE
    assert (~got.of_class).sum() == 12
    assert len(found(model, pictures(30, 30))) == 60


def test_views_of_the_class_keep_half_the_probability(model):
    photos = pictures(3, 4)
    got = found(model, photos)
    chances = probabilities(model, list(got.pictures), worker_run())[:, 0]
    for source in range(3):
        own = got.source == source
        whole = chances[own & got.whole][0]
        assert (chances[own] >= KEPT * whole - 1e-9).all()
    assert (got.of_class & ~got.whole).any()


def test_a_view_that_loses_the_class_is_left_out():
    sure = made.looking(0.2)
    got = found(sure, pictures(3, 4))
    cut = (got.of_class & ~got.whole).sum()
    assert cut < 3 * 7  # which it would be if none were
    chances = probabilities(sure, list(got.pictures[got.of_class]), worker_run())[:, 0]
    assert chances.min() >= KEPT * chances.max() - 0.01


def test_of_many_the_surest_are_taken(model):
    photos = pictures(8, 9)
    seen = [model.preprocessing.seen(photos.image(i)) for i in range(8)]
    chances = probabilities(model, seen, worker_run())[:, 0]
    got = found(model, photos, most=4)
    assert set(got.source[got.of_class].tolist()) == set(np.argsort(-chances)[:4].tolist())
    assert len(set(got.source[~got.of_class].tolist())) == 4


def test_equal_seeds_give_equal_views(model):
    photos = pictures(3, 4)
    one, two, other = (found(model, photos, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.pictures, two.pictures)
    np.testing.assert_array_equal(one.held_out, two.held_out)
    assert one.pictures.shape != other.pictures.shape or (one.pictures != other.pictures).any()
