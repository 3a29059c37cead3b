"""Ready inputs: each shows one thing that explanations of a language model should tell apart."""

from __future__ import annotations

import dataclasses

from backend import examples
from backend.tokens.explanation import Message, Prompt, Target

_FILLER = (
    "The grass in the park is green.",
    "The sky over the lake is blue.",
    "Birds sing in the morning.",
    "Children play near the river.",
    "The bus stops at noon.",
    "Bread is baked before dawn.",
    "Rain fell on the old roof.",
    "The library opens at nine.",
)


@dataclasses.dataclass(frozen=True, eq=False)
class Example:
    """A prompt with the answer to explain, and what to look at."""

    id: str
    title: str
    prompt: Prompt
    target: Target
    note: str


def needle(sentences: int, at: int, code: str = "7481", place: str = "north gate") -> Prompt:
    """A fact planted among filler sentences, then asked for.

    Args:
        sentences: how many filler sentences.
        at: how many of them come before the fact.
        code: the fact's value; its place in the text is the prompt's `gold`.
        place: what the code is for.
    """
    filler = [_FILLER[i % len(_FILLER)] for i in range(sentences)]
    fact = f"The code for the {place} is {code}."
    lines = " ".join([*filler[:at], fact, *filler[at:]])
    question = f"Question: What is the code for the {place}? Answer: The code for the {place} is"
    text = f"{lines} {question}"
    start = text.index(code)
    return Prompt(messages=(Message(content=text),), gold=((start, start + len(code)),))


EXAMPLES: tuple[Example, ...] = (
    Example(
        "capital",
        "Fact recall",
        Prompt.of("The capital of France is"),
        Target(max_new_tokens=1),
        "The answer should rest on “France” and “capital”. Compare how much attention the first "
        "token draws with how much it contributes.",
    ),
    Example(
        "needle",
        "A planted needle",
        needle(5, 3),
        Target(max_new_tokens=5),
        "The underlined code is the only evidence for the answer: Recovery says which methods "
        "find it.",
    ),
    Example(
        "coreference",
        "Who is meant",
        Prompt.of("Anna gave the book to Tom because he had asked for it. The one who asked was"),
        Target(max_new_tokens=1),
        "Does the answer rest on the name it repeats, on the pronoun, or on “asked”?",
    ),
    Example(
        "arithmetic",
        "Arithmetic",
        Prompt.of("2 + 2 = 4\n3 + 3 = 6\n4 + 4 = 8\n5 + 5 ="),
        Target(max_new_tokens=3),
        "Is it adding the last numbers, or following the pattern of the lines above?",
    ),
    Example(
        "chat",
        "A chat with a system message",
        Prompt.of(
            "What is the capital of Italy", system="You answer in one short sentence.", chat=True
        ),
        Target(max_new_tokens=12),
        "See how much falls on the template and the system message; choose one answer token to "
        "ask about that token alone.",
    ),
    Example(
        "arabic_emoji",
        "Arabic and emoji",
        Prompt.of("مرحبا بالعالم 👩‍👩‍👧 مرحبا"),
        Target(max_new_tokens=4),
        "Letters and emoji made of several tokens are shown whole, in their own order; the scores "
        "of their pieces are summed.",
    ),
)


def example(name: str) -> Example:
    """The example with this id.

    Raises:
        KeyError: there is none; the text lists those there are.
    """
    return examples.find(EXAMPLES, name)
