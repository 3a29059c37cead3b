"""ConEx on pictures whose parts are known: complete, right about the parts, and repeatable."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
import torch

from backend.errors import InputError
from backend.images import discovery, parts, tail
from backend.images.concept_space import ConceptSpace
from backend.images.conex import ConEx, class_map
from backend.images.discover_concepts import DiscoverConcepts
from backend.images.edges import along_edges
from backend.images.explained import enlarged
from backend.images.explanation import ImageExplanation, ImageTarget
from backend.images.mask_bias import CONTENTS, SHAPES, MaskBias, outlines, textures
from backend.images.regions import overlap
from tests.backend.images import made
from tests.backend.images.made import explain, worker_run

LABEL = 0
COUNT, SEED = 72, 500
ASKED = {"masking": "layer"}
NAME = re.escape(parts.CLASSES[LABEL])


def discovered(model, photos, **asked):
    run = worker_run(asked.pop("seed", 0), asked.pop("subject", None))
    target = ImageTarget(label=asked.pop("label", LABEL))
    parameters = DiscoverConcepts.Parameters(**{**ASKED, **asked})
    return DiscoverConcepts().explain(model, photos, target, parameters, run)


@pytest.fixture(scope="module")
def photos():
    return parts.photos(COUNT, SEED)


@pytest.fixture(scope="module")
def concepts(parts_cnn, photos):
    return discovered(parts_cnn, photos)


@pytest.fixture(scope="module")
def unseen():
    """Pictures of the class and their masks, which no discovery saw."""
    drawn = parts.pictures(9 * 12, 901)
    own = np.flatnonzero(drawn.labels == LABEL)
    return drawn.images[own], drawn.masks[own]


def a_set(images):
    return made.of_arrays({f"image/{i}": image for i, image in enumerate(images)})


def conex(model, pictures, concepts, **asked):
    return explain(ConEx, model, pictures, subject=concepts, **asked)


def test_the_discovery_tells_what_it_found(concepts):
    values, arrays = concepts.values, concepts.arrays
    assert values["kind"] == "concepts"
    assert (values["label"], values["name"]) == (LABEL, parts.CLASSES[LABEL])
    assert values["origin"] == "zero"  # the head is linear in the maps
    assert values["by_picture"]
    assert values["masking"]["chosen"] == "layer"
    count = len(values["concepts"])
    assert 2 <= count <= 8
    assert arrays["cavs"].shape == (count, 96)
    np.testing.assert_allclose(np.linalg.norm(arrays["cavs"], axis=1), 1, atol=1e-5)
    assert set(arrays["owner"].tolist()) <= set(range(count))
    own = arrays["of_class"].astype(bool)
    assert arrays["presence"].shape == arrays["contributions"].shape == (len(own), count)
    assert not arrays["contributions"][~own].any()
    adds = [row["contribution"] for row in values["concepts"]]
    assert adds == sorted(adds, reverse=True)
    np.testing.assert_allclose(arrays["contributions"][own].mean(axis=0), adds, atol=1e-4)
    assert values["class_views"] + values["other_views"] == len(own)
    bases = values["bases"]
    near = [kind for kind, one in bases.items() if abs(1 - one["explained"]) <= 0.1]
    assert values["basis"] == min(near, key=lambda kind: bases[kind]["cancelled"])
    assert all(one["cancelled"] >= 0 for one in bases.values())


def test_directions_match_their_concepts(concepts):
    rows = concepts.values["concepts"]
    for row in rows[:2]:
        assert row["vcm"] >= 0.8
        assert row["vcm_auroc"] >= 0.9
        assert row["auc"] >= 0.8
        assert row["ccm_auroc"] >= 0.6
        assert row["stability"] > 0.8
        assert row["contribution"] > 0
        assert row["removal"] > 0
        assert row["tcav"] == 1
    assert all(row["sources"] >= 2 for row in rows)


def test_a_concept_is_where_each_defining_part_is(parts_cnn, concepts, unseen):
    images, masks = unseen
    space = ConceptSpace.of(concepts)
    found = []
    for image in images:
        maps = tail.features(parts_cnn, parts_cnn.tensor(image), worker_run())[0]
        level = space.presence(maps.double().numpy())
        grown = [enlarged(torch.from_numpy(one), (64, 64)) for one in level]
        found.append([g > t for g, t in zip(grown, space.thresholds, strict=True)])
    for part in parts.DEFINING[LABEL]:
        match = [
            np.mean([overlap(one[c], mask[part]) for one, mask in zip(found, masks, strict=True)])
            for c in range(len(space.cavs))
        ]
        assert max(match) >= 0.35, (parts.PARTS[part], match)


def test_contributions_the_rest_and_the_base_are_the_logit(parts_cnn, concepts, unseen):
    pictures = a_set(unseen[0])
    for image in range(4):
        found = conex(parts_cnn, pictures, concepts, image=image, label=LABEL)
        values, own = found.values, found.arrays["contributions"]
        logit = made.logits(parts_cnn, parts_cnn.tensor(pictures.image(image)))[0, LABEL]
        assert values["base"] + own.astype(float).sum() == pytest.approx(float(logit), abs=1e-3)
        assert values["logit"] == pytest.approx(float(logit), abs=1e-4)
        assert abs(values["gap"]) < 1e-3
        np.testing.assert_allclose(values["adds"], own.sum(axis=(1, 2)), atol=1e-3)
        assert values["points"] == 1
        total = values["logit"] - values["base"]
        assert values["explained"] == pytest.approx(sum(values["adds"][:-1]) / total)
        assert found.arrays["presence"].shape == (len(values["adds"]) - 1, 16, 16)
        assert (found.arrays["presence"] >= 0).all()


def test_another_picture_reuses_the_discovery(parts_cnn, concepts, unseen):
    pictures = a_set(unseen[0])
    before = {name: array.copy() for name, array in concepts.arrays.items()}
    started = time.perf_counter()
    first, second = (conex(parts_cnn, pictures, concepts, image=i, label=LABEL) for i in (0, 1))
    assert time.perf_counter() - started < 10
    assert first.values["thresholds"] == second.values["thresholds"]
    assert first.run.forward_passes <= 5  # no picture of the pool is looked at again
    assert (first.scores != second.scores).any()
    for name, array in before.items():
        np.testing.assert_array_equal(array, concepts.arrays[name])


def test_the_map_is_on_the_parts(parts_cnn, concepts, unseen):
    images, masks = unseen
    shares = []
    for i in range(4):
        scores = conex(parts_cnn, a_set(images), concepts, image=i, label=LABEL).scores
        inside = masks[i].any(axis=0)
        shares.append(scores[inside].mean() / scores[~inside].mean())
    assert min(shares) > 2


@pytest.mark.parametrize("kind", ["contributions", "presence"])
def test_without_edges_it_is_the_class_map_enlarged(parts_cnn, concepts, unseen, kind):
    pictures = a_set(unseen[0])
    plain, edged = (
        conex(parts_cnn, pictures, concepts, label=LABEL, classmap=kind, edges=e)
        for e in (False, True)
    )
    own = plain.arrays["contributions"][:-1].astype(float)
    coarse = class_map(own, plain.arrays["presence"].astype(float), kind)
    expected = enlarged(torch.from_numpy(coarse), (64, 64))
    np.testing.assert_allclose(plain.scores, expected, atol=1e-5)
    np.testing.assert_allclose(edged.scores, along_edges(pictures.image(0), expected), atol=1e-5)
    assert plain.explanation.unit == ("logit" if kind == "contributions" else "weighted presence")


def test_class_maps_by_hand():
    adds = np.array([[[3.0, -1.0]], [[-1.0, -2.0]]])
    presence = np.array([[[0.2, 0.4]], [[0.0, 0.0]]])
    np.testing.assert_allclose(class_map(adds, presence, "contributions"), [[2, 0]])
    np.testing.assert_allclose(class_map(adds, presence, "presence"), [[1.5, 0]])


def test_equal_seeds_find_equal_concepts(parts_cnn, photos, concepts):
    again = discovered(parts_cnn, photos)
    assert again.values == concepts.values
    for name, array in concepts.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], array, err_msg=name)


def test_concepts_of_another_class_are_refused(parts_cnn, concepts, unseen):
    with pytest.raises(InputError, match="another class"):
        conex(parts_cnn, a_set(unseen[0]), concepts, label=3)


def test_without_concepts_it_is_refused(parts_cnn, unseen):
    pictures = a_set(unseen[0])
    with pytest.raises(InputError, match="not been found yet"):
        conex(parts_cnn, pictures, None)
    with pytest.raises(InputError, match="not been found yet"):
        conex(parts_cnn, pictures, ImageExplanation(arrays={}, values={"kind": "mask_bias"}))


def test_a_discovery_needs_a_class(parts_cnn, photos):
    for label in (None, len(parts.CLASSES)):
        with pytest.raises(InputError, match="Name the class"):
            discovered(parts_cnn, photos, label=label)


def test_masking_for_another_kind_of_network_is_refused(parts_cnn, photos):
    with pytest.raises(InputError, match="Masking by tokens does not work") as error:
        discovered(parts_cnn, photos, masking="tokens")
    assert error.value.todo == "Choose layer, grey, mean, blur, crop."


def test_directions_that_miss_held_out_pieces_make_no_concept(parts_cnn, photos, monkeypatch):
    monkeypatch.setattr(discovery, "LEAST_AUC", 1.1)
    with pytest.raises(InputError, match=f"No group of pieces of '{NAME}' makes") as error:
        discovered(parts_cnn, photos.subset(range(27)), concepts=4)
    assert error.value.what.count("its direction finds held-out pieces with an AUC of") >= 1
    assert error.value.where == "concept pictures"


@pytest.fixture(scope="module")
def probe(parts_cnn):
    return explain(MaskBias, parts_cnn, made.of_arrays({})).explanation


def test_the_probe_tells_of_every_way(probe):
    values = probe.values
    assert [row["masking"] for row in values["rows"]] == ["layer", "grey", "mean", "blur", "crop"]
    assert [row["exact"] for row in values["rows"]] == [True] + [False] * 4
    assert values["chosen"] == max(values["rows"], key=lambda row: row["content"])["masking"]
    assert values["reason"] == ""
    for row in values["rows"]:
        assert -1 <= row["outline"] <= 1
        assert 0 <= row["neighbour"] <= 1
    layer = values["rows"][0]
    assert layer["content"] > layer["outline"]
    assert layer["neighbour"] > 0.9


def test_the_probes_textures_and_outlines():
    found = textures((48, 64), np.random.default_rng(0))
    assert found.shape == (len(CONTENTS), 48, 64, 3)
    assert min(one.std() for one in found) > 3
    shapes = outlines((48, 64))
    assert len(shapes) == len(SHAPES)
    assert all(0.05 < one.mean() < 0.5 for one in shapes)
    assert max(overlap(a, b) for i, a in enumerate(shapes) for b in shapes[:i]) < 0.85


def test_the_probe_decides_the_masking(parts_cnn, photos, probe):
    few = photos.subset(range(36))
    found = discovered(parts_cnn, few, masking="auto", subject=probe)
    assert found.values["masking"] == {
        "chosen": probe.values["chosen"],
        "rows": probe.values["rows"],
        "reason": "",
    }
