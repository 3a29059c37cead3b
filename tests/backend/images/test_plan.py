"""From a page's choices to requests, and which pictures concepts are found in."""

from __future__ import annotations

import dataclasses

import pytest

from backend.explanation import Choice, Comparison, ModelRef
from backend.images import parts, plan, pools
from backend.images.examples import EXAMPLES, PARTS
from backend.images.plan import Grounds
from backend.images.pools import OTHERS, PARTS_COUNT, pool
from backend.settings import Settings
from tests.backend.images import made

POOL, NONE, INPUT = "a" * 64, "b" * 64, "c" * 64
GROUNDS = Grounds(pool=POOL, none=NONE, labels=[4, 7])
MODEL = ModelRef(name="parts-cnn")
LITE = ModelRef(name="efficientnet-lite0")


def comparison(*choices, target=None):
    return Comparison(
        family="images", model=MODEL, input=INPUT, seed=3, target=target or {"image": 1},
        choices=choices,
    )  # fmt: skip


CONEX = Choice(explainer="conex", parameters={"pieces": 20, "edges": False, "masking": "grey"})
SALIENCY = Choice(explainer="saliency")


def test_conex_rests_on_the_discovery_and_that_on_the_probe():
    (found,) = plan.requests(comparison(CONEX), GROUNDS)
    assert (found.explainer, found.input, found.seed) == ("conex", INPUT, 3)
    assert found.parameters == CONEX.parameters
    concepts = found.subject
    assert (concepts.explainer, concepts.input) == ("discover_concepts", POOL)
    assert (concepts.model, concepts.seed) == (MODEL, 3)
    assert concepts.parameters == {"pieces": 20, "masking": "grey"}  # not what makes the map
    assert concepts.target == {"image": 0, "label": 7}  # the class found in picture 1
    probe = concepts.subject
    assert (probe.explainer, probe.input, probe.model) == ("mask_bias", NONE, MODEL)
    assert probe.target == {"image": 0, "label": None}
    assert probe.subject is None


def test_a_named_class_comes_before_the_one_found():
    (found,) = plan.requests(comparison(CONEX, target={"image": 1, "label": 2}), GROUNDS)
    assert found.subject.target["label"] == 2


def test_pictures_of_one_class_share_the_discovery():
    same = dataclasses.replace(GROUNDS, labels=[7, 7])
    first, second = (plan.requests(comparison(CONEX, target={"image": i}), same)[0] for i in (0, 1))
    assert first.subject == second.subject
    assert first != second
    (other,) = plan.requests(comparison(CONEX, target={"image": 0}), GROUNDS)
    assert other.subject != first.subject


def test_how_the_map_is_made_does_not_find_concepts_again():
    one, two = (
        plan.requests(comparison(Choice(explainer="conex", parameters={"edges": e})), GROUNDS)[0]
        for e in (True, False)
    )
    assert one.subject == two.subject


def test_other_explainers_rest_on_nothing():
    found = plan.requests(comparison(SALIENCY, CONEX), GROUNDS)
    assert [one.subject is None for one in found[:2]] == [True, False]
    (alone,) = plan.requests(comparison(SALIENCY))
    assert alone.subject is None


def test_without_grounds_conex_is_no_request():
    assert plan.by_concepts(comparison(SALIENCY, CONEX))
    assert not plan.by_concepts(comparison(SALIENCY))
    with pytest.raises(ValueError, match="conex needs the concept pictures"):
        plan.requests(comparison(CONEX))


def test_classes_are_asked_of_the_set():
    found = plan.classify_request(comparison(CONEX))
    assert (found.explainer, found.input, found.subject) == ("classify", INPUT, None)
    first = plan.classify_request(comparison(CONEX, target={"image": 0, "label": 4}))
    assert found == first  # whichever picture is shown


def test_a_score_of_conex_stands_on_it():
    subjects = plan.requests(comparison(CONEX), GROUNDS)
    scores = plan.score_requests(subjects)
    assert [one.subject for one in scores] == [*subjects, None]
    assert {one.explainer for one in scores} == {"image_faithfulness"}
    assert plan.score_requests(()) == ()


@pytest.fixture
def options(tmp_path):
    return Settings(store=tmp_path)


def test_pictures_in_folders_are_their_own_pool(options):
    given = dataclasses.replace(made.photos(5), folders=("cats", "", "dogs", "dogs", ""))
    found = pool(given, LITE, options)
    assert found.names == ("0.png", "2.png", "3.png")
    assert found.folders == ("cats", "dogs", "dogs")


def test_ten_pictures_are_their_own_pool(options):
    given = made.photos(pools.FROM)
    assert pool(given, LITE, options) is given
    one_folder = dataclasses.replace(given, folders=("all",) * pools.FROM)
    assert pool(one_folder, LITE, options) is one_folder


def test_few_pictures_are_put_beside_the_bundled(options):
    bundled = len(EXAMPLES) + len(OTHERS)
    found = pool(made.photos(3), LITE, options)
    assert len(found) == bundled + 3
    assert found.names[-3:] == ("0.png", "1.png", "2.png")
    assert found.names[: len(EXAMPLES)] == tuple(one.title for one in EXAMPLES)
    one_folder = dataclasses.replace(made.photos(3), folders=("all",) * 3)
    assert len(pool(one_folder, LITE, options)) == bundled + 3


def test_a_bundled_photo_is_not_there_twice(options):
    given = dataclasses.replace(made.photos(1), example="chelsea")
    found = pool(given, LITE, options)
    assert len(found) == len(EXAMPLES) + len(OTHERS)
    assert found.title == "Bundled photos"


def test_of_parts_more_are_drawn(options):
    drawn = parts.photos(2, 0, PARTS)
    for given, model in ((drawn, LITE), (made.photos(3), MODEL), (made.photos(12), MODEL)):
        found = pool(given, model, options)
        assert len(found) == PARTS_COUNT
        assert len(set(found.folders)) == len(parts.CLASSES)
    hub = ModelRef(source="hub", name="parts-of/something")
    assert len(pool(made.photos(12), hub, options)) == 12
