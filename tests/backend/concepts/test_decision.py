"""What of a decision is explained: sample, class, contrast, reference; and how it is told."""

import numpy as np
import pytest

from backend.concepts.decided import decided
from backend.concepts.decision import Decision, switched
from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget
from backend.errors import InputError
from tests.backend.concepts.decisions import network, table
from tests.fake import FakeRun

HEADS = [(2, ()), (2, (7,)), (4, ()), (4, (8, 6))]


def of(given, sample=3, label=None, **options):
    return Decision.of(given, ConceptTarget(sample=sample, label=label), **options)


def test_the_first_error_and_the_predicted_class_are_explained():
    given = table()
    found = Decision.of(given, ConceptTarget())
    assert found.sample == given.errors[0]
    assert found.label == given.arrays["predictions"][found.sample]
    flawless = table(seed=1)
    flawless.arrays["labels"][:] = flawless.arrays["predictions"]
    assert Decision.of(flawless, ConceptTarget()).sample == 0


@pytest.mark.parametrize("hidden", [(), (7,)])
def test_two_classes_are_explained_against_each_other(hidden):
    given = table(m=2, hidden=hidden)
    inputs = given.head_inputs()
    log_odds = given.head().outputs(inputs)[:, 0]
    np.testing.assert_allclose(of(given, label=1).value(inputs), log_odds)
    np.testing.assert_allclose(of(given, label=0).value(inputs), -log_odds)
    p = of(given, label=0).probability(inputs)
    np.testing.assert_allclose(np.log(p / (1 - p)), -log_odds, atol=1e-9)
    assert of(given, label=0).unit == "log-odds"


def test_two_columns_for_two_classes_are_the_same_as_one():
    given = table(m=2)
    weight, bias = given.arrays["head/0/weight"], given.arrays["head/0/bias"]
    two = dict(given.arrays)
    two["head/0/weight"] = np.concatenate([-weight, weight]) / 2
    two["head/0/bias"] = np.concatenate([-bias, bias]) / 2
    other = ConceptTable(arrays=two)
    for label in (0, 1):
        a, b = of(given, label=label), of(other, label=label)
        np.testing.assert_allclose(a.value(a.x), b.value(b.x), rtol=1e-6)


def test_contrasts_take_off_the_class_they_name():
    given = table(m=4)
    logits = given.head().logits(given.head_inputs())
    i = int(given.errors[0])
    first, second = np.argsort(-logits[i])[:2]
    truth = int(given.arrays["labels"][i])
    plain, lead, true = (of(given, i, contrast=c) for c in ("none", "runner-up", "true"))
    np.testing.assert_allclose(plain.value(plain.x), logits[i, first])
    np.testing.assert_allclose(lead.value(lead.x), logits[i, first] - logits[i, second])
    np.testing.assert_allclose(true.value(true.x), logits[i, first] - logits[i, truth])
    assert (plain.unit, true.unit) == ("logit", "logit difference")
    assert of(given, i, label=truth, contrast="true").against == first  # not against itself


@pytest.mark.parametrize(("m", "hidden"), HEADS)
@pytest.mark.parametrize("label", [0, 1])
def test_gradient_equals_autograd(m, hidden, label):
    import torch

    given = table(m=m, hidden=hidden, bottleneck="soft")
    decision = of(given, label=label, contrast="runner-up")
    points = np.concatenate([given.head_inputs()[:9], np.zeros((1, 5))])
    x = torch.from_numpy(points).requires_grad_()
    (network(given.head())(x) @ torch.from_numpy(decision.direction)).sum().backward()
    np.testing.assert_allclose(decision.gradient(points), x.grad.numpy(), atol=1e-12)
    np.testing.assert_allclose(decision.gradient(points[2]), x.grad.numpy()[2], atol=1e-12)


def test_references():
    hard, soft = table(), table(bottleneck="soft")
    for given in (hard, soft):
        np.testing.assert_allclose(of(given).baseline, given.head_inputs().mean(axis=0))
    np.testing.assert_array_equal(of(hard, baseline="absent").baseline, 0.0)
    low, high = np.percentile(soft.arrays["logits"].astype(float), (5, 95), axis=0)
    np.testing.assert_allclose(of(soft, baseline="absent").baseline, low)
    np.testing.assert_allclose(switched(soft)[1], high)


def test_the_explanation_holds_what_a_page_shows():
    given = table()
    decision, run = of(given, sample=5), FakeRun()
    found = decided(decision, np.arange(5.0), run, base=1.5)
    again = ConceptExplanation.from_bytes(found.to_bytes())
    concepts = again.values["concepts"]
    assert [c["name"] for c in concepts] == list(given.concept_names)
    assert [c["predicted"] for c in concepts] == (given.arrays["logits"][5] > 0).tolist()
    assert [c["true"] for c in concepts] == given.arrays["concepts"][5].tolist()
    np.testing.assert_allclose([c["probability"] for c in concepts], given.probabilities[5])
    assert again.values["sum"] == 10.0
    assert again.values["completeness_gap"] == 10.0 - (again.values["output"] - 1.5)
    assert (again.notes, run.warnings) == ((), [])


def test_unnamed_concepts_are_numbered():
    given = table(concept_names=("only one",), class_names=())
    found = decided(of(given), np.zeros(5), FakeRun(), base=None)
    names = [c["name"] for c in found.values["concepts"]]
    assert names == ["only one", "concept 1", "concept 2", "concept 3", "concept 4"]
    assert found.values["completeness_gap"] is None


def test_a_stand_in_for_the_head_is_named_and_a_poor_one_warned_of():
    run = FakeRun()
    found = decided(of(table(n=200, with_head=False)), np.zeros(5), run, base=None)
    assert found.values["fidelity"] > 0.95
    assert "stands in" in found.notes[0]
    assert run.warnings == []
    noise = table(n=200, with_head=False)
    noise.arrays["predictions"][:] = np.random.default_rng(1).integers(0, 3, 200)
    decided(of(noise), np.zeros(5), run, base=None)
    assert "repeats only" in run.warnings[0]


def test_a_head_that_disagrees_with_the_table_is_told():
    given = table()
    given.arrays["predictions"][3] = (given.arrays["predictions"][3] + 1) % 3
    found = decided(of(given), np.zeros(5), FakeRun(), base=None)
    assert "the table says kind" in found.notes[0]


@pytest.mark.parametrize(
    ("given", "target", "told"),
    [
        (ConceptTable.none(), {}, "no samples"),
        (table(), {"sample": 40}, "counted from 0"),
        (table(), {"label": 3}, "3 classes apart"),
        (table(m=2), {"label": 2}, "2 classes apart"),
    ],
)
def test_what_is_not_there_is_told(given, target, told):
    with pytest.raises(InputError, match=told):
        Decision.of(given, ConceptTarget(**target))


def test_a_head_of_other_concepts_is_told():
    given = table()
    arrays = given.arrays | {"head/0/weight": np.ones((3, 4), np.float32)}
    with pytest.raises(InputError, match="reads 4 concepts, the table has 5"):
        Decision.of(ConceptTable(arrays=arrays), ConceptTarget(sample=0))
