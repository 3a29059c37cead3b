"""Contributions of concepts: identities, definitions, and what other libraries give."""

import numpy as np
import pytest

from backend.concepts.concept_flip import ConceptFlip
from backend.concepts.explanation import ConceptTarget
from backend.concepts.gradient_x_concept import GradientXConcept
from backend.concepts.integrated_gradients_concepts import (
    IntegratedGradientsConcepts,
    gauss_legendre,
    pieces,
)
from backend.concepts.linear_contributions import LinearContributions
from backend.concepts.shapley import Shapley
from backend.errors import Cancelled, InputError
from tests.backend.concepts.decisions import (
    brute_force_shapley,
    decide,
    network,
    scores,
    table,
)
from tests.fake import FakeRun

COMPLETE = (LinearContributions, Shapley, IntegratedGradientsConcepts)
EVERY = (*COMPLETE, GradientXConcept, ConceptFlip)


@pytest.mark.parametrize("bottleneck", ["hard", "soft"])
@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize("baseline", ["mean", "absent"])
@pytest.mark.parametrize("explainer", COMPLETE)
def test_scores_sum_to_the_difference(explainer, baseline, m, bottleneck):
    hidden = () if explainer is LinearContributions else (9, 7)
    given = table(k=6, m=m, hidden=hidden, bottleneck=bottleneck)
    extra = {"absent": "point"} if explainer is Shapley else {}
    found = decide(explainer, given, baseline=baseline, **extra)
    values, reference = found.values, given.head_inputs().mean(axis=0)
    if baseline == "absent":
        reference = np.percentile(given.head_inputs(), 5, axis=0) * (bottleneck == "soft")
    sign = 1 if m > 2 or values["label"] == 1 else -1
    row = values["label"] if m > 2 else 0
    x = given.head_inputs()[3]
    f, f0 = (sign * given.head().outputs(point)[row] for point in (x, reference))
    assert values["output"] == pytest.approx(f, abs=1e-9)
    assert values["baseline_output"] == pytest.approx(f0, abs=1e-9)
    assert scores(found).sum() == pytest.approx(f - f0, abs=1e-4)  # float32
    assert abs(values["completeness_gap"]) < 1e-6
    assert values["sum"] == pytest.approx(f - f0, abs=1e-6)


@pytest.mark.parametrize("contrast", ["none", "runner-up", "true"])
def test_linear_contributions_are_weight_times_distance(contrast):
    given = table(k=5, m=4)
    i = int(given.errors[1])
    found = decide(LinearContributions, given, sample=i, contrast=contrast)
    weight = given.arrays["head/0/weight"].astype(float)
    logits = given.head().logits(given.head_inputs()[i])
    label, truth = int(given.arrays["predictions"][i]), int(given.arrays["labels"][i])
    other = {"none": None, "runner-up": int(np.argsort(-logits)[1]), "true": truth}[contrast]
    w = weight[label] - (weight[other] if other is not None else 0.0)
    x, b = given.head_inputs()[i], given.head_inputs().mean(axis=0)
    by_hand = [w[j] * (x[j] - b[j]) for j in range(5)]
    np.testing.assert_allclose(scores(found), by_hand, atol=1e-6)
    assert found.values["against"] == other


@pytest.mark.parametrize("bottleneck", ["hard", "soft"])
@pytest.mark.parametrize("k", [6, 20])
def test_every_additive_method_agrees_on_a_linear_head(k, bottleneck):
    given = table(k=k, m=3, bottleneck=bottleneck)
    exact = decide(LinearContributions, given)
    for explainer, extra in (
        (Shapley, {"absent": "samples", "rows": 40}),  # all samples: a mean background
        (Shapley, {"absent": "point"}),
        (GradientXConcept, {}),
        (IntegratedGradientsConcepts, {}),
        (IntegratedGradientsConcepts, {"steps": 7}),
    ):
        found = decide(explainer, given, **extra)
        np.testing.assert_allclose(scores(found), scores(exact), atol=1e-6)
        assert found.values["baseline_output"] == pytest.approx(exact.values["baseline_output"])


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("bottleneck", ["hard", "soft"])
def test_shapley_is_its_definition(m, bottleneck):
    given = table(k=5, m=m, hidden=(8,), n=6, bottleneck=bottleneck)
    head, inputs = given.head(), given.head_inputs()
    label = int(given.arrays["predictions"][3])
    for absent, background in (("point", inputs.mean(axis=0)[None]), ("samples", inputs)):

        def worth(members, background=background):
            mixed = background.copy()
            mixed[:, list(members)] = inputs[3, list(members)]
            z = head.logits(mixed)
            other = z[:, 1 - label] if m == 2 else 0.0
            return float(np.mean(z[:, label] - other))

        found = decide(Shapley, given, absent=absent)
        np.testing.assert_allclose(scores(found), brute_force_shapley(worth, 5), atol=1e-5)
        assert found.values["baseline_output"] == pytest.approx(worth(()), abs=1e-9)
        assert (found.values["exact"], found.values["coalitions"]) == (True, 32)


