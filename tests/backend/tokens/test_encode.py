"""Ids equal the tokenizer's own, spans lose no character, roles and evidence are where they are."""

import pytest

from backend.errors import InputError
from backend.tokens.encode import encode
from backend.tokens.explanation import Message, Prompt
from tests.tiny import SPECIALS, VOCABULARY, tokenizer

TEXTS = (
    "The capital of France is",
    "a",
    " ",
    "naïve café: naive",
    "👨‍👩‍👧‍👦 and 👍🏽 and 🇫🇷 end",
    "مرحبا بالعالم، كَيْفَ الحال؟",
    "日本語のテキスト。漢字！",
    "<script>alert('x & y')</script>",
    "line one\r\nline two\n\n\ttabbed  twice",
    "the the the the",
    "e\u0301 decomposed, \u200b zero width, \ud7a3 한국어",
    "हिन्दी और ไทย",
)
CHAT = Prompt(
    messages=(
        Message(role="system", content="You are a helpful assistant."),
        Message(role="user", content="user"),
        Message(role="assistant", content="It is five."),
        Message(role="user", content="What is naïve 👨‍👩‍👧?"),
    ),
    chat=True,
)


def encoded(prompt, answer=(), text=None, **how):
    return encode(tokenizer(**how), prompt, answer, text, VOCABULARY)


def pieces(tokens):
    return [tokens.text[a:b] for a, b in tokens.offsets]


def assert_lossless(tokens):
    """Every level's units hold each token once and their texts make up the whole."""
    assert len(tokens.ids) == len(tokens.offsets) == len(tokens.roles) == len(tokens.special)
    for level in ("token", "word", "sentence"):
        units = tokens.units(level)
        assert "".join(unit.text for unit in units) == tokens.text
        assert [p for unit in units for p in range(unit.start, unit.stop)] == list(
            range(len(tokens))
        )
    for piece in pieces(tokens):
        assert piece
        assert "\ufffd" not in piece
        piece.encode()


@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize("text", TEXTS)
def test_plain_prompt_has_the_tokenizers_ids_and_keeps_its_text(text, bos):
    tokens = encoded(Prompt.of(text), bos=bos)
    assert list(tokens.ids) == tokenizer(bos=bos)(text)["input_ids"]
    assert tokens.text == ("<s>" if bos else "") + text
    assert tokens.ids.count(1) == int(bos)
    assert set(tokens.roles) == {"prompt"} if not bos else set(tokens.roles) <= {"prompt"}
    assert_lossless(tokens)


def test_pieces_of_a_character_have_its_span():
    tokens = encoded(Prompt.of("a👍b"))
    assert pieces(tokens) == ["a", *["👍"] * (len(tokens) - 2), "b"]
    assert len(tokens) > 3


@pytest.mark.parametrize("written", ["👨‍👩‍👧‍👦", "👍🏽", "🇫🇷", "e\u0301", "كَ"])
def test_joined_code_points_are_one_written_character(written):
    units = encoded(Prompt.of(f"x {written} y")).units("token")
    assert any(unit.text.strip() == written for unit in units)


def test_offsets_of_whole_tokens_are_not_widened():
    tokens = encoded(Prompt.of("The capital of France is"))
    expected = tokenizer()("The capital of France is", return_offsets_mapping=True)
    assert list(tokens.offsets) == [tuple(span) for span in expected["offset_mapping"]]


@pytest.mark.parametrize("bos", [False, True])
def test_chat_has_the_templates_ids_with_one_bos(bos):
    tokens = encoded(CHAT, bos=bos)
    messages = [{"role": m.role, "content": m.content} for m in CHAT.messages]
    own = tokenizer(bos=bos).apply_chat_template(
        messages, tokenize=True, add_generation_prompt=True, return_dict=True
    )
    assert list(tokens.ids) == own["input_ids"]
    assert tokens.ids.count(1) == int(bos)
    assert tokens.text.endswith("<|im_start|>assistant\n")
    assert_lossless(tokens)


