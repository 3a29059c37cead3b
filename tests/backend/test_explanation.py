"""The key of a request: everything in it counts, and only that."""

import pytest
from pydantic import ValidationError

from backend.explanation import (
    Choice,
    Comparison,
    Explanation,
    Identity,
    ModelRef,
    Provenance,
    Reinitialised,
    Request,
)


class Known(Identity):
    """An identity of given JSON."""

    def __init__(self, **content):
        self.content = {"model": "f" * 64, "source": "s" * 64, "versions": {"a": "1"}} | content

    def of(self, request):
        return self.content


MODEL = ModelRef(name="small")
SUBJECT = Request(family="fakes", explainer="noise", model=MODEL, input="0" * 64)
BASE = Request(
    family="fakes",
    explainer="score",
    model=MODEL,
    input="a" * 64,
    target={"ids": [1, 2], "span": None},
    parameters={"steps": 3, "deep": {"list": [1, {"x": 0.5}], "flag": True}},
    seed=1,
    subject=SUBJECT,
)


def ref(**changes):
    return MODEL.model_copy(update=changes)


REQUESTS = {
    "family": {"family": "others"},
    "explainer": {"explainer": "noise"},
    "model name": {"model": ref(name="large")},
    "model source": {"model": ref(source="folder")},
    "model revision": {"model": ref(revision="v2")},
    "model precision": {"model": ref(precision="bfloat16")},
    "input": {"input": "b" * 64},
    "target": {"target": {"ids": [1, 3], "span": None}},
    "target without a field": {"target": {"ids": [1, 2]}},
    "parameter": {"parameters": {"steps": 4, "deep": {"list": [1, {"x": 0.5}], "flag": True}}},
    "deep parameter": {"parameters": {"steps": 3, "deep": {"list": [1, {"x": 1}], "flag": True}}},
    "deep order": {"parameters": {"steps": 3, "deep": {"list": [{"x": 0.5}, 1], "flag": True}}},
    "true is not 1": {"parameters": {"steps": 3, "deep": {"list": [1, {"x": 0.5}], "flag": 1}}},
    "seed": {"seed": 2},
    "model reinitialised": {"model": ref(reinitialised=Reinitialised(depth=1))},
    "model reinitialised deeper": {"model": ref(reinitialised=Reinitialised(depth=2))},
    "model reinitialised otherwise": {"model": ref(reinitialised=Reinitialised(depth=1, seed=1))},
    "members": {"members": (SUBJECT,)},
    "members twice": {"members": (SUBJECT, SUBJECT)},
    "members seed": {"members": (SUBJECT.model_copy(update={"seed": 9}),)},
    "no subject": {"subject": None},
    "subject seed": {"subject": SUBJECT.model_copy(update={"seed": 9})},
    "subject input": {"subject": SUBJECT.model_copy(update={"input": "c" * 64})},
    "subject parameter": {"subject": SUBJECT.model_copy(update={"parameters": {"a": None}})},
}
IDENTITIES = {
    "fingerprint": {"model": "e" * 64},
    "source": {"source": "t" * 64},
    "version": {"versions": {"a": "2"}},
    "another library": {"versions": {"a": "1", "b": "1"}},
}


@pytest.mark.parametrize("name", REQUESTS)
def test_every_field_changes_the_key(name):
    assert BASE.model_copy(update=REQUESTS[name]).key(Known()) != BASE.key(Known())


@pytest.mark.parametrize("name", IDENTITIES)
def test_what_computes_changes_the_key(name):
    assert BASE.key(Known(**IDENTITIES[name])) != BASE.key(Known())


def test_the_order_of_members_changes_the_key():
    assert JOINT.key(Known()) != JOINT.model_copy(update={"members": (MEMBER, SUBJECT)}).key(
        Known()
    )


def test_no_field_of_a_request_is_forgotten():
    """A field added later must be listed above."""
    tried = {name.split()[0] for name in REQUESTS} | {"parameters", "target", "subject"}
    assert {f.rstrip("s") for f in Request.model_fields} <= {t.rstrip("s") for t in tried}
    known = {"name", "source", "revision", "precision", "reinitialised"}
    assert set(ModelRef.model_fields) == known


def test_all_keys_differ():
    keys = {BASE.model_copy(update=change).key(Known()) for change in REQUESTS.values()}
    assert len(keys) == len(REQUESTS)
    assert all(len(key) == 64 for key in keys)


def test_order_does_not_count():
    other = BASE.model_copy(
        update={
            "parameters": {"deep": {"flag": True, "list": [1, {"x": 0.5}]}, "steps": 3},
            "target": {"span": None, "ids": [1, 2]},
        }
    )
    assert other.key(Known()) == BASE.key(Known())
    assert Request.model_validate_json(BASE.model_dump_json()).key(Known()) == BASE.key(Known())


