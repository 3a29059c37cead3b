"""Bundled prompts hold what is said of them, and a set is a file that reads back as it was."""

from __future__ import annotations

import json

import pytest

from backend.errors import InputError
from backend.settings import Settings
from backend.tokens import FAMILY, inputs, studied
from backend.tokens.encode import encode
from backend.tokens.entries import Brought
from backend.tokens.explanation import Message, Prompt
from backend.tokens.prompt_sets import ABOUT, NEEDLES, TITLES, PromptSet, bundled
from tests.tiny import VOCABULARY, tokenizer

OWN = [
    Brought(Prompt.of("plain\nwith a second line, \u2028 and “quotes” é 👩‍👩‍👧")),
    Brought(Prompt.of("What is it?", system="Be short.", chat=True), " 7\n"),
    Brought(
        Prompt(
            messages=(
                Message(content="first"),
                Message(role="assistant", content="answered"),
                Message(content="The code 7481 and 12."),
            ),
            gold=((9, 13), (18, 20)),
        ),
        " 7481",
    ),
]


def read_back(found):
    return PromptSet.of(inputs.brought("prompts.jsonl", found.lines(), Settings()), found.title)


def test_what_there_is():
    assert set(TITLES) == set(ABOUT) == {"needles", "facts"}
    needles, facts = bundled("needles"), bundled("facts")
    assert (len(needles), len(facts)) == (NEEDLES, 20) == (40, 20)
    assert (needles.name, needles.label()) == ("needles", "Planted needles")
    for found in (needles, facts):
        assert len({prompt.text for prompt in found.prompts}) == len(found)
        assert len(found.answers) == len(found)
        for prompt in found.prompts:
            inputs.check(prompt, Settings())
            assert not prompt.chat


def test_the_gold_of_a_needle_is_its_code_and_the_answer():
    needles = bundled("needles")
    for prompt, answer in zip(needles.prompts, needles.answers, strict=True):
        [(start, stop)] = prompt.gold
        code = prompt.text[start:stop]
        assert answer == f" {code}"
        assert prompt.text.count(code) == 1
        assert len(code) == 4
        place = prompt.text[:start].rsplit("The code for the ", 1)[1].removesuffix(" is ")
        assert prompt.text.endswith(f"The code for the {place} is"), "it is what is asked for"
    assert len(set(needles.answers)) == NEEDLES
    before = [prompt.text[: prompt.gold[0][0]].count(".") for prompt in needles.prompts]
    sentences = [prompt.text.count(".") - 1 for prompt in needles.prompts]
    assert set(sentences) == {2, 3, 4}
    shares = {b / s for b, s in zip(before, sentences, strict=True)}
    assert {0, 1} < shares, "it stands first, last, and in between"


def test_the_evidence_of_a_needle_is_found_among_its_tokens():
    for prompt in bundled("needles").prompts[:6]:
        tokens = encode(tokenizer(), prompt, (5,), None, VOCABULARY)
        text = "".join(tokens.text[slice(*tokens.offsets[p])] for p in tokens.gold)
        assert text.strip() == prompt.text[slice(*prompt.gold[0])]


def test_facts_mark_no_evidence_and_leave_the_answer_to_the_model():
    facts = bundled("facts")
    assert "The capital of France is" in {prompt.text for prompt in facts.prompts}
    assert {prompt.gold for prompt in facts.prompts} == {()}
    assert set(facts.answers) == {None}


@pytest.mark.parametrize("name", TITLES)
def test_a_bundled_set_is_always_the_same(name):
    assert bundled(name).digest() == bundled(name).digest()
    assert bundled(name).lines() == bundled(name).lines()
    assert PromptSet.from_bytes(bundled(name).to_bytes()).digest() == bundled(name).digest()


@pytest.mark.parametrize("found", [*map(bundled, TITLES), PromptSet.of(OWN, "mine.jsonl")])
def test_a_set_as_a_file_reads_back_as_it_was(found):
    again = read_back(found)
    assert [prompt.digest() for prompt in again.prompts] == [p.digest() for p in found.prompts]
    assert again.answers == found.answers
    assert read_back(again).lines() == found.lines()
    assert found.lines().count(b"\n") == len(found)


def test_an_entry_by_hand():
    [_, _, line] = PromptSet.of(OWN, "mine").lines().decode().splitlines()[-3:]
    assert json.loads(line) == {
        "messages": [
            {"role": "user", "content": "first"},
            {"role": "assistant", "content": "answered"},
            {"role": "user", "content": "The code 7481 and 12."},
        ],
        "chat": False,
        "gold": [[9, 13], [18, 20]],
        "answer": " 7481",
    }


def test_a_set_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(InputError, match=r"no bundled set of prompts 'haystack'") as found:
        bundled("haystack")
    assert found.value.todo == "Use facts, needles."


def test_a_study_starts_with_explainers_that_rank():
    assert {FAMILY.find(name).role for name in studied.DEFAULT} == {"attribution"}
    assert len(studied.DEFAULT) == len(set(studied.DEFAULT)) == 5
