"""The last part of a prompt that fits, for plain prompts and chats."""

from __future__ import annotations

from typing import Any

import pytest

from backend.errors import InputError
from backend.tokens.explanation import Prompt, Target
from backend.tokens.shorten import OFFER, Shorten, cut
from tests.fake import FakeRun

WORDS = "The river runs by the old mill and the wind is cold today. " * 80


def shortened(model: Any, prompt: Prompt, target: Target) -> tuple[Prompt, dict[str, Any]]:
    found = Shorten().explain(model, prompt, target, Shorten.Parameters(), FakeRun())
    return cut(prompt, found.values["characters"]), found.values


@pytest.mark.parametrize("chat", [False, True])
@pytest.mark.parametrize("text", [WORDS, "مرحبا 👩‍👩‍👧 naïve " * 90, "  " + WORDS])
def test_what_is_kept_fits_and_is_the_end(tiny: Any, chat: bool, text: str) -> None:
    model, target = tiny("llama"), Target(max_new_tokens=7)
    prompt = Prompt.of(text, system="Be brief." if chat else "", chat=chat)
    with pytest.raises(InputError, match=OFFER):
        model.encode(prompt, tuple([5] * 7))
    kept, values = shortened(model, prompt, target)
    assert text.endswith(kept.text)
    assert kept.messages[:-1] == prompt.messages[:-1]
    length = len(model.encode(kept, tuple([5] * 7)))
    assert model.limit - 12 <= length <= model.limit
    assert values["dropped"] > 0


def test_a_prompt_that_fits_stays_whole(tiny: Any) -> None:
    kept, values = shortened(tiny("llama"), Prompt.of("short"), Target())
    assert (kept.text, values) == ("short", {"characters": 0, "dropped": 0})


def test_evidence_moves_with_the_text_or_goes(tiny: Any) -> None:
    prompt = Prompt(messages=Prompt.of("abc def ghi").messages, gold=((0, 3), (8, 11)))
    assert cut(prompt, 4).gold == ((4, 7),)
    assert cut(prompt, 4).text[4:7] == "ghi"


def test_a_system_message_that_fills_the_context_cannot_be_helped(tiny: Any) -> None:
    prompt = Prompt.of("hi", system=WORDS, chat=True)
    with pytest.raises(InputError, match="alone are too long"):
        shortened(tiny("llama"), prompt, Target())
