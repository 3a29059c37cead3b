"""M-CBE: planted mechanisms are found, and who decides is said as it is."""

import itertools

import numpy as np
import pytest

from backend.concepts.explanation import ConceptExplanation
from backend.concepts.mcbe import MixtureOfExperts
from backend.concepts.xor import xor_table
from backend.errors import Cancelled, InputError
from tests.backend.concepts.mixtures import BIASES, WEIGHTS, explain, table, two_regimes
from tests.fake import FakeRun


@pytest.mark.parametrize("seed", range(5))
def test_one_linear_expert_cannot_tell_xor_and_two_can(seed):
    found = explain(xor_table(seed), seed=seed)
    one, two = found.arrays["front/accuracy"]
    assert found.arrays["front/experts"].tolist() == [1, 2]
    assert one <= 0.6
    assert two >= 0.98
    assert found.values["concept_accuracy"] >= 0.98
    assert found.values["accuracy"] == pytest.approx(two, abs=1e-6)


@pytest.fixture(scope="module")
def regimes():
    made, regime = two_regimes()
    return made, regime, explain(made, compare=False, penalty=0.002)


def test_planted_weights_and_routing_are_recovered(regimes):
    _, regime, found = regimes
    weights, biases = found.arrays["weights"][:, 0], found.arrays["biases"][:, 0]
    order = [int(np.argmin(((weights - w) ** 2).sum(axis=1))) for w in WEIGHTS]
    assert sorted(order) == [0, 1]
    np.testing.assert_allclose(weights[order], WEIGHTS, atol=0.6)
    np.testing.assert_allclose(biases[order], BIASES, atol=0.5)
    routed = np.asarray(order)[regime] == found.arrays["choices"]
    assert routed[found.arrays["held_out"]].mean() >= 0.95


def test_a_stronger_penalty_prunes_the_planted_zeros():
    made, _ = two_regimes()
    found = explain(made, compare=False, penalty=0.01)
    weights = found.arrays["weights"][:, 0]
    order = [int(np.argmin(((weights - w) ** 2).sum(axis=1))) for w in WEIGHTS]
    np.testing.assert_array_equal(weights[order] != 0, WEIGHTS != 0)
    assert found.values["complexity"] == np.count_nonzero(WEIGHTS)


def test_numbers_follow_from_the_arrays(regimes):
    """Accuracy, usage, and accuracy with a frozen selector, worked out from weights by hand."""
    made, _, found = regimes
    arrays, values = found.arrays, found.values
    rows, labels = arrays["held_out"], made.arrays["labels"]
    concepts = (made.arrays["logits"] > 0).astype(float)
    logits = concepts @ arrays["weights"][:, 0].T + arrays["biases"][:, 0]
    chosen = logits[np.arange(len(made)), arrays["choices"]]
    np.testing.assert_allclose(arrays["outputs"][:, 0], chosen, atol=1e-4)
    assert rows.sum() == 1200
    assert values["accuracy"] == ((chosen > 0) == labels)[rows].mean()
    np.testing.assert_allclose(arrays["usage"], np.bincount(arrays["choices"]) / len(made))
    most = int(np.bincount(arrays["choices"]).argmax())
    assert values["most_used"] == most
    assert values["frozen_accuracy"] == ((logits[:, most] > 0) == labels)[rows].mean()
    for m in (0, 1):
        mine = rows & (arrays["choices"] == m)
        expected = ((chosen > 0) == labels)[mine].mean()
        assert arrays["expert_accuracy"][m] == pytest.approx(expected)
    assert values["model_accuracy"] == 1.0
    assert values["tree"]["fidelity"] < 0.65  # the regime is not in the concepts
    assert any("not in the concepts" in sentence for sentence in values["verdicts"])


def test_a_constant_expert_is_flagged():
    """The embedding says the class and the concepts nothing: the selector must decide."""
    rng = np.random.default_rng(0)
    concepts, labels = rng.integers(0, 2, size=(600, 3)), rng.integers(0, 2, size=600)
    embedding = rng.normal(scale=0.2, size=(600, 2))
    embedding[:, 0] += 2 * labels - 1
    found = explain(table(concepts, labels, embedding), penalty=0.02)
    assert found.values["accuracy"] >= 0.98
    assert found.arrays["constant"].all()
    assert not found.arrays["weights"].any()
    assert sorted(found.values["says"]) == ["class 0", "class 1"]
    assert sum("is a constant" in sentence for sentence in found.values["verdicts"]) == 2
    assert any("Routing counts" in sentence for sentence in found.values["verdicts"])