def test_shapley_equals_shap_with_its_own_maskers():
    import shap

    given = table(k=6, m=3, hidden=(8,), n=12)
    head, inputs = given.head(), given.head_inputs()
    label = int(given.arrays["predictions"][3])
    masker = shap.maskers.Independent(inputs, max_samples=100)
    peer = shap.explainers.ExactExplainer(lambda x: head.logits(x)[:, label], masker)
    given_by_shap = peer(inputs[3:4], silent=True)
    found = decide(Shapley, given)
    np.testing.assert_allclose(scores(found), given_by_shap.values[0], atol=1e-5)


def test_many_concepts_are_walked_in_random_orders():
    given = table(k=14, m=2, hidden=(6,), n=20)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    one, same, other = (
        decide(Shapley, given, run=FakeRun(seed=seed), rows=8, orders=40) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    np.testing.assert_array_equal(scores(one), scores(same))
    assert (scores(one) != scores(other)).any()
    assert not one.values["exact"]
    assert "40 random orders" in one.notes[0]
    assert abs(one.values["completeness_gap"]) < 1e-9
    # Against all 2^14 coalitions, the walked orders are a close estimate.
    import backend.concepts.shapley as module

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_EXACT", 14)
        exact = decide(Shapley, given, run=FakeRun(seed=1), rows=8)
    assert exact.values["exact"]
    assert np.abs(scores(one) - scores(exact)).max() < 0.1 * np.abs(scores(exact)).max()


@pytest.mark.parametrize("hidden", [(), (8,)])
@pytest.mark.parametrize("bottleneck", ["hard", "soft"])
def test_flips_equal_a_loop(hidden, bottleneck):
    given = table(k=5, m=3, hidden=hidden, bottleneck=bottleneck)
    head, x = given.head(), given.head_inputs()[3]
    label = int(given.arrays["predictions"][3])
    found = decide(ConceptFlip, given)
    for j in range(5):
        other = x.copy()
        column = given.arrays["logits"][:, j].astype(float)
        if bottleneck == "hard":
            other[j] = 1.0 - x[j]
        else:
            other[j] = np.percentile(column, 5 if x[j] > 0 else 95)
        drop = head.logits(x)[label] - head.logits(other)[label]
        assert scores(found)[j] == pytest.approx(drop, abs=1e-5)
        assert found.values["flipped"][j] == pytest.approx(head.logits(other)[label])
    assert found.values["baseline_output"] is None


def test_turning_on_an_exclusive_concept_turns_off_the_others():
    given = table(k=4, m=3, exclusive=((0, 1, 2),))
    given.arrays["logits"][3] = [5.0, -5.0, -5.0, 5.0]
    head, label = given.head(), int(given.arrays["predictions"][3])
    found = decide(ConceptFlip, given, exclusive=True)
    rows = [[0, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 0]]
    expected = head.logits(np.array([1.0, 0, 0, 1]))[label] - head.logits(np.array(rows))[:, label]
    np.testing.assert_allclose(scores(found), expected, atol=1e-6)


@pytest.mark.parametrize("m", [2, 4])
def test_gradients_equal_torch_and_captum(m):
    import torch
    from captum.attr import InputXGradient, IntegratedGradients

    given = table(k=6, m=m, hidden=(9, 7), bottleneck="soft")
    net, x = network(given.head()), torch.from_numpy(given.head_inputs()[3:4])
    b = torch.from_numpy(given.head_inputs().mean(axis=0)[None])
    label = int(given.arrays["predictions"][3])
    column, sign = (label, 1) if m > 2 else (0, 1 if label else -1)
    slope = (
        (InputXGradient(net).attribute(x.requires_grad_(), target=column) / x).detach().numpy()[0]
    )
    found = decide(GradientXConcept, given)
    np.testing.assert_allclose(scores(found), sign * slope * (x - b).detach().numpy()[0], atol=1e-5)
    assert found.values["completeness_gap"] == pytest.approx(
        found.values["sum"] - found.values["output"] + found.values["baseline_output"]
    )
    peer = IntegratedGradients(net)
    options = {"baselines": b, "target": column, "method": "gausslegendre"}
    for steps in (1, 50):
        by_captum = sign * peer.attribute(x, n_steps=steps, **options).detach().numpy()[0]
        found = decide(IntegratedGradientsConcepts, given, steps=steps)
        np.testing.assert_allclose(scores(found), by_captum, atol=1e-5)
        assert found.values["points"] == steps
    exact = decide(IntegratedGradientsConcepts, given)
    options["method"] = "riemann_middle"
    fine = sign * peer.attribute(x, n_steps=5000, **options).detach().numpy()[0]
    np.testing.assert_allclose(scores(exact), fine, atol=5e-3)
    assert abs(exact.values["completeness_gap"]) < 1e-9 < abs(found.values["completeness_gap"])


def test_pieces_end_where_a_unit_changes_its_sign():
    given = table(k=4, hidden=(6, 5), bottleneck="soft")
    head, inputs = given.head(), given.head_inputs()
    middles, lengths = pieces(head, inputs[0], inputs[1])
    assert lengths.sum() == pytest.approx(1.0)
    assert len(middles) > 2
    line = np.linspace(0, 1, 20_001)
    points = inputs[0] + line[:, None] * (inputs[1] - inputs[0])
    below = points @ head.weights[0].T + head.biases[0]
    above = np.maximum(below, 0) @ head.weights[1].T + head.biases[1]
    signs = np.concatenate([below, above], axis=1) > 0
    changes = line[1:][(signs[1:] != signs[:-1]).any(axis=1)]
    np.testing.assert_allclose(np.cumsum(lengths)[:-1], changes, atol=1e-4)
    np.testing.assert_allclose(gauss_legendre(2)[0], 0.5 + np.array([-0.5, 0.5]) / np.sqrt(3))


def test_a_head_with_layers_has_no_contributions_of_this_kind():
    given = table(hidden=(4,))
    assert "hidden layers" in LinearContributions().supports({}, given)
    with pytest.raises(InputError, match="Shapley"):
        decide(LinearContributions, given)
    assert LinearContributions().supports({}, table()) is None
    assert LinearContributions().supports({}, table(with_head=False)) is None


@pytest.mark.parametrize("explainer", EVERY)
def test_a_stand_in_serves_every_method(explainer):
    found = decide(explainer, table(k=4, m=3, n=200, with_head=False))
    assert "stands in" in found.notes[0]
    assert np.isfinite(scores(found)).all()


@pytest.mark.parametrize("explainer", EVERY)
def test_the_sample_at_the_reference_scores_nothing(explainer):
    """Where all samples are equal, none differs from the mean; only a flip changes anything."""
    given = table(k=4, m=3, n=3)
    for name in ("logits", "concepts", "labels", "predictions"):
        given.arrays[name][:] = given.arrays[name][:1]
    found = decide(explainer, given, sample=1)
    assert explainer is ConceptFlip or not np.abs(scores(found)).any()


def test_cancelled():
    given = table(k=6, hidden=(5,))
    for explainer in (Shapley, IntegratedGradientsConcepts):
        with pytest.raises(Cancelled):
            decide(explainer, given, run=FakeRun(cancel_after=1))


def test_ids_and_targets():
    assert len({explainer.id for explainer in EVERY}) == 5
    assert all(explainer.family == "concepts" for explainer in EVERY)
    given = table()
    run = FakeRun()
    LinearContributions().explain(
        None, given, ConceptTarget(), LinearContributions.Parameters(), run
    )
    assert run.forward == 2
