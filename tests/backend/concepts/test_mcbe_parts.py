"""The parts of M-CBE: training against scikit-learn, formulas against sympy, trees, splits."""

import numpy as np
import pytest
import sympy
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.tree import DecisionTreeClassifier

from backend.concepts.experts import Data, Recipe, cross_entropy, train
from backend.concepts.mcbe_data import split
from backend.concepts.polynomial import Polynomial, parse
from backend.concepts.routing import routing_tree
from backend.concepts.symbolic import Search, formulate
from backend.concepts.xor import xor_table
from tests.backend.concepts.mixtures import explain
from tests.fake import FakeRun


@pytest.mark.parametrize("classes", [2, 3])
def test_one_expert_is_as_right_as_logistic_regression(classes):
    rng = np.random.default_rng(classes)
    concepts = rng.integers(0, 2, size=(900, 5)).astype(np.float32)
    noisy = concepts @ rng.normal(size=(5, classes)) + rng.gumbel(scale=0.3, size=(900, classes))
    labels = noisy.argmax(axis=1)
    data = Data(concepts, concepts, labels, 1 if classes == 2 else classes)
    peer = LogisticRegression(C=1e6, max_iter=2000).fit(concepts, labels)
    outputs = train(data, Recipe(experts=1, penalty=0.0), FakeRun()).outputs(concepts)[:, 0]
    said = (outputs[:, 0] > 0) if classes == 2 else outputs.argmax(axis=1)
    assert abs((said == labels).mean() - peer.score(concepts, labels)) <= 0.01
    longer = train(data, Recipe(experts=1, penalty=0.0, steps=2000), FakeRun())
    least = log_loss(labels, peer.predict_proba(concepts))
    assert cross_entropy(longer.outputs(concepts)[:, 0], labels) == pytest.approx(least, abs=1e-3)
    assert longer.objective == pytest.approx(least, abs=1e-2)


def test_an_expression_multiplies_out_and_powers_of_binary_concepts_fall():
    """(X1 - X2)² is x0 + x1 - 2 x0 x1 where concepts are 0 or 1."""
    assert parse("(X1 - X2) * (X1 - X2)", 3, binary=True).tolist() == [
        [1, 0, 0],
        [0, 1, 0],
        [1, 1, 0],
    ]
    assert parse("(X1 - X2) * (X1 - X2) + 3", 2, binary=False).tolist() == [
        [2, 0],
        [1, 1],
        [0, 2],
        [0, 0],
    ]


def test_a_formula_is_written_read_and_counted():
    formula = Polynomial(np.array([[1, 0], [0, 1], [1, 1], [0, 0]]), np.array([1, 1, -2, -0.25]))
    assert formula.text(["red", "a b"]) == "red + “a b” − 2·red·“a b” − 0.25"
    assert formula.latex(["red", "a_b"]) == (
        r"\text{red} + \text{a\_b} - 2 \cdot \text{red} \cdot \text{a\_b} - 0.25"
    )
    assert formula.size == 11  # six leaves, and what joins them
    assert Polynomial.constant(0.5, 2).text(["red", "a b"]) == "0.5"
    values = formula(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]))
    np.testing.assert_allclose(values, [-0.25, 0.75, 0.75, -0.25])


@pytest.fixture(scope="module")
def symbolic():
    return explain(xor_table(0), form="symbolic", experts=1)


def test_one_formula_tells_xor(symbolic):
    """It is c0 + c1 - 2 c0 c1, up to small changes of its numbers."""
    assert symbolic.values["accuracy"] >= 0.98
    (formula,) = symbolic.values["formulas"][0]
    x0, x1 = sympy.symbols("x0 x1")
    found = sympy.Poly(sympy.sympify(formula["expression"]), x0, x1).as_dict()
    expected = {(1, 0): 1.0, (0, 1): 1.0, (1, 1): -2.0, (0, 0): 0.0}
    for powers, number in expected.items():
        assert float(found.get(powers, 0.0)) == pytest.approx(number, abs=0.15)
    assert set(found) <= set(expected)
    assert "c0·c1" in formula["text"]
    assert r"\text{c0} \cdot \text{c1}" in formula["latex"]
    assert (
        symbolic.arrays["front/complexity"][0] == formula["size"] == symbolic.values["complexity"]
    )


