"""SentencePiece-style tokenizers (Llama 2, Mistral, Gemma): ▁ for spaces, bytes as fallback."""

import functools

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, processors

from backend.tokens.encode import encode
from backend.tokens.explanation import Prompt

TEXTS = (
    "The capital of France is",
    "a",
    " leading and  double",
    "naïve 👨‍👩‍👧 end",
    "line\nbreak",
    "مرحبا",
)
LETTERS = "▁abcdefghijklmnopqrstuvwxyzTFRP."
MERGES = (("T", "h"), ("Th", "e"), ("▁", "The"), ("▁", "i"), ("▁i", "s"), ("▁", "P"), ("▁", "a"))


@functools.cache
def metaspace():
    """Llama 2's pipeline on a vocabulary of letters, bytes and a few merges."""
    from transformers import PreTrainedTokenizerFast

    names = ["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256)), *LETTERS]
    vocabulary = {name: i for i, name in enumerate(names)}
    for a, b in MERGES:
        vocabulary.setdefault(a + b, len(vocabulary))
    inner = Tokenizer(
        models.BPE(vocabulary, list(MERGES), unk_token="<unk>", byte_fallback=True, fuse_unk=True)  # noqa: S106
    )
    inner.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    inner.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    inner.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 1)]
    )
    special = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=inner, **special)


def encoded(prompt, answer=(), text=None):
    return encode(metaspace(), prompt, answer, text, 400)


def pieces(tokens):
    return [tokens.text[a:b] for a, b in tokens.offsets]


def assert_lossless(tokens):
    units = tokens.units("token")
    assert "".join(unit.text for unit in units) == tokens.text
    assert all(piece and "\ufffd" not in piece for piece in pieces(tokens))


@pytest.mark.parametrize("text", TEXTS)
def test_prompt_keeps_its_ids_and_characters(text):
    tokens = encoded(Prompt.of(text))
    assert list(tokens.ids) == metaspace()(text)["input_ids"]
    assert tokens.text == "<s>" + text
    assert tokens.ids.count(1) == 1
    assert_lossless(tokens)


def test_bytes_of_a_character_share_it():
    tokens = encoded(Prompt.of("a 👍."))
    assert pieces(tokens)[-5:] == ["👍"] * 4 + ["."]


@pytest.mark.parametrize("text", TEXTS)
def test_generated_answer_keeps_its_first_space_and_characters(text):
    """Decoded alone, the answer would lose the space its first token stands for."""
    ids = metaspace()(" " + text, add_special_tokens=False)["input_ids"]
    tokens = encoded(Prompt.of("Say"), ids)
    assert tokens.text.startswith("<s>Say ")
    assert tokens.text.endswith(text)
    assert tokens.ids[tokens.prompt_length :] == tuple(ids)
    assert_lossless(tokens)


def test_typed_answer_splits_as_in_running_text():
    """ " Paris" is ▁P a r i s, not ▁ ▁P: the space is the token's own, and there is one."""
    tokens = encoded(Prompt.of("The capital of France is"), text=" Paris")
    names = metaspace().convert_ids_to_tokens(list(tokens.ids[tokens.prompt_length :]))
    assert names == ["▁P", "a", "r", "i", "s"]
    assert tokens.text == "<s>The capital of France is Paris"
    assert pieces(tokens)[tokens.prompt_length] == " P"
    assert encoded(Prompt.of("The capital of France is"), tokens.ids[-5:]) == tokens


def test_typed_answer_without_a_space_stays_without():
    tokens = encoded(Prompt.of("The capital of France is"), text="Paris")
    names = metaspace().convert_ids_to_tokens(list(tokens.ids[tokens.prompt_length :]))
    assert names == ["P", "a", "r", "i", "s"]