def test_a_single_expert_that_tells_nothing_is_not_laid_to_a_selector():
    rng = np.random.default_rng(0)
    made = table(rng.integers(0, 2, size=(600, 3)), np.arange(600) % 3 == 0)
    found = explain(made, experts=1, penalty=0.5)
    assert found.arrays["constant"].tolist() == [True]
    assert found.values["accuracy"] == pytest.approx(2 / 3, abs=0.01)
    assert "“class 0” to all" in found.values["verdicts"][1]
    assert not any("selector" in sentence for sentence in found.values["verdicts"])


def test_three_classes_have_three_outputs():
    rng = np.random.default_rng(1)
    concepts = rng.integers(0, 2, size=(600, 4))
    labels = concepts[:, 0] + concepts[:, 1]
    found = explain(table(concepts, labels, classes=3), experts=1)
    assert found.arrays["weights"].shape == (1, 3, 4)
    assert found.values["accuracy"] == 1.0
    assert found.values["output_names"] == ["class 0", "class 1", "class 2"]
    assert found.values["tree"] is None
    assert "no embedding" in found.notes[0]


def test_predictions_can_be_explained():
    rng = np.random.default_rng(2)
    concepts = rng.integers(0, 2, size=(400, 3))
    made = table(concepts, rng.integers(0, 2, size=400), predictions=concepts[:, 2])
    found = explain(made, experts=1, explain="predictions")
    assert found.values["accuracy"] == 1.0
    assert found.values["model_accuracy"] is None


def test_soft_concepts_come_with_a_warning():
    run = FakeRun()
    found = explain(xor_table(0), run=run, concepts="soft", experts=1)
    assert any("probabilities" in warning for warning in run.warnings)
    assert found.values["concepts"] == "soft"


def test_equal_seeds_give_equal_explanations_and_bytes_come_back():
    made, _ = two_regimes(n=400)
    first, second, other = (explain(made, seed=seed, steps=60) for seed in (3, 3, 4))
    assert first.to_bytes() == second.to_bytes()
    assert first.digest() != other.digest()
    assert ConceptExplanation.from_bytes(first.to_bytes()).digest() == first.digest()


def test_progress_only_grows_and_a_cancelled_run_stops():
    made, _ = two_regimes(n=400)
    run = FakeRun()
    explain(made, run=run, steps=60, form="symbolic", evaluations=1000)
    shares = [done / total for done, total, _ in run.reports]
    assert all(a <= b + 1e-9 for a, b in itertools.pairwise(shares))
    assert shares[-1] == 1.0
    with pytest.raises(Cancelled):
        explain(made, run=FakeRun(cancel_after=3))


def _labelled(labels, n=40):
    rng = np.random.default_rng(0)
    return table(rng.integers(0, 2, size=(n, 3)), labels(n))


@pytest.mark.parametrize(
    ("made", "parameters", "sentence"),
    [
        (_labelled(lambda n: np.arange(n) % 2, 19), {}, "19 samples; experts need 20"),
        (_labelled(np.zeros), {}, "the same true label"),
        (
            table(np.eye(40, 3), np.arange(40) % 2, predictions=np.ones(40)),
            {"explain": "predictions"},
            "the same prediction",
        ),
        (table(np.ones((40, 3)), np.arange(40) % 2), {}, "No concept changes"),
    ],
)
def test_bad_input_is_answered_with_a_sentence(made, parameters, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        explain(made, **parameters)
    assert caught.value.todo.endswith(".")


def test_few_held_out_samples_are_warned_of():
    labels = np.arange(40) % 2
    made = _labelled(lambda _: labels)
    run = FakeRun()
    explain(made, run=run, experts=1, steps=50)
    assert any("12 held-out samples" in warning for warning in run.warnings)


def test_it_declares_what_goes_into_the_key():
    assert MixtureOfExperts.uses_seed
    assert {"torch", "scikit-learn", "pyoperon"} <= set(MixtureOfExperts.libraries)