def test_sympy_computes_what_the_expert_does(symbolic):
    (formula,) = symbolic.values["formulas"][0]
    names = sympy.symbols("x0:6")
    compute = sympy.lambdify(names, sympy.sympify(formula["expression"]))
    concepts = (xor_table(0).arrays["logits"] > 0).astype(np.float64)
    logits = symbolic.values["gain"] * (compute(*concepts.T) - 0.5)
    np.testing.assert_allclose(symbolic.arrays["outputs"][:, 0], logits, rtol=1e-6, atol=1e-6)


def test_fine_tuning_keeps_the_formula_and_fits_better_than_any_fixed_gain():
    """Three classes: a formula each, all of them right."""
    rng = np.random.default_rng(0)
    concepts = rng.integers(0, 2, size=(500, 3)).astype(np.float32)
    labels = (concepts[:, 0] + concepts[:, 0] * concepts[:, 1]).astype(np.int64)
    data = Data(concepts, concepts, labels, 3)
    mixture = train(data, Recipe(experts=1, steps=60), FakeRun())
    found = formulate(data, mixture, Search(evaluations=5000), FakeRun())
    outputs = found.outputs(concepts)[:, 0]
    np.testing.assert_array_equal(outputs.argmax(axis=1), labels)
    assert found.objective == pytest.approx(cross_entropy(outputs, labels))
    assert found.objective < 0.02
    exact = [
        1 - concepts[:, 0],
        concepts[:, 0] * (1 - concepts[:, 1]),
        concepts[:, :2].prod(axis=1),
    ]
    np.testing.assert_allclose(found.values(concepts)[:, 0], np.stack(exact, axis=1), atol=0.2)


def test_fidelity_is_scikit_learns_score():
    rng = np.random.default_rng(0)
    concepts = rng.integers(0, 2, size=(1000, 30)).astype(float)
    choices = np.where(rng.random(1000) < 0.9, concepts[:, 3] + concepts[:, 3] * concepts[:, 7], 0)
    choices, held_out = choices.astype(int), np.arange(1000) % 3 == 0
    names = [f"c{j}" for j in range(30)]
    tree = routing_tree(concepts, choices, held_out, names, depth=2)
    peer = DecisionTreeClassifier(max_depth=2, min_samples_leaf=6, random_state=0)
    peer.fit(concepts[~held_out], choices[~held_out])
    assert tree.fidelity == peer.score(concepts[held_out], choices[held_out])
    assert tree.majority == (choices[held_out] == 0).mean()
    assert [rule.text() for rule in tree.rules] == [
        "if c3 is absent: expert 1",
        "if c3 is present",
        "  if c7 is absent: expert 2",
        "  if c7 is present: expert 3",
    ]
    at = held_out & (concepts[:, 3] == 1) & (concepts[:, 7] == 1)
    assert tree.rules[3].samples == at.sum()
    assert tree.rules[3].right == pytest.approx((choices[at] == 2).mean())


def test_a_choice_by_xor_is_found_though_no_concept_helps_alone():
    rng = np.random.default_rng(0)
    concepts = rng.integers(0, 2, size=(900, 8)).astype(float)
    choices = (concepts[:, 2] != concepts[:, 5]).astype(int)
    tree = routing_tree(concepts, choices, np.arange(900) % 3 == 0, list("abcdefgh"))
    assert tree.fidelity == 1.0
    assert sum(rule.expert is not None for rule in tree.rules) == 4


def test_conditions_of_soft_concepts_name_the_threshold():
    concepts = np.linspace(0, 1, 200)[:, None]
    choices = (concepts[:, 0] > 0.3).astype(int)
    tree = routing_tree(concepts, choices, np.arange(200) % 4 == 0, ["red"], binary=False)
    assert [rule.condition for rule in tree.rules] == ["red ≤ 0.30", "red > 0.30"]


def test_every_class_is_held_out_in_proportion():
    labels = np.repeat([0, 1, 2], [100, 50, 10])
    held_out = split(labels, 0.3, np.random.default_rng(0))
    assert np.bincount(labels[held_out]).tolist() == [30, 15, 3]
