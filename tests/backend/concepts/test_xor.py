"""The made table of the exclusive or."""

import numpy as np
import pytest

from backend.concepts.xor import xor_table


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_concepts_are_known_and_the_linear_head_is_at_chance(seed):
    table = xor_table(seed)
    concepts, labels = table.arrays["concepts"], table.arrays["labels"]
    assert concepts.shape == (3000, 6)
    assert table.arrays["embedding"].shape == (3000, 16)
    np.testing.assert_array_equal(labels, concepts[:, 0] != concepts[:, 1])
    assert ((table.arrays["logits"] > 0) == concepts).mean(axis=0).min() >= 0.99
    assert abs((table.arrays["predictions"] == labels).mean() - 0.5) <= 0.1


def test_the_logits_are_a_posterior():
    """Of the samples whose concept is given a chance of about p, a share of p has it."""
    table = xor_table(3)
    p = table.probabilities
    unsure = (p > 0.02) & (p < 0.98)
    expected, found = p[unsure].mean(), table.arrays["concepts"][unsure].mean()
    assert unsure.sum() > 150
    assert abs(found - expected) < 4 * 0.5 / np.sqrt(unsure.sum())


def test_the_head_is_the_optimum_of_logistic_regression():
    """The table's task logits follow from its head, which is small as nothing linear is there."""
    table = xor_table(0)
    head = table.head()
    np.testing.assert_allclose(
        head.logits(table.head_inputs()), table.arrays["task_logits"], atol=1e-5
    )
    assert np.abs(head.weights[0]).max() < 0.4


def test_equal_seeds_give_equal_tables():
    assert xor_table(5).digest() == xor_table(5).digest()
    assert xor_table(5).digest() != xor_table(6).digest()