def test_chat_roles_are_those_of_the_messages():
    """The user's message "user" is not mistaken for the header of the same text."""
    tokens = encoded(CHAT)
    texts = {}
    for role, piece in zip(tokens.roles, pieces(tokens), strict=True):
        texts[role] = texts.get(role, "") + piece
    assert texts["system"] == "You are a helpful assistant."
    assert texts["assistant"] == "It is five."
    assert texts["user"].startswith("userWhat is na")
    start = tokens.text.index("user\nuser")
    roles = [
        role
        for role, (a, b) in zip(tokens.roles, tokens.offsets, strict=True)
        if start <= a and b <= start + 9
    ]
    assert roles[0] == "template"
    assert roles[-1] == "user"


def test_special_tokens_are_marked():
    tokens = encoded(CHAT, bos=True)
    marked = {i for i, special in zip(tokens.ids, tokens.special, strict=True) if special}
    assert marked == {1, 2, 3}
    assert all(
        (i in marked) == special for i, special in zip(tokens.ids, tokens.special, strict=True)
    )


def test_template_that_strips_and_adds_a_system_message():
    own = tokenizer.__wrapped__()
    own.chat_template = (
        "{% if messages[0]['role'] != 'system' %}<|im_start|>Be brief.<|im_end|>{% endif %}"
        "{% for m in messages %}{{ '<|im_start|>' + m['content'] | trim + '<|im_end|>' }}"
        "{% endfor %}{% if add_generation_prompt %}<|im_start|>{% endif %}"
    )
    prompt = Prompt(
        messages=(Message(content="  The code is 7481. \n"),), chat=True, gold=((14, 18),)
    )
    tokens = encode(own, prompt, (), None, VOCABULARY)
    users = [p for p, role in enumerate(tokens.roles) if role == "user"]
    assert "".join(pieces(tokens)[p] for p in users) == "The code is 7481."
    assert "".join(pieces(tokens)[p] for p in tokens.gold).strip() == "7481"
    assert_lossless(tokens)


@pytest.mark.parametrize("chat", [False, True])
@pytest.mark.parametrize("bos", [False, True])
def test_gold_characters_become_positions(chat, bos):
    text = "The code for the vault is 7481. What is the code?"
    at = text.index("7481")
    tokens = encoded(
        Prompt(messages=(Message(content=text),), chat=chat, gold=((at, at + 4),)), bos=bos
    )
    assert "".join(pieces(tokens)[p] for p in tokens.gold).strip() == "7481"
    assert all(tokens.roles[p] in {"user", "prompt"} for p in tokens.gold)


def test_gold_is_of_the_last_user_message():
    messages = (Message(content="one 7481"), Message(content="two 7481"))
    tokens = encoded(Prompt(messages=messages, gold=((4, 8),)))
    assert tokens.text == "one 7481\n\ntwo 7481"
    assert all(tokens.offsets[p][0] >= 13 for p in tokens.gold)


@pytest.mark.parametrize("gold", [(0, 0), (5, 99), (-1, 2), (4, 2)])
def test_gold_outside_the_message_is_refused(gold):
    with pytest.raises(InputError, match="evidence span"):
        encoded(Prompt(messages=(Message(content="short"),), gold=(gold,)))


@pytest.mark.parametrize("text", TEXTS)
def test_generated_answer_keeps_its_characters(text):
    """Ids as a model would emit them: the text is their decoding, every piece valid text."""
    ids = tokenizer()(text)["input_ids"]
    tokens = encoded(Prompt.of("Say:"), ids)
    assert tokens.text == "Say:" + text
    assert list(tokens.ids[tokens.prompt_length :]) == ids
    assert tokens.roles[-len(ids) :] == ("answer",) * len(ids)
    assert_lossless(tokens)


def test_answer_cut_inside_a_character_is_shown_as_it_decodes():
    ids = tokenizer()("a👍")["input_ids"][:-1]
    tokens = encoded(Prompt.of("Say:"), ids)
    assert tokens.text == "Say:" + tokenizer().decode(ids)
    assert tokens.offsets[-1][1] == len(tokens.text)
    assert all(a < b for a, b in tokens.offsets)