@pytest.mark.parametrize(
    "change",
    [
        {"family": "Not a name"},
        {"family": "../x"},
        {"explainer": "a" * 65},
        {"input": "short"},
        {"input": "A" * 64},
        {"input": "a" * 64 + "\n"},
        {"seed": -1},
        {"seed": 2**32},
        {"seed": 1.5},
        {"parameters": {"x": {1, 2}}},
        {"unknown": 1},
        {"model": {"name": ""}},
        {"model": {"name": "x" * 201}},
        {"model": {"name": "x", "source": "path"}},
        {"model": {"name": "x", "precision": "int8"}},
        {"model": {"name": "x", "path": "/etc"}},
    ],
)
def test_what_is_no_request(change):
    fields = {"family": "fakes", "explainer": "noise", "model": {"name": "x"}, "input": "0" * 64}
    Request.model_validate(fields)
    with pytest.raises(ValidationError):
        Request.model_validate(fields | change)


MEMBER = SUBJECT.model_copy(update={"seed": 7, "subject": SUBJECT})
JOINT = BASE.model_copy(update={"members": (SUBJECT, MEMBER)})


def test_another_seed_is_that_of_all_it_stands_on():
    found = JOINT.at_seed(2)
    assert (found.seed, found.subject.seed) == (3, 2)
    assert [one.seed for one in found.members] == [2, 9]
    assert found.members[1].subject.seed == 2
    assert found.at_seed(-2) == JOINT
    assert JOINT.at_seed(0) == JOINT
    last = JOINT.model_copy(update={"seed": 2**32 - 1})
    assert last.at_seed(1).seed == 0
    assert Request.model_validate_json(found.model_dump_json()) == found


def test_another_model_is_that_of_all_it_stands_on():
    other = ref(reinitialised=Reinitialised(depth=2))
    found = JOINT.of_model(other)
    behind = [found, found.subject, *found.members, found.members[1].subject]
    assert [one.model for one in behind] == [other] * 5
    assert found.of_model(MODEL) == JOINT


def test_another_input_is_that_of_its_members_but_not_of_what_it_is_about():
    found = JOINT.moved("d" * 64, {"index": 4})
    assert all(one.input == "d" * 64 for one in (found, *found.members))
    assert all(one.target == {"index": 4} for one in (found, *found.members))
    assert found.subject == SUBJECT
    assert found.members[1].subject == SUBJECT
    assert [one.parameters for one in found.members] == [one.parameters for one in JOINT.members]
    assert found.moved(BASE.input, BASE.target).key(Known()) != found.key(Known())


def test_values_do_not_change():
    with pytest.raises(ValidationError, match="frozen"):
        BASE.seed = 3


@pytest.mark.parametrize(
    ("model", "label"),
    [
        (ModelRef(name="small"), "small"),
        (ModelRef(source="folder", name="x"), "folder:x"),
        (ModelRef(source="hub", name="org/x", revision="v1"), "hub:org/x@v1"),
        (ref(reinitialised=Reinitialised(depth=2)), "small, 2 stages re-initialised"),
    ],
)
def test_label_of_a_model(model, label):
    assert model.label() == label


COMPARISON = Comparison(
    family="fakes",
    model=MODEL,
    input="0" * 64,
    target={"index": 1},
    choices=(Choice(explainer="noise"), Choice(explainer="score", parameters={"steps": 2})),
    seed=3,
)


@pytest.mark.parametrize(
    "change",
    [
        {"family": "others"},
        {"model": ref(precision="float16")},
        {"input": "1" * 64},
        {"target": {}},
        {"choices": COMPARISON.choices[:1]},
        {"choices": COMPARISON.choices[::-1]},
        {"choices": (COMPARISON.choices[0], Choice(explainer="score"))},
        {"seed": 4},
    ],
)
def test_every_field_changes_a_comparison(change):
    assert COMPARISON.model_copy(update=change).key() != COMPARISON.key()
    again = Comparison.model_validate_json(COMPARISON.model_dump_json())
    assert again.key() == COMPARISON.key()


def test_provenance_comes_back_with_its_request():
    provenance = Provenance(
        key="0" * 64, request=BASE, model_fingerprint="f" * 64, versions={"numpy": "2"},
        device="cpu", dtype="float32", seconds=0.25, peak_memory_bytes=2**40, forward_passes=3,
        backward_passes=0, batch_size=None, warnings=("one", "two"), created="2026-01-01T00:00:00",
    )  # fmt: skip
    explanation = Explanation(arrays={}, notes=("a note",), provenance=provenance)
    found = Explanation.from_bytes(explanation.to_bytes())
    assert found.source() == provenance
    assert found.source().request.subject == SUBJECT
    assert found.notes == ("a note",)


def test_no_provenance_yet():
    with pytest.raises(ValueError, match="no provenance"):
        Explanation(arrays={}).source()
