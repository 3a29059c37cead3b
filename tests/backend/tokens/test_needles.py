"""Generated needles: the gold is the needles, the length is kept, and equal seeds agree."""

from __future__ import annotations

import re

import pytest

from backend.errors import InputError
from backend.tokens.explanation import Prompt
from backend.tokens.filler import PLACES, SENTENCES
from backend.tokens.needles import CHAIN, DISTRACTORS, KINDS, VALUES, Item, build

SIZES = (128, 256, 512, 2048)


def words(prompt: Prompt) -> int:
    """A counter of tokens: words, and marks by themselves."""
    return len(re.findall(r"\w+|[^\w\s]", prompt.text))


def characters(prompt: Prompt) -> int:
    """The hardest counter to fill: one token a character."""
    return len(prompt.text)


def gold(item: Item) -> list[str]:
    return [item.prompt.text[a:b] for a, b in item.prompt.gold]


def needles(item: Item) -> list[str]:
    """Every sentence with a code or an assignment before the question."""
    body = item.prompt.text.partition("\n\n")[0]
    return re.findall(r"(?:The code for|One code for) the [a-z ]+ is \d{5}\.|VAR \w+ = \w+\.", body)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seed", [0, 1, 77])
def test_length_is_kept(kind: str, size: int, seed: int) -> None:
    prompt = build(kind, size, seed, words).prompt
    assert 0.9 * size <= words(prompt) <= size


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [700, 1024, 4096])
def test_length_is_kept_where_every_character_is_a_token(kind: str, size: int) -> None:
    prompt = build(kind, size, 3, characters).prompt
    assert 0.9 * size <= characters(prompt) <= size


def test_single_needle_is_all_the_evidence() -> None:
    item = build("single", 256, 5, words)
    assert gold(item) == needles(item)
    [sentence] = gold(item)
    code = re.search(r"\d{5}", sentence)
    assert code is not None
    assert item.target.text == f" {code[0]}"
    place = re.search(r"for the (.+) is", sentence)
    assert place is not None
    assert item.prompt.text.endswith(f"Answer: The code for the {place[1]} is")


def test_other_keys_are_there_but_not_gold() -> None:
    item = build("multi_key", 256, 5, words)
    [asked] = gold(item)
    others = [sentence for sentence in needles(item) if sentence != asked]
    assert len(others) == DISTRACTORS
    assert str(item.target.text).strip() in asked
    assert not any(str(item.target.text).strip() in other for other in others)
    places = {re.search("for the (.+) is", s)[1] for s in needles(item)}  # type: ignore[index]
    assert len(places) == 1 + DISTRACTORS
    question = item.prompt.text.partition("\n\n")[2]
    assert [p for p in PLACES if f"the {p} is" in question] == [
        p for p in PLACES if f"the {p} is" in asked
    ]


def test_all_values_are_gold_in_the_order_of_the_answer() -> None:
    item = build("multi_value", 256, 5, words)
    assert gold(item) == needles(item)
    codes = [re.findall(r"\d{5}", sentence)[0] for sentence in gold(item)]
    assert len(set(codes)) == VALUES
    assert item.target.text == f" {codes[0]}, {codes[1]} and {codes[2]}"


def test_variables_follow_from_the_gold_alone() -> None:
    for seed in range(20):
        item = build("variable", 256, seed, words)
        asked = re.search(r"hold the value (\d{5})", item.prompt.text)
        assert asked is not None
        values: dict[str, str] = {}
        for sentence in needles(item):  # in the order of the text: sources come first
            name, source = re.findall(r"VAR (\w+) = (\w+)\.", sentence)[0]
            values[name] = source if source.isdigit() else values[source]
        holders = [name for name, value in values.items() if value == asked[1]]
        assert len(values) == 2 * CHAIN
        assert item.target.text == f" {', '.join(holders[:-1])} and {holders[-1]}"
        assert [re.findall(r"VAR (\w+)", s)[0] for s in gold(item)] == holders


def test_same_seed_same_item_and_others_differ() -> None:
    def text(kind: str = "single", size: int = 256, seed: int = 4) -> str:
        return build(kind, size, seed, words).prompt.text

    one, other = (build("variable", 256, 4, words) for _ in range(2))
    assert one.prompt.digest() == other.prompt.digest()
    assert one.target == other.target
    texts = [text(), text(seed=5), text(size=300), *(text(kind) for kind in KINDS[1:])]
    assert len(set(texts)) == len(texts)


def test_depths_reach_all_parts_of_the_text() -> None:
    depths = []
    for seed in range(60):
        item = build("single", 512, seed, words)
        depths.append(item.prompt.gold[0][0] / len(item.prompt.text))
    assert min(depths) < 0.15
    assert max(depths) > 0.8
    assert 0.35 < sum(depths) / len(depths) < 0.65


def test_filler_is_plain_prose_without_repeated_paragraphs() -> None:
    assert len(set(SENTENCES)) == len(SENTENCES) >= 60
    assert not any(re.search(r"\d|VAR|code|[A-Z]{2}", sentence) for sentence in SENTENCES)
    assert not any(place in " ".join(SENTENCES) for place in PLACES)
    body = build("single", 8192, 0, words).prompt.text
    pairs = re.findall(r"(?=((?:[A-Z][^.]*\. ){3}))", body)
    assert len(pairs) > 200
    assert len(set(pairs)) == len(pairs)


@pytest.mark.parametrize(
    ("kind", "size", "seed", "said"),
    [
        ("triple", 256, 0, "no kind 'triple'"),
        ("\x1b[31m", 256, 0, r"no kind '\\x1b\[31m'"),
        ("single", 127, 0, "128 to 32,768"),
        ("single", 32_769, 0, "128 to 32,768"),
        ("single", 256, -1, "Use 0 or more"),
    ],
)
def test_bad_arguments_are_refused(kind: str, size: int, seed: int, said: str) -> None:
    with pytest.raises(InputError, match=said):
        build(kind, size, seed, words)


def test_task_that_does_not_fit_and_filler_that_cannot_fill() -> None:
    with pytest.raises(InputError, match="alone have"):
        build("variable", 128, 0, characters)
    with pytest.raises(InputError, match="short enough"):
        build("single", 300, 0, characters, ("long " * 40, "longer " * 40))
    with pytest.raises(InputError, match="fewer than two"):
        build("single", 300, 0, words, ("The same.", "The same."))
