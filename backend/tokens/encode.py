"""The one place that turns a prompt and an answer into token ids, spans and roles.

A chat is rendered and tokenised by the tokenizer's own `apply_chat_template`; a plain prompt by
calling the tokenizer. Neither goes the way of rendering to text and encoding that, which doubles
the BOS token. A plain prompt of several messages is their contents with a blank line between.

A typed answer is used as typed: after "The capital of France is" type " Paris" with its space. It
is tokenised together with the prompt, so that it splits as it would in running text; where that
would change the prompt's own tokens it is tokenised alone, without special tokens.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from jinja2 import TemplateError

from backend.errors import InputError
from backend.tokens.explanation import Prompt
from backend.tokens.sequence import Role
from backend.tokens.sequence import Sequence as Tokens
from backend.tokens.spans import Span, decoded, spans

SEPARATOR = "\n\n"


@dataclasses.dataclass(frozen=True)
class Content:
    """Where a message's content stands in the written prompt."""

    start: int
    stop: int
    role: Role
    message: int
    cut: int = 0
    """Characters the template took from its front."""


@dataclasses.dataclass(frozen=True)
class Pieces:
    """A tokenised text: ids, and raw spans of `text`."""

    ids: list[int]
    text: str
    raw: list[Span]
    added: str = ""
    """The beginning of the text that the tokenizer put there (BOS)."""


def encode(
    tokenizer: Any,
    prompt: Prompt,
    answer_ids: Sequence[int],
    answer_text: str | None,
    vocabulary: int,
) -> Tokens:
    """Ids, spans, roles and gold positions of a prompt with its answer (see the module).

    Raises:
        InputError: see `DecoderModel.encode`.
    """
    if not any(message.content for message in prompt.messages):
        raise InputError("The prompt is empty.", todo="Type at least one character.")
    head, contents = _chat(tokenizer, prompt) if prompt.chat else _plain(tokenizer, prompt)
    if not head.ids:
        raise InputError("The prompt has no tokens.", todo="Type at least one character.")
    tail = _answer(tokenizer, prompt, head, answer_ids, answer_text, vocabulary)
    # Spans are widened to whole characters within the prompt and within the answer, never across.
    offsets = spans(head.text, head.raw)
    shift = len(head.text)
    offsets += [(a + shift, b + shift) for a, b in spans(tail.text, tail.raw)]
    special = _special_ids(tokenizer)
    ids = _with(head.ids, prompt.replaced, vocabulary) + tail.ids
    roles = [_role(span, contents, prompt.chat) for span in offsets[: len(head.ids)]]
    roles += ["answer"] * len(tail.ids)
    return Tokens(
        ids=tuple(ids),
        text=head.text + tail.text,
        offsets=tuple(offsets),
        roles=tuple(roles),
        special=tuple(i in special for i in head.ids + tail.ids),
        prompt_length=len(head.ids),
        gold=_gold(prompt, contents, offsets[: len(head.ids)]),
    )


def _with(ids: list[int], replaced: Sequence[tuple[int, int]], vocabulary: int) -> list[int]:
    """The prompt's ids with others in the place of some.

    Raises:
        InputError: there is no such position or id.
    """
    found = list(ids)
    for position, other in replaced:
        if not 0 <= position < len(ids) or not 0 <= other < vocabulary:
            raise InputError(
                f"Token {position} of this prompt cannot be replaced with id {other}.",
                todo="Ask for the prompt as it is.",
            )
        found[position] = other
    return found


def _plain(tokenizer: Any, prompt: Prompt) -> tuple[Pieces, list[Content]]:
    text, contents = "", list[Content]()
    for i, message in enumerate(prompt.messages):
        text += SEPARATOR if contents else ""
        contents.append(Content(len(text), len(text) + len(message.content), "prompt", i))
        text += message.content
    pieces = _tokenised(tokenizer, text, special=True)
    shift = len(pieces.text) - len(text)
    return pieces, [
        dataclasses.replace(c, start=c.start + shift, stop=c.stop + shift) for c in contents
    ]


def _chat(tokenizer: Any, prompt: Prompt) -> tuple[Pieces, list[Content]]:
    if not getattr(tokenizer, "chat_template", None):
        raise InputError("This model has no chat template.", todo="Switch the chat template off.")
    messages = [{"role": m.role, "content": m.content} for m in prompt.messages]
    try:
        text = _rendered(tokenizer, messages)
        encoded = tokenizer.apply_chat_template(
            messages,
            tokenize=True,
            add_generation_prompt=True,
            return_dict=True,
            tokenizer_kwargs={"return_offsets_mapping": tokenizer.is_fast},
        )
    except TemplateError as error:
        raise InputError(
            f"The model's chat template refuses this conversation: {error}.",
            todo="Change the messages, or switch the chat template off.",
        ) from error
    pieces = _pieces(tokenizer, text, encoded)
    return pieces, _contents(tokenizer, messages, pieces.text)


def _rendered(tokenizer: Any, messages: list[dict[str, str]]) -> str:
    text: str = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    return text


