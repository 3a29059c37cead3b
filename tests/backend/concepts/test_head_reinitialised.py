"""Heads that forget layer by layer: contributions change, a method that looks away is flagged."""

from __future__ import annotations

import numpy as np
import pytest

from backend.concepts.concept_flip import ConceptFlip
from backend.concepts.gradient_x_concept import GradientXConcept
from backend.concepts.linear_contributions import LinearContributions
from backend.concepts.reinitialised import layers, reinitialised
from backend.sanity import randomised
from tests.backend.concepts.decisions import decide, table

DRAWS = 8


def weights(given):
    return {name: a for name, a in given.arrays.items() if name.startswith("head/")}


def changed(before, after):
    now = weights(after)
    return {name for name, a in weights(before).items() if not np.array_equal(a, now[name])}


def test_layers_are_named_from_the_output_down_and_drawn_anew_in_that_order():
    given = table(hidden=(6, 4))
    assert layers(given) == ("output", "layer 2", "layer 1")
    assert changed(given, reinitialised(given, 0, 0)) == set()
    assert changed(given, reinitialised(given, 1, 0)) == {"head/2/weight", "head/2/bias"}
    whole = reinitialised(given, 3, 0)
    assert changed(given, whole) == set(weights(given))
    np.testing.assert_array_equal(
        weights(whole)["head/2/weight"], weights(reinitialised(given, 1, 0))["head/2/weight"]
    )
    assert changed(whole, reinitialised(given, 3, 1)) == {f"head/{i}/weight" for i in range(3)}
    bound = (6 / (4 + 6)) ** 0.5
    assert 0.5 * bound < np.abs(weights(whole)["head/1/weight"]).max() <= bound
    assert not weights(whole)["head/1/bias"].any()
    for name in ("logits", "labels", "predictions", "concepts"):
        np.testing.assert_array_equal(whole.arrays[name], given.arrays[name])


def test_a_table_without_a_head_has_nothing_to_forget():
    given = table(with_head=False)
    assert layers(given) == ()
    with pytest.raises(ValueError, match="no 1 layers"):
        reinitialised(given, 1, 0)
    with pytest.raises(ValueError, match="no 2 layers"):
        reinitialised(table(), 2, 0)


def curve(scores, given):
    drawn = [
        [scores(reinitialised(given, depth + 1, draw)) for depth in range(len(layers(given)))]
        for draw in range(DRAWS)
    ]
    return randomised(layers(given), scores(given), drawn)


@pytest.mark.parametrize("explainer", [LinearContributions, GradientXConcept, ConceptFlip])
def test_contributions_of_a_head_that_forgets_lose_their_ranking(explainer):
    given = table(k=30, bottleneck="soft")
    found = curve(lambda one: decide(explainer, one, label=1).arrays["scores"], given)
    assert found.verdict == "depends"
    assert abs(found.means[-1].mean) < 0.3


def test_one_that_ignores_the_head_is_flagged():
    given = table(k=30)
    found = curve(lambda one: one.arrays["logits"][3].astype(float), given)
    assert found.verdict == "ignores"
