"""Files of concept explanations: nothing in them runs, all is there, the command leads back."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import shlex

import numpy as np
import pytest
import safetensors.numpy

from backend import card as cards
from backend.concepts import files
from backend.concepts.concept_faithfulness import ConceptFaithfulness
from backend.concepts.explanation import (
    ConceptExplanation,
    ConceptTable,
    ConceptTarget,
    Recipe,
)
from backend.concepts.linear_contributions import LinearContributions
from backend.concepts.slices import Keyword, Slice, explanation
from backend.explanation import ModelRef, Provenance, Request
from tests.backend.concepts.decisions import decide, scores, table

NASTY = "<script>alert('&\"')</script>"
NAMES = ("=cmd|' /C calc'!A0", NASTY, "-2", "plain", "@x")
PICTURE = b"<svg xmlns='http://www.w3.org/2000/svg'/>"


def given(**fields):
    return table(concept_names=NAMES, class_names=("=1", NASTY, "c"), **fields)


def asked(about, explainer="linear_contributions", **changes):
    return Request(
        family="concepts",
        explainer=explainer,
        model=ModelRef(name="table"),
        input=about.digest(),
        target=ConceptTarget(sample=3).model_dump(mode="json"),
        **changes,
    )


def finished(found, about, **changes):
    provenance = Provenance(
        key="k" * 64,
        request=asked(about, **changes),
        model_fingerprint="f" * 64,
        versions={"vitrine": "0"},
        device="cpu",
        dtype="float32",
        seconds=1.5,
        peak_memory_bytes=10**6,
        forward_passes=2,
        backward_passes=0,
        batch_size=None,
        warnings=(f"warned of {NASTY}",),
        created="2026-01-01T00:00:00+00:00",
    )
    return dataclasses.replace(found, provenance=provenance)


def rows(data):
    return list(csv.DictReader(io.StringIO(data.decode())))


def test_a_decision_is_a_row_a_concept():
    about = given(bottleneck="soft")
    found = decide(LinearContributions, about)
    written = rows(files.numbers(found))
    assert [row["concept"] for row in written] == [f"'{NAMES[0]}", NASTY, "'-2", "plain", "'@x"]
    np.testing.assert_array_equal([float(row["score"]) for row in written], scores(found))
    np.testing.assert_array_equal([float(r["value"]) for r in written], about.head_inputs()[3])
    np.testing.assert_array_equal(
        [int(row["true"]) for row in written], about.arrays["concepts"][3]
    )
    assert sum(float(row["share"]) for row in written) == pytest.approx(1.0)


def test_slices_are_a_row_an_error():
    memberships = np.array([[0.9, 0.1], [0.25, 0.75], [0.5, 0.5]])
    errors = np.array([4, 7, 9])
    found = explanation(given(n=10), errors, memberships, [Slice(2, 1.5, 1.0), Slice(1, 0.75, 2.0)])
    assert files.numbers(found).decode() == "\n".join(
        ["sample,slice,membership", "4,2,0.8999999761581421", "7,1,0.75", "9,1,0.5", ""]
    )


def test_experts_are_a_row_a_weight():
    found = ConceptExplanation(
        arrays={
            "weights": np.arange(4, dtype=np.float32).reshape(2, 1, 2),
            "biases": np.array([[0.5], [-0.5]], np.float32),
        },
        values={"kind": "experts", "concept_names": ["=a", "b"], "class_names": ["no", "yes"]},
    )
    assert files.numbers(found).decode().splitlines()[1:] == [
        "1,yes,'=a,0.0",
        "1,yes,b,1.0",
        "1,yes,,0.5",
        "2,yes,'=a,2.0",
        "2,yes,b,3.0",
        "2,yes,,-0.5",
    ]


def test_formulas_are_a_row_a_formula():
    formula = {"text": "= a - 1", "expression": "x0 - 1.0", "latex": "a - 1"}
    found = ConceptExplanation(
        arrays={},
        values={"kind": "experts", "class_names": ["no", "yes"], "formulas": [[formula]] * 2},
    )
    assert files.numbers(found).decode().splitlines() == [
        "expert,class,formula,expression",
        "1,yes,'= a - 1,x0 - 1.0",
        "2,yes,'= a - 1,x0 - 1.0",
    ]


def test_scores_are_a_row_a_metric():
    found = decide(ConceptFaithfulness, given())
    written = {row["metric"]: float(row["value"]) for row in rows(files.numbers(found))}
    assert written == found.values["metrics"]["baseline"]
    flat = ConceptExplanation(arrays={}, values={"kind": "score", "metrics": {"mgf": None}})
    assert rows(files.numbers(flat)) == [{"operator": "", "metric": "mgf", "value": ""}]


def test_a_table_has_no_numbers_of_its_own():
    with pytest.raises(ValueError, match="table"):
        files.numbers(ConceptExplanation(arrays={}, values={"kind": "table"}))


def test_values_and_arrays_read_back():
    about = given()
    found = decide(LinearContributions, about)
    found.arrays["scores"][1] = np.nan
    found.values["odd"] = [float("inf"), {"deep": float("nan")}]
    done = finished(found, about)
    read = json.loads(files.values(done), parse_constant=pytest.fail)
    assert read["scores"][1] is None
    assert read["scores"][0] == float(found.arrays["scores"][0])
    assert read["values"]["odd"] == [None, {"deep": None}]
    assert read["values"]["concepts"] == found.values["concepts"]
    assert read["arrays"] == {"scores": [5]}
    assert read["provenance"]["key"] == "k" * 64
    np.testing.assert_array_equal(
        safetensors.numpy.load(files.arrays(done))["scores"], found.arrays["scores"]
    )


@pytest.fixture
def known(monkeypatch):
    """The card finds the explainer before the family is in the catalogue."""
    monkeypatch.setattr(cards, "find", lambda _: LinearContributions())


def test_the_card_holds_everything_and_runs_nothing(known):
    about = given(title=NASTY, origin={"file": NASTY})
    found = finished(decide(LinearContributions, about), about)
    text = files.card(found, about, PICTURE).decode()
    assert text.count("<script") == 1  # the input as JSON, of a type no browser runs
    assert "alert('" not in text.replace("<script type", "").split('id="prompt"')[0]
    assert "&lt;script&gt;" in text
    assert "# table.npz is the table of predictions" in text
    assert "Strongest concepts (logit)" in text
    assert f"{found.values['output']:.4g}" in text
    block = text.split('id="prompt">')[1].split("</script>")[0]
    assert json.loads(block)["digest"] == about.digest()


def test_the_card_of_slices_names_their_concepts(known):
    about = given(origin={"example": "shapes", "recipe": Recipe().model_dump(mode="json")})
    words = (Keyword(1, 0.5, 0.9, 0.1), Keyword(3, 0.2, 0.9, 0.9))
    made = explanation(about, np.array([4]), np.ones((1, 1)), [Slice(1, 1.0, 2.0, words)])
    text = files.card(finished(made, about), about, PICTURE).decode()
    assert "&lt;script&gt;alert(&#x27;&amp;&quot;&#x27;)&lt;/script&gt; (mispredicted)" in text
    assert ", plain<" in text
    assert "table.npz" not in text


def test_the_command_names_a_bundled_example_and_its_recipe():
    recipe = Recipe(bottleneck="soft", training="joint", epochs=3, seed=9)
    about = given(origin={"example": "shapes", "recipe": recipe.model_dump(mode="json")})
    request = asked(about, "shapley", parameters={"absent": "point", "rows": 3}, seed=5)
    assert files.command(request, about) == (
        "python -m backend explain concepts --explainer shapley --example shapes --bottleneck soft "
        "--training joint --epochs 3 --train-seed 9 --sample 3 --set absent=point --set rows=3 "
        "--seed 5 --out out"
    )


def test_the_command_says_so_where_labels_were_shuffled():
    recipe = Recipe(labels="shuffled")
    about = given(origin={"example": "shapes", "recipe": recipe.model_dump(mode="json")})
    assert "--train-seed 0 --labels shuffled --sample 3" in files.command(asked(about), about)
    before = {"example": "shapes", "recipe": Recipe().model_dump(mode="json", exclude={"labels"})}
    assert "--labels" not in files.command(asked(about), given(origin=before))


def test_the_command_of_any_other_table_takes_it_along():
    about = given(bottleneck="soft")
    request = asked(about, parameters={"contrast": "a b; rm", "odd": "7"})
    words = shlex.split(files.command(request, about, out="-o'"))
    assert words[7:11] == ["--input", "table.npz", "--bottleneck", "soft"]
    assert "contrast=a b; rm" in words
    assert 'odd="7"' in words
    assert words[-1] == "-o'"
    whole = asked(about).model_copy(update={"target": ConceptTarget(label=2).model_dump()})
    assert "--sample" not in (line := files.command(whole, about))
    assert "--label 2" in line


def test_a_table_as_npz_reads_back_without_pickle():
    about = given(group_names=("a", "b"), references=("x.png",) * 40)
    data = files.table_npz(about)
    assert data == files.table_npz(about)
    with np.load(io.BytesIO(data), allow_pickle=False) as read:
        assert set(read) == {*about.arrays, *files._NAMES}
        for name, array in about.arrays.items():
            np.testing.assert_array_equal(read[name], array)
            assert read[name].dtype == array.dtype
        assert tuple(read["concept_names"].tolist()) == NAMES
        again = ConceptTable(arrays={name: read[name] for name in about.arrays})
    assert again.head().linear
    bare = table(concept_names=(), class_names=())
    with np.load(io.BytesIO(files.table_npz(bare))) as read:
        assert set(read) == set(bare.arrays)
