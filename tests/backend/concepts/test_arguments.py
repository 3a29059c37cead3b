"""The flags of the Concepts family become a table and a target."""

from __future__ import annotations

import argparse
import json

import numpy as np
import pytest

from backend.concepts import arguments
from backend.concepts.examples import Example
from backend.concepts.explanation import ConceptTarget, Recipe
from backend.errors import InputError
from backend.settings import Settings
from tests.backend.concepts import tables
from tests.backend.concepts.test_thumbnails import RED, packed, picture

SMALL = tables.small()
HEAD = "concept,brick\nred,1\nround,2\nhas stem,3\nbias,-1\n"


@pytest.fixture(autouse=True)
def ready(monkeypatch):
    """One example, whatever the bundled ones are."""
    entry = Example("sums", "Sums", "", "mnist-sum", Recipe(epochs=7, training="joint"))

    def example(name):
        if name != "sums":
            raise KeyError(f"There is no example '{name}'; there is sums")
        return entry

    monkeypatch.setattr(arguments, "EXAMPLES", (entry,))
    monkeypatch.setattr(arguments, "example", example)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "t.csv").write_text(tables.csv(tables.columns(SMALL)))
    (tmp_path / "h.csv").write_text(HEAD)
    (tmp_path / "p.zip").write_bytes(packed({"0.png": picture(RED)}))
    return tmp_path


def parsed(*words) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    arguments.add(parser)
    return parser.parse_args([str(word) for word in words])


def table(*words):
    return arguments.table(parsed(*words), Settings())


def test_a_file_with_head_and_pictures(folder) -> None:
    given = ["--input", folder / "t.csv", "--head", folder / "h.csv", "--images", folder / "p.zip"]
    found = table(*given, "--bottleneck", "soft")
    np.testing.assert_array_equal(found.arrays["logits"], SMALL.arrays["logits"])
    np.testing.assert_array_equal(found.head().weights[0], [[1, 2, 3]])
    assert found.bottleneck == "soft"
    assert (found.arrays["images"][0, 9, 9] == RED).all()
    assert arguments.target(parsed(*given, "--sample", 3)) == ConceptTarget(sample=3)


def test_columns_are_changed_one_by_one(folder) -> None:
    changes = ["label=prediction", "prediction=label", "group=", "true:red=true_round",
               "true:round=true_red", "predicted:has stem=", "true:has stem="]  # fmt: skip
    words = [word for change in changes for word in ("--column", change)]
    found = table("--input", folder / "t.csv", *words)
    assert found.concept_names == ("red", "round")
    np.testing.assert_array_equal(found.arrays["labels"], SMALL.arrays["predictions"])
    np.testing.assert_array_equal(found.arrays["concepts"], SMALL.arrays["concepts"][:, [1, 0]])
    assert "groups" not in found.arrays


def test_a_stored_mapping_reads_the_same_table(folder) -> None:
    first = table("--input", folder / "t.csv")
    text = json.dumps(first.origin["mapping"])
    (folder / "m.json").write_text(text)
    for given in (text, folder / "m.json"):
        assert table("--input", folder / "t.csv", "--map", given).digest() == first.digest()


def test_an_example_and_its_recipe() -> None:
    given = parsed("--example", "sums", "--epochs", 3, "--train-seed", 9, "--bottleneck", "soft")
    assert arguments.table(given, Settings()) is None
    assert arguments.target(given) == ConceptTarget(
        recipe=Recipe(bottleneck="soft", training="joint", epochs=3, seed=9)
    )


@pytest.mark.parametrize(
    ("words", "labels"),
    [([], "true"), (["--labels", "true"], "true"), (["--labels", "shuffled"], "shuffled")],
)
def test_labels_are_true_unless_they_are_asked_to_be_shuffled(words, labels) -> None:
    assert arguments.target(parsed("--example", "sums", *words)).recipe.labels == labels


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--example", "sums", "--head", "h.csv"], "--head is about a table"),
        (["--example", "sums", "--column", "label=y"], "--column is about a table"),
        (["--input", "t.csv", "--epochs", 3], "--epochs is about training"),
        (["--input", "t.csv", "--labels", "true"], "--labels is about training"),
        (["--input", "absent.csv"], "cannot be read"),
        (["--input", "t.csv", "--column", "label"], "says no column's role"),
        (["--input", "t.csv", "--column", "colour:red=x"], "says no column's role"),
        (["--input", "t.csv", "--column", "predicted:new=logit_red"], "alone"),
        (["--input", "t.csv", "--column", "label=nothing"], "no column nothing"),
        (["--input", "t.csv", "--map", "{"], "--map: It cannot be read"),
        (["--input", "t.csv", "--map", '{"labels": "x"}'], "Extra inputs"),
        (["--input", "t.csv", "--map", "absent.json"], "--map: It cannot be read"),
        (["--input", "t.csv", "--scale", "probability"], "These look like logits"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_faults_are_named(words, said, folder, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(InputError, match=said):
        table(*words)


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (["--example", "none"], "--example"),
        (["--example", "sums", "--epochs", 0], "--epochs"),
        (["--example", "sums", "--train-seed", -1], "--train-seed"),
        (["--input", "t.csv", "--sample", -1], "--sample"),
    ],
)
def test_targets_out_of_bounds(words, flag) -> None:
    with pytest.raises(InputError) as found:
        arguments.target(parsed(*words))
    assert found.value.where == flag


def test_a_sample_and_a_class_must_be_there() -> None:
    arguments.check(SMALL, ConceptTarget(sample=11, label=1))
    with pytest.raises(InputError, match=r"--sample: There is no 12\. Choose from 0 to 11"):
        arguments.check(SMALL, ConceptTarget(sample=12))
    with pytest.raises(InputError, match="--label"):
        arguments.check(SMALL, ConceptTarget(label=2))
