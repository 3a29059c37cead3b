"""The requests behind a page: the table first, then explainers and scores about that table."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from backend.concepts import FAMILY, plan
from backend.concepts.explanation import ConceptExplanation, ConceptTarget, Recipe
from backend.concepts.train_cbm import explanation
from backend.explanation import Choice, Comparison, ModelRef
from tests.backend.concepts.tables import small

TABLE = "b" * 64
RECIPE = Recipe(epochs=3, seed=7)
SLICERS = (Choice(explainer="kmeans", parameters={"slices": 4}), Choice(explainer="random"))
RANKERS = (Choice(explainer="shapley"), Choice(explainer="concept_flip"))


def compared(choices=SLICERS, seed=5, **target) -> Comparison:
    return Comparison(
        family="concepts",
        model=ModelRef(name="shapes"),
        input="a" * 64,
        target=ConceptTarget.model_validate(target).model_dump(mode="json"),
        choices=choices,
        seed=seed,
    )


def role(explainer: str) -> str:
    return FAMILY.find(explainer).role


def test_the_training_is_asked_for_by_recipe_alone() -> None:
    asked = plan.train_request(compared(recipe=RECIPE, sample=3, label=1))
    assert (asked.explainer, asked.seed, asked.parameters) == ("train_cbm", 0, {})
    assert asked.input == "a" * 64
    assert ConceptTarget.model_validate(asked.target) == ConceptTarget(recipe=RECIPE)
    # Another sample, seed or method is about the same model.
    assert asked == plan.train_request(compared(RANKERS, seed=9, recipe=RECIPE))
    assert (
        plan.train_request(compared()).target
        == plan.train_request(compared(recipe=Recipe())).target
    )


def test_requests_are_about_the_table_and_know_no_recipe() -> None:
    found = plan.requests(compared(recipe=RECIPE, sample=3, label=1), TABLE)
    assert [r.explainer for r in found] == ["kmeans", "random"]
    assert [r.parameters for r in found] == [{"slices": 4}, {}]
    for request in found:
        assert (request.input, request.seed) == (TABLE, 5)
        target = ConceptTarget.model_validate(request.target)
        assert target == ConceptTarget(sample=3, label=1)
        assert request.subject is None
    # The same table trained otherwise, or brought, is the same question.
    assert found == plan.requests(compared(sample=3, label=1), TABLE)


def test_another_seed_is_of_explainers_and_of_the_training() -> None:
    moved = plan.at_seed(compared(recipe=RECIPE, sample=3), 2)
    assert moved.seed == 7
    assert ConceptTarget.model_validate(moved.target) == ConceptTarget(
        recipe=RECIPE.model_copy(update={"seed": 9}), sample=3
    )
    assert plan.at_seed(compared(recipe=RECIPE), 0) == compared(recipe=RECIPE)
    brought = plan.at_seed(compared(sample=3), 2)
    assert (brought.seed, brought.target) == (7, compared(sample=3).target)


def test_seeds_wrap() -> None:
    last = 2**32 - 1
    moved = plan.at_seed(compared(seed=last, recipe=Recipe(seed=last)), 2)
    asked = ConceptTarget.model_validate(moved.target).recipe
    assert asked is not None
    assert (moved.seed, asked.seed) == (1, 1)


def test_slicings_have_a_score_each_and_no_random_one() -> None:
    subjects = plan.requests(compared(), TABLE)
    scores = plan.score_requests(subjects, role)
    assert [score.explainer for score in scores] == ["slice_score", "slice_score"]
    assert tuple(score.subject for score in scores) == subjects
    assert all((s.input, s.seed, s.parameters) == (TABLE, 5, {}) for s in scores)


def test_attributions_are_followed_by_random_rankings() -> None:
    subjects = plan.requests(compared(RANKERS, sample=3), TABLE)
    *scores, random = plan.score_requests(subjects, role)
    assert tuple(score.subject for score in scores) == subjects
    assert random == scores[0].model_copy(update={"subject": None})
    assert random.explainer == "faithfulness"
    assert random.target == subjects[0].target


def test_what_cannot_be_scored_is_left_out() -> None:
    mixed = compared((*SLICERS[:1], Choice(explainer="mcbe"), *RANKERS[:1]), sample=3)
    scores = plan.score_requests(plan.requests(mixed, TABLE), role)
    assert [s.subject.explainer if s.subject else None for s in scores] == [
        *("kmeans", "shapley", None)
    ]
    assert plan.score_requests((), role) == ()


def test_a_table_comes_back_from_its_training() -> None:
    table = dataclasses.replace(
        small(),
        exclusive=((0, 1), (2,)),
        planted=("water",),
        bottleneck="soft",
        origin={"recipe": RECIPE.model_dump(mode="json"), "concept_accuracy": [0.5, 1.0]},
    )
    weights = {f"encoder/{i}": np.zeros(2, np.float32) for i in range(2)}
    trained = explanation(table, {})
    trained.arrays.update(weights)
    found = plan.table_of(ConceptExplanation.from_bytes(trained.to_bytes()))
    assert found.digest() == table.digest()
    assert set(found.arrays) == set(table.arrays)
    assert found.parts()[1] == table.parts()[1]


def test_what_holds_no_table_is_refused() -> None:
    with pytest.raises(ValueError, match="'slices', not a table"):
        plan.table_of(ConceptExplanation(arrays={}, values={"kind": "slices"}))
