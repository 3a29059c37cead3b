"""Carriers become folders and folders become data; examples and requests fit together."""

from __future__ import annotations

import json

import numpy as np
import pytest

from backend.concepts import models
from backend.concepts.examples import EXAMPLES, example
from backend.concepts.explanation import ConceptExplanation, ConceptTarget, Recipe
from backend.concepts.plan import requests, score_requests, table_of, train_request
from backend.errors import ModelError
from backend.explanation import Choice, Comparison, ModelRef
from tests.backend.concepts.carriers import carrier, source

REF = ModelRef(name="mnist-sum")


@pytest.mark.parametrize("id", ["mnist_sum", "shapes", "breast_cancer", "table"])
def test_a_folder_holds_config_and_safetensors_and_no_more(id, tmp_path):
    found = source(id, tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"config.json", "data.safetensors"}
    config = json.loads((tmp_path / "config.json").read_text())
    assert config == {"data": id}
    assert models.unsupported(config) is None
    assert found.id == id
    assert found.table(0) is None


def test_data_read_back_is_the_carriers(tmp_path):
    found = source("breast_cancer", tmp_path)
    known = models.READERS["breast_cancer"](carrier("breast_cancer"))
    np.testing.assert_array_equal(found.arrays["columns"], known["columns"])
    assert found.data(0).validation.references == found.data(0).validation.references
    assert source("table", tmp_path).data(0) is None


def test_other_files_are_refused(tmp_path):
    with pytest.raises(ModelError, match="carries none of mnist_sum, shapes"):
        models.convert(tmp_path / "weights.csv", tmp_path)
    (tmp_path / "mnist_5k.csv.gz").write_bytes(b"no gzip")
    with pytest.raises(ModelError, match="cannot be read"):
        models.convert(tmp_path / "mnist_5k.csv.gz", tmp_path)
    with pytest.raises(ModelError, match="holds no readable data set"):
        models.load(tmp_path, REF, "cpu")
    models.convert(carrier("table"), tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(ModelError, match="no data set of the Concepts family"):
        models.load(tmp_path, REF, "cpu")


def test_examples():
    assert [e.id for e in EXAMPLES] == ["mnist_sum", "shapes", "breast_cancer", "xor"]
    assert example("mnist_sum").recipe == Recipe()
    with pytest.raises(KeyError, match="there are mnist_sum, shapes, breast_cancer, xor"):
        example("digits")


def comparison(**target):
    return Comparison(
        family="concepts",
        model=REF,
        input="0" * 64,
        target=target,
        choices=(Choice(explainer="cb_slice", parameters={"k": 3}), Choice(explainer="shapley")),
        seed=7,
    )


def test_the_training_request_has_the_recipe_and_nothing_of_the_decision():
    asked = comparison(recipe={"training": "joint"}, sample=3, label=1)
    request = train_request(asked)
    assert request.explainer == "train_cbm"
    assert request.input == asked.input
    assert ConceptTarget.model_validate(request.target) == ConceptTarget(
        recipe=Recipe(training="joint")
    )
    assert request == train_request(asked.model_copy(update={"seed": 8}))
    assert train_request(comparison()) == train_request(
        comparison(recipe=Recipe().model_dump(mode="json"))
    )


def test_explainers_are_asked_about_the_table_and_scores_about_explainers():
    found = requests(comparison(recipe={"epochs": 2}, sample=3), "1" * 64)
    assert [r.explainer for r in found] == ["cb_slice", "shapley"]
    assert {r.input for r in found} == {"1" * 64}
    assert {r.seed for r in found} == {7}
    assert found[0].parameters == {"k": 3}
    assert ConceptTarget.model_validate(found[0].target) == ConceptTarget(sample=3)
    roles = {"cb_slice": "slicing", "shapley": "attribution"}
    scores = score_requests(found, roles.__getitem__)
    # The last one scores random rankings of the concepts.
    assert [s.explainer for s in scores] == ["slice_score", "faithfulness", "faithfulness"]
    assert [s.subject for s in scores] == [*found, None]
    assert scores[0].model_dump(include={"model", "input", "target", "seed"}) == found[
        0
    ].model_dump(include={"model", "input", "target", "seed"})
    assert score_requests(found, lambda _: "view") == ()


def test_only_a_table_is_read_as_one():
    with pytest.raises(ValueError, match="holds 'slices', not a table"):
        table_of(ConceptExplanation(arrays={}, values={"kind": "slices"}))