def test_decoded_spans_equal_the_tokenizers():
    """Where a token holds whole characters, decoding and the offset mapping agree."""
    text = "The capital of France is Paris, I think so."
    own = tokenizer()(text, return_offsets_mapping=True)
    tokens = encoded(Prompt.of("Say:"), own["input_ids"])
    spans = [(a - 4, b - 4) for a, b in tokens.offsets[tokens.prompt_length :]]
    assert spans == [tuple(span) for span in own["offset_mapping"]]


@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize("chat", [False, True])
def test_typed_answer_is_used_as_typed(bos, chat):
    prompt = Prompt.of("The capital of France is", chat=chat)
    tokens = encoded(prompt, text=" Paris.", bos=bos)
    answer = tokens.ids[tokens.prompt_length :]
    assert tokens.ids[: tokens.prompt_length] == encoded(prompt, bos=bos).ids
    assert tokenizer(bos=bos).decode(list(answer)) == " Paris."
    assert list(answer) == tokenizer(bos=bos)(" Paris.", add_special_tokens=False)["input_ids"]
    assert tokens.text.endswith(" Paris.")
    assert_lossless(tokens)


def test_typed_answer_never_changes_the_prompts_tokens():
    """ "is " + "Paris" would merge across the border: the answer is then tokenised alone."""
    prompt = Prompt.of("The capital of France is ")
    tokens = encoded(prompt, text="Paris")
    assert tokens.ids[: tokens.prompt_length] == encoded(prompt).ids
    assert tokens.text == "The capital of France is Paris"
    assert_lossless(tokens)


def test_typed_and_generated_answers_give_the_same_sequence():
    prompt = Prompt.of("The capital of Italy is")
    typed = encoded(prompt, text=" naïve 👨‍👩‍👧.")
    assert encoded(prompt, typed.ids[typed.prompt_length :]) == typed


def test_slow_tokenizer_is_served_by_decoding():
    class Slow:
        def __init__(self, inner):
            self.inner, self.is_fast = inner, False

        def __getattr__(self, name):
            return getattr(self.inner, name)

        def __call__(self, text, return_offsets_mapping=False, **how):
            assert not return_offsets_mapping
            return {"input_ids": self.inner(text, **how)["input_ids"]}

    slow = encode(Slow(tokenizer(bos=True)), Prompt.of("naïve 👍 words"), (), None, VOCABULARY)
    fast = encoded(Prompt.of("naïve 👍 words"), bos=True)
    assert slow.ids == fast.ids
    assert slow.text == fast.text
    assert slow.offsets == fast.offsets


@pytest.mark.parametrize("prompt", [Prompt(messages=()), Prompt.of(""), Prompt.of("", chat=True)])
def test_empty_prompt_is_refused(prompt):
    with pytest.raises(InputError, match="empty"):
        encoded(prompt)


def test_no_chat_template_says_switch_it_off():
    with pytest.raises(InputError, match=r"no chat template.*off"):
        encoded(Prompt.of("hello", chat=True), chat=False)


def test_template_that_refuses_says_why():
    own = tokenizer.__wrapped__()
    own.chat_template = "{{ raise_exception('no system role here') }}"
    with pytest.raises(InputError, match="no system role here"):
        encode(own, Prompt.of("hello", chat=True), (), None, VOCABULARY)


@pytest.mark.parametrize("ids", [(VOCABULARY,), (-1,), (5, 10_000)])
def test_answer_ids_outside_the_vocabulary_are_refused(ids):
    with pytest.raises(InputError, match="vocabulary"):
        encoded(Prompt.of("hello"), ids)


def test_empty_typed_answer_is_refused():
    with pytest.raises(InputError, match="typed answer is empty"):
        encoded(Prompt.of("hello"), text="")


def test_doubled_bos_is_single_even_when_typed():
    tokens = encoded(Prompt.of(SPECIALS[1] + "hello"), bos=True)
    assert tokens.ids.count(1) == 1
    assert tokens.text == "<s>hello"
