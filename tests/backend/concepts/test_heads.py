"""Label heads read from files, matched by name, and judged by what they repeat."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import safetensors.numpy

from backend.concepts import heads
from backend.concepts.explanation import ConceptTable
from backend.concepts.head import Head
from backend.errors import InputError
from backend.settings import Settings

OPTIONS = Settings()
rng = np.random.default_rng(3)
LOGITS = (3 * rng.normal(size=(200, 4))).astype(np.float32)
NAMES = ("red", "has stem", "Round", "big")


def table(head: Head | None = None, classes=3, bottleneck="hard") -> ConceptTable:
    inputs = (LOGITS > 0).astype(float) if bottleneck == "hard" else LOGITS
    predictions = np.zeros(200, int) if head is None else head.predictions(inputs)
    return ConceptTable(
        arrays={
            "logits": LOGITS,
            "labels": predictions.astype(np.int32),
            "predictions": predictions.astype(np.int32),
        },
        concept_names=NAMES,
        class_names=("cat", "dog", "cow")[:classes],
    )


def linear(m=3, k=4) -> Head:
    return Head((rng.normal(size=(m, k)),), (rng.normal(size=m),))


def saved(**arrays) -> bytes:
    return safetensors.numpy.save({name: np.ascontiguousarray(a) for name, a in arrays.items()})


def read(data: bytes, given=None, name="h.safetensors") -> Head:
    return heads.read(name, data, table() if given is None else given, OPTIONS)


@pytest.mark.parametrize("prefix", ["", "head.", "fc.", "model.classifier.0."])
def test_one_layer_under_any_name(prefix) -> None:
    head = linear()
    found = read(saved(**{f"{prefix}weight": head.weights[0], f"{prefix}bias": head.biases[0]}))
    np.testing.assert_array_equal(found.weights[0], head.weights[0])
    np.testing.assert_array_equal(found.biases[0], head.biases[0])


def test_layers_follow_their_numbers() -> None:
    w = [rng.normal(size=s) for s in ((8, 4), (5, 8), (3, 5))]
    given = {f"{n}.weight": a for n, a in zip((10, 0, 2), (w[2], w[0], w[1]), strict=True)}
    found = read(saved(**given, **{"2.bias": np.ones(5), "0.bias": np.ones(8)}))
    assert [a.shape for a in found.weights] == [(8, 4), (5, 8), (3, 5)]
    x = LOGITS[:5].astype(float)
    hidden = np.maximum(np.maximum(x @ w[0].T + 1, 0) @ w[1].T + 1, 0)
    np.testing.assert_allclose(found.outputs(x), hidden @ w[2].T)


def test_the_head_among_other_layers() -> None:
    head = linear()
    given = {"encoder.0.weight": np.ones((7, 9)), "bn.weight": np.ones(4)}
    found = read(saved(**given, **{"head.weight": head.weights[0], "head.bias": head.biases[0]}))
    np.testing.assert_array_equal(found.weights[0], head.weights[0])


def test_two_outputs_of_two_classes_become_one() -> None:
    head = linear(2)
    given = table(classes=2)
    found = read(saved(weight=head.weights[0], bias=head.biases[0]), given)
    assert found.weights[0].shape == (1, 4)
    np.testing.assert_allclose(found.probabilities(LOGITS), head.probabilities(LOGITS))


CSV = """concept,cow,cat,dog
big,1,2,3
Red,4,5,6
bias,-1,-2,-3
round,7,8,9
has_stem,0,0.5,0
"""


def test_a_table_of_weights_is_matched_by_name() -> None:
    found = read(CSV.encode(), name="h.csv")
    np.testing.assert_array_equal(found.weights[0], [[5, 0.5, 8, 2], [6, 0, 9, 3], [4, 0, 7, 1]])
    np.testing.assert_array_equal(found.biases[0], [-2, -3, -1])


@pytest.mark.parametrize(("column", "sign"), [("weight", 1), ("dog", 1), ("cat", -1)])
def test_one_column_is_the_logit_of_the_second_class(column, sign) -> None:
    text = f"concept;{column}\nred;1,5\nhas stem;2\nround;3\nbig;4\nIntercept;5\n"
    found = read(text.encode(), table(classes=2), "h.csv")
    np.testing.assert_array_equal(found.weights[0], [[sign * v for v in (1.5, 2, 3, 4)]])
    np.testing.assert_array_equal(found.biases[0], [sign * 5])


FAULTS = [
    ("h.safetensors", b"no", "no safetensors file"),
    ("h.pt", b"", "are no label head"),
    ("h.safetensors", saved(w=np.ones(3)), r"w \[3\]"),
    ("h.safetensors", saved(weight=np.ones((3, 4)), bias=np.ones(2)), r"bias \[2\]"),
    ("h.safetensors", saved(weight=np.ones((3, 5)), bias=np.ones(3)), "leads 5 → 3; from 4"),
    ("h.safetensors", saved(weight=np.ones((4, 3)), bias=np.ones(4)), "Transpose it"),
    ("h.safetensors", saved(weight=np.ones((1, 4)), bias=np.ones(1)), "to 3 classes"),
    ("h.safetensors", saved(**{"0.weight": np.ones((6, 4)), "1.weight": np.ones((3, 5))}), "leads"),
    ("h.safetensors", saved(weight=np.full((3, 4), np.nan), bias=np.ones(3)), "not finite"),
    ("h.csv", CSV.replace("big", "tiny").encode(), "missing big, unknown tiny"),
    ("h.csv", CSV.replace("cow", "hen").encode(), "are not the classes"),
    ("h.csv", CSV.replace("0.5", "").encode(), "empty in sample 5"),
    ("h.csv", b"a,b\n1,2\n", "does not name the concepts"),
    ("h.csv", CSV.replace("bias", "big").encode(), "rows are not"),
]


@pytest.mark.parametrize(("name", "data", "said"), FAULTS, ids=[said for *_, said in FAULTS])
def test_faults_are_named(name, data, said) -> None:
    with pytest.raises(InputError, match=said) as found:
        read(data, name=name)
    assert found.value.todo
    assert found.value.where == name


@pytest.mark.parametrize("bottleneck", ["hard", "soft"])
def test_the_bottleneck_is_the_one_that_fits(bottleneck) -> None:
    head = linear()
    found = heads.attach(table(head, bottleneck=bottleneck), head)
    assert found.bottleneck == bottleneck
    assert found.origin["notes"] == [
        f"The label head on {'thresholded concepts' if bottleneck == 'hard' else 'concept logits'} "
        "repeats 100.0% of the predictions."
    ]
    np.testing.assert_allclose(found.head().weights[0], head.weights[0], rtol=1e-6)


def test_a_chosen_bottleneck_stays_and_the_better_one_is_said() -> None:
    head = linear()
    found = heads.attach(table(head, bottleneck="soft"), head, "hard")
    assert found.bottleneck == "hard"
    assert "A soft bottleneck fits better: 100.0%." in found.origin["notes"]
    assert "below 95%" in found.origin["notes"][-1]


def test_a_head_on_probabilities_is_recognised() -> None:
    head = Head((20 * rng.normal(size=(3, 4)),), (np.zeros(3),))
    given = table(head)
    shares = head.predictions(given.probabilities).astype(np.int32)
    given = dataclasses.replace(given, arrays={**given.arrays, "predictions": shares})
    assert "seems to read probabilities" in heads.attach(given, head).origin["notes"][-1]
