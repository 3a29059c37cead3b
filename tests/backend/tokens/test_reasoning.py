"""Reasoning is found by its markers, whoever opened it, or taken as chosen."""

from __future__ import annotations

import pytest

from backend.errors import InputError
from backend.tokens.reasoning import MARKERS, reasoning, stop_tokens
from backend.tokens.sequence import Sequence


def made(prompt: str, answer: str, roles: str = "prompt") -> Sequence:
    """One token a character, so that positions are characters."""
    text = prompt + answer
    return Sequence(
        ids=tuple(range(len(text))),
        text=text,
        offsets=tuple((i, i + 1) for i in range(len(text))),
        roles=(roles,) * len(prompt) + ("answer",) * len(answer),
        special=(False,) * len(text),
        prompt_length=len(prompt),
    )


def found(sequence: Sequence, asked: str = "auto") -> str:
    return "".join(sequence.text[p] for p in reasoning(sequence, asked))


@pytest.mark.parametrize(("opening", "closing"), MARKERS)
def test_between_its_markers(opening: str, closing: str) -> None:
    assert found(made("Q?", f"{opening}a, b.{closing}It is 7.")) == "a, b."


@pytest.mark.parametrize(("opening", "closing"), MARKERS)
def test_opened_by_the_template(opening: str, closing: str) -> None:
    assert found(made(f"Q?{opening}\n", f"a, b.{closing}It is 7.")) == "a, b."


def test_closed_only() -> None:
    assert found(made("Q?", "a, b.</think>7")) == "a, b."


def test_never_closed() -> None:
    assert found(made("Q?", "<think>a, b")) == "a, b"


def test_text_before_it_is_not_reasoning() -> None:
    assert found(made("Q?", "Well. <think>a</think>7")) == "a"


@pytest.mark.parametrize("answer", ["It is 7.", "", "a < b > c", "</ think>"])
def test_none(answer: str) -> None:
    assert reasoning(made("<think>what?</think> Q?", answer)) == ()


def test_nothing_inside() -> None:
    assert reasoning(made("Q?", "<think></think>7")) == ()


def test_chosen_by_hand() -> None:
    sequence = made("Q?", "<think>a</think>7")
    assert reasoning(sequence, "0:3") == (2, 3, 4)
    assert reasoning(sequence, "none") == ()


@pytest.mark.parametrize("asked", ["3:3", "5:2", "0:6", "x", "1:", "-1:2", "", "1:2:3"])
def test_no_part_of_the_answer(asked: str) -> None:
    with pytest.raises(InputError, match="no part of the answer, which has 5 tokens"):
        reasoning(made("Q?", "abcde"), asked)


def test_stop_tokens_are_bare_marks_and_blanks() -> None:
    sequence = made("a, b.\n", "c. d!")
    assert [c for c, stop in zip(sequence.text, stop_tokens(sequence), strict=True) if stop] == (
        [",", " ", ".", "\n", ".", " "]
    )
    assert not stop_tokens(made(", .", "x", roles="template")).any()
