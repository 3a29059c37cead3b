"""The examples, and that the bundled model really does what their notes say."""

from __future__ import annotations

import pytest

from backend.settings import Settings
from backend.tokens import inputs
from backend.tokens.examples import EXAMPLES, example, needle
from tests.fake import FakeRun

FOUND = {"capital": " Paris", "needle": "7481", "coreference": " Tom", "arithmetic": " 10"}


def test_every_example_can_be_used_and_explained() -> None:
    assert len({entry.id for entry in EXAMPLES}) == len(EXAMPLES) >= 6
    for entry in EXAMPLES:
        inputs.check(entry.prompt, Settings())
        assert entry.target.ids is None
        assert entry.title
        assert entry.note
        assert example(entry.id) is entry


def test_unknown_example_lists_those_there_are() -> None:
    with pytest.raises(KeyError, match=r"capital, needle"):
        example("nothing")


def test_their_kinds() -> None:
    chat = example("chat").prompt
    assert chat.chat
    assert [message.role for message in chat.messages] == ["system", "user"]
    text = example("arabic_emoji").prompt.text
    assert "\u200d" in text
    assert any("\u0600" <= c <= "\u06ff" for c in text)


@pytest.mark.parametrize(("sentences", "at"), [(1, 0), (5, 3), (40, 40)])
def test_needle_lies_where_its_gold_says(sentences: int, at: int) -> None:
    prompt = needle(sentences, at, code="a[b]", place="mill")
    [(start, stop)] = prompt.gold
    assert prompt.text[start:stop] == "a[b]"
    assert prompt.text.count("a[b]") == 1
    assert prompt.text[:start].count(".") == at
    assert prompt.text.endswith("The code for the mill is")


@pytest.mark.model
@pytest.mark.parametrize("name", FOUND)
def test_bundled_model_answers_as_the_note_says(smollm2, name: str) -> None:
    entry = example(name)
    sequence = smollm2.encode(entry.prompt)
    ids = smollm2.generate(sequence, entry.target.max_new_tokens, FakeRun())
    whole = smollm2.encode(entry.prompt, ids)
    answer = whole.text[whole.offsets[whole.prompt_length][0] :]
    assert FOUND[name] in answer


@pytest.mark.model
def test_gold_tokens_of_the_needle_spell_the_code(smollm2) -> None:
    sequence = smollm2.encode(example("needle").prompt)
    pieces = [sequence.text[slice(*sequence.offsets[p])] for p in sequence.gold]
    assert "".join(pieces).strip() == "7481"
