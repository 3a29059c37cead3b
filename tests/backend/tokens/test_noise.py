"""A few tokens give way to others of the same prompt; evidence, places and texts stay."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from backend.errors import InputError
from backend.tokens.explanation import Message, Prompt, TokenExplanation
from backend.tokens.gradient_x_input import GradientXInput
from backend.tokens.noise import NOISE, aligned, noisy
from backend.tokens.prompt_sets import bundled
from backend.tokens.sequence import Sequence
from tests.backend.tokens.passage import TARGET, explain
from tests.tiny import VOCABULARY

NEEDLE = bundled("needles").prompts[5]
PLAIN = Prompt.of("The capital of France is")


def sequence(ids, gold=(), special=()):
    """A prompt of these ids, a character each, and an answer of one token."""
    count = len(ids)
    return Sequence(
        ids=(*ids, 7),
        text="x" * (count + 1),
        offsets=tuple((i, i + 1) for i in range(count + 1)),
        roles=("prompt",) * count + ("answer",),
        special=tuple(i in special for i in range(count + 1)),
        prompt_length=count,
        gold=gold,
    )


@pytest.mark.parametrize("share", [NOISE, 0.3])
def test_a_share_of_the_ordinary_tokens_is_replaced_with_others_of_the_prompt(tiny, share):
    tokens = tiny("llama", bos=True).encode(NEEDLE, (7,))
    candidates = tokens.candidates()
    assert tokens.special[0]
    assert tokens.gold
    for seed in range(10):
        found = noisy(NEEDLE, tokens, seed, share).replaced
        positions = [position for position, _ in found]
        assert len(found) == len(set(positions)) == round(share * len(candidates)) > 1
        assert positions == sorted(positions)
        assert set(positions) <= set(candidates) - set(tokens.gold)
        assert all(tokens.ids[position] != other for position, other in found)
        assert {other for _, other in found} <= {tokens.ids[p] for p in candidates}


def test_noise_is_five_in_a_hundred_and_at_least_one_token():
    assert len(noisy(PLAIN, sequence(range(10, 90)), 0).replaced) == 4
    assert len(noisy(PLAIN, sequence(range(10, 15)), 0).replaced) == 1


def test_equal_seeds_replace_the_same_and_all_else_stays():
    tokens = sequence(range(10, 70))
    prompt = dataclasses.replace(NEEDLE, chat=True)
    found = [noisy(prompt, tokens, seed) for seed in (3, 3, *range(4, 9))]
    assert found[0].digest() == found[1].digest()
    assert len({one.digest() for one in found}) == len(found) - 1
    assert prompt.digest() not in {one.digest() for one in found}
    for one in found:
        assert dataclasses.replace(one, replaced=()).digest() == prompt.digest()
        assert Prompt.from_bytes(one.to_bytes()).replaced == one.replaced


def test_every_token_that_may_go_goes_in_its_turn():
    tokens = sequence(range(10, 20), gold=(2, 3), special=(0,))
    reached = {noisy(PLAIN, tokens, seed).replaced[0][0] for seed in range(200)}
    assert reached == {1, 4, 5, 6, 7, 8, 9}


def test_where_nothing_can_be_replaced_nothing_is():
    assert noisy(PLAIN, sequence([5] * 12), 0).replaced == ()
    assert noisy(PLAIN, sequence(range(10, 14), gold=(0, 1, 2, 3)), 0).replaced == ()


def told(ids, scores):
    tokens = sequence(ids)
    padded = np.array([*scores, np.nan], dtype=np.float32)
    return TokenExplanation(arrays={"scores": padded}, sequence=tokens, explained=(len(ids),))


def test_a_replaced_token_has_no_score():
    found = [told([4, 5, 6], [1, 2, 3]), told([4, 9, 6], [10, 20, 30]), told([6, 5, 4], [1, 2, 3])]
    rows = aligned(found)
    nan = np.nan
    np.testing.assert_array_equal(rows, [[1, 2, 3, nan], [10, nan, 30, nan], [nan, 2, nan, nan]])
    assert found[1].arrays["scores"][1] == 20, "the explanation itself stays"


CHAT = Prompt(
    messages=(
        Message(role="system", content="You are a helpful assistant."),
        Message(content="The code is 7481. What is the code?"),
    ),
    chat=True,
    gold=((12, 16),),
)


@pytest.mark.parametrize("prompt", [CHAT, NEEDLE], ids=["chat", "plain"])
@pytest.mark.parametrize("how", [{"answer_ids": (9, 3)}, {"answer_text": " 7481"}])
def test_ids_are_replaced_and_texts_roles_and_evidence_stay(tiny, prompt, how):
    model = tiny("llama", bos=True)
    plain = model.encode(prompt, **how)
    # At the evidence, at a special token, and with a special id: all are the asker's to choose.
    changed = {0: 60, 8: 1, plain.gold[0]: 61, plain.prompt_length - 1: VOCABULARY - 1}
    found = model.encode(dataclasses.replace(prompt, replaced=tuple(changed.items())), **how)
    expected = [changed.get(position, old) for position, old in enumerate(plain.ids)]
    assert list(found.ids) == expected != list(plain.ids)
    assert dataclasses.replace(found, ids=plain.ids) == plain
    assert model.encode(prompt, **how) == plain, "what was remembered is the other prompt's"


@pytest.mark.parametrize(("position", "id"), [(-1, 5), (5, 5), (9**9, 5), (0, -1), (0, VOCABULARY)])
def test_a_token_that_is_not_there_cannot_be_replaced(tiny, position, id):
    model = tiny("llama")
    wrong = Prompt.of(" the the the the the")
    assert model.encode(wrong).prompt_length == 5
    wrong = dataclasses.replace(wrong, replaced=((1, 6), (position, id)))
    with pytest.raises(InputError, match=f"Token {position} .* replaced with id {id}"):
        model.encode(wrong, (5, 6, 7))


def test_an_explanation_is_of_the_tokens_that_were_put_there(tiny):
    """The noisy prompt explained is the prompt explained that has these tokens by itself."""
    model = tiny("llama")
    one, other = Prompt.of("the book the mill"), Prompt.of("the mill the book")
    ids, wanted = model.encode(one).ids, model.encode(other).ids
    places = [p for p, (old, new) in enumerate(zip(ids, wanted, strict=True)) if old != new]
    assert places
    shaken = dataclasses.replace(one, replaced=tuple((p, wanted[p]) for p in places))
    plain, expected, found = (
        explain(model, GradientXInput, prompt=prompt, target=TARGET).arrays["scores"]
        for prompt in (one, other, shaken)
    )
    np.testing.assert_array_equal(found, expected)
    assert np.nanmax(np.abs(found - plain)) > 1e-3
