"""The requests behind a page: same question, same request; another question, another request."""

from __future__ import annotations

import numpy as np
import pytest

from backend.explanation import Choice, Comparison, ModelRef
from backend.tokens import plan
from backend.tokens.explanation import Target, TokenExplanation
from backend.tokens.sequence import Sequence

IDS = (7, 8, 9)
CHOICES = (
    Choice(explainer="attention_mean"),
    Choice(explainer="contribution_weights", parameters={"sign": "positive"}),
)


def compared(**target: object) -> Comparison:
    return Comparison(
        family="tokens",
        model=ModelRef(name="small"),
        input="a" * 64,
        target=Target.model_validate(target).model_dump(mode="json"),
        choices=CHOICES,
        seed=3,
    )


@pytest.fixture
def continuation() -> TokenExplanation:
    sequence = Sequence(
        ids=(1, *IDS),
        text="abcd",
        offsets=((0, 1), (1, 2), (2, 3), (3, 4)),
        roles=("user", "answer", "answer", "answer"),
        special=(False,) * 4,
        prompt_length=1,
    )
    return TokenExplanation(
        arrays={"scores": np.full(4, np.nan, np.float32)},
        values={"ids": list(IDS)},
        sequence=sequence,
        explained=(1, 2, 3),
    )


def test_answer_is_asked_for_without_its_span() -> None:
    asked = plan.continuation_request(compared(text="Paris", span=(1,)))
    assert asked.explainer == "continuation"
    assert asked.target == Target(text="Paris").model_dump(mode="json")
    # Another span of the same answer asks for the same answer, whatever the seed.
    assert asked == plan.continuation_request(compared(text="Paris"))


def test_one_request_a_choice_about_the_answers_ids(continuation: TokenExplanation) -> None:
    found = plan.requests(compared(max_new_tokens=3, span=(0, 2)), continuation)
    assert [r.explainer for r in found] == ["attention_mean", "contribution_weights"]
    assert [r.parameters for r in found] == [{}, {"sign": "positive"}]
    for request in found:
        assert request.target == Target(ids=IDS, span=(0, 2)).model_dump(mode="json")
        assert (request.seed, request.model.name, request.input) == (3, "small", "a" * 64)


def test_how_the_ids_came_about_does_not_matter(continuation: TokenExplanation) -> None:
    ways = ({"max_new_tokens": 3}, {"text": "bcd"}, {"ids": IDS}, {"span": (0, 1, 2)})
    found = [plan.requests(compared(**way), continuation) for way in ways]
    assert all(requests == found[0] for requests in found)
    assert found[0][0].target == Target(ids=IDS).model_dump(mode="json")


@pytest.mark.parametrize(("span", "kept"), [((0, 1, 2), None), ((2,), (2,)), ((1, 3), None)])
def test_span_of_everything_is_no_span(
    continuation: TokenExplanation, span: tuple[int, ...], kept: tuple[int, ...] | None
) -> None:
    """A span that no longer fits a shorter answer explains all of it."""
    target = plan.requests(compared(span=span), continuation)[0].target
    assert Target.model_validate(target).span == kept


def test_scores_are_about_their_attributions_and_end_with_random(
    continuation: TokenExplanation,
) -> None:
    comparison = compared()
    attributions = plan.requests(comparison, continuation)
    found = plan.score_requests(comparison, continuation, attributions)
    assert [request.subject for request in found] == [*attributions, None]
    assert {request.explainer for request in found} == {"faithfulness"}
    assert all(request.target == attributions[0].target for request in found)