def _contents(tokenizer: Any, messages: list[dict[str, str]], text: str) -> list[Content]:
    """Where each message stands in the rendered chat.

    The template is rendered once more with a mark in each message's place: what is between the
    marks is the template's own. Searching for the contents would find "user" in the header.
    """
    marks = [f"\ue000{i}\ue001" for i in range(len(messages))]
    marked = [{**m, "content": mark} for m, mark in zip(messages, marks, strict=True)]
    frame = _rendered(tokenizer, marked)
    found, at = [], 0
    for i, (message, mark) in enumerate(zip(messages, marks, strict=True)):
        before, there, frame = frame.partition(mark)
        if not there:  # the template drops this message
            frame = before
            continue
        start = at + len(before)
        follows = frame.partition("\ue000")[0]
        for content in (message["content"], message["content"].strip()):
            if text.startswith(content + follows, start):
                break
        else:
            start = max(text.find(content, at), at)
        cut = message["content"].find(content)
        role: Any = message["role"]
        at = start + len(content)
        found.append(Content(start, at, role, i, cut))
    return found


def _tokenised(tokenizer: Any, text: str, *, special: bool) -> Pieces:
    return _pieces(
        tokenizer,
        text,
        tokenizer(text, add_special_tokens=special, return_offsets_mapping=tokenizer.is_fast),
    )


def _pieces(tokenizer: Any, text: str, encoded: Any) -> Pieces:
    """What the tokenizer gave, with BOS once, no EOS of its own, and added tokens written out."""
    ids = [int(i) for i in encoded["input_ids"]]
    bos, eos = tokenizer.bos_token_id, tokenizer.eos_token_id
    if "offset_mapping" not in encoded:
        if ids[:2] == [bos, bos]:
            ids = ids[1:]
        return Pieces(ids, *decoded(tokenizer, (), ids))
    raw = [(int(a), int(b)) for a, b in encoded["offset_mapping"]]
    special = _special_ids(tokenizer)
    if bos is not None and ids[:2] == [bos, bos]:
        ids, raw = ids[1:], raw[1:]
    if ids and ids[-1] == eos and raw[-1][0] == raw[-1][1]:
        ids, raw = ids[:-1], raw[:-1]
    added = 0
    while added < len(ids) and ids[added] in special and raw[added] == (0, 0):
        added += 1
    prefix, shifted = "", list[Span]()
    for token in tokenizer.convert_ids_to_tokens(ids[:added]):
        shifted.append((len(prefix), len(prefix) + len(token)))
        prefix += token
    shifted += [(a + len(prefix), b + len(prefix)) for a, b in raw[added:]]
    return Pieces(ids, prefix + text, shifted, prefix)


def _answer(
    tokenizer: Any,
    prompt: Prompt,
    head: Pieces,
    ids: Sequence[int],
    text: str | None,
    vocabulary: int,
) -> Pieces:
    """The answer's tokens; spans count from the answer's first character."""
    if text is None:
        outside = [i for i in ids if not 0 <= i < vocabulary]
        if outside:
            raise InputError(
                f"Token id {outside[0]} is not in the vocabulary (0 to {vocabulary - 1})."
            )
        return Pieces(list(ids), *decoded(tokenizer, head.ids, list(ids)))
    if not text:
        raise InputError("The typed answer is empty.", todo="Type at least one character.")
    written = head.text[len(head.added) :]
    joint = _tokenised(tokenizer, written + text, special=not prompt.chat)
    n = len(head.ids)
    if joint.ids[:n] == head.ids and len(joint.ids) > n:
        shift = len(head.text)
        raw = [(max(a - shift, 0), b - shift) for a, b in joint.raw[n:]]
        return Pieces(joint.ids[n:], text, raw)
    alone = _tokenised(tokenizer, text, special=False)
    if not alone.ids:
        raise InputError("The typed answer has no tokens.", todo="Type another answer.")
    return alone


def _special_ids(tokenizer: Any) -> frozenset[int]:
    added = {i for i, token in tokenizer.added_tokens_decoder.items() if token.special}
    return frozenset({*tokenizer.all_special_ids, *added})


def _role(span: Span, contents: list[Content], chat: bool) -> Role:
    for content in contents:
        if span[0] < content.stop and content.start < span[1]:
            return content.role
    return "template" if chat else "prompt"


def _gold(prompt: Prompt, contents: list[Content], offsets: list[Span]) -> tuple[int, ...]:
    """Positions of the tokens that overlap the known evidence in the last user message."""
    if not prompt.gold:
        return ()
    last = max((i for i, m in enumerate(prompt.messages) if m.role == "user"), default=None)
    place = next((content for content in contents if content.message == last), None)
    if last is None or place is None:
        raise InputError("Evidence is marked, but there is no user message to hold it.")
    length = len(prompt.messages[last].content)
    wanted: set[int] = set()
    for a, b in prompt.gold:
        if not 0 <= a < b <= length:
            raise InputError(
                f"The evidence span {a} to {b} is not inside the message's {length} characters."
            )
        start, stop = place.start + a - place.cut, place.start + b - place.cut
        wanted |= {p for p, (x, y) in enumerate(offsets) if x < stop and start < y}
    return tuple(sorted(wanted))
