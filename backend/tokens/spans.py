"""Which characters each token stands for, whatever the tokenizer says about it.

Byte-level pieces of one character share its span; so do tokens inside one written character of
several code points (an emoji with joiners, a letter with its marks).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

import regex  # type: ignore[import-untyped]

Span = tuple[int, int]
_CONTEXT = 8
"""Tokens before the answer that are decoded with it, so that its first space survives."""
_CHARACTER = regex.compile(r"\X")


def spans(text: str, raw: Sequence[Span]) -> list[Span]:
    """Spans that cover the text without a gap, each made of whole written characters.

    A character that belongs to no token (a tokenizer may drop a space) goes to the token after
    it. A token without characters shares those of a neighbour.

    Args:
        raw: half-open spans in the order of the tokens.
    """
    edges = [0, *(match.end() for match in _CHARACTER.finditer(text))]
    result: list[Span] = []
    reach = low = 0
    for begin, end in raw:
        begin = max(min(begin, reach), low)
        end = min(max(end, begin), len(text))
        if begin == end:
            begin, end = (begin, begin + 1) if begin < len(text) else (max(begin - 1, 0), end)
        begin = edges[bisect_right(edges, begin) - 1]
        end = edges[min(bisect_left(edges, end), len(edges) - 1)]
        result.append((begin, end))
        reach, low = max(reach, end), begin
    if result and reach < len(text):
        result[-1] = (result[-1][0], len(text))
    return result


def decoded(tokenizer: Any, before: Sequence[int], ids: Sequence[int]) -> tuple[str, list[Span]]:
    """Text of `ids` after the tokens `before`, and each id's span in it.

    Prefixes of growing length are decoded: a token stands for what its arrival makes certain. A
    token that ends inside a character has the whole character.
    """
    context = list(before)[-_CONTEXT:]

    def text(count: int) -> str:
        decoding: str = tokenizer.decode(
            [*context, *ids[:count]],
            skip_special_tokens=False,
            clean_up_tokenization_spaces=False,
        )
        return decoding

    start, whole = len(text(0)), text(len(ids))
    certain, partial = [start], [False]
    for count in range(1, len(ids) + 1):
        prefix = text(count)
        agreed = max(_agreement(prefix, whole), certain[-1])
        certain.append(agreed)
        partial.append(len(prefix) > agreed)
    raw = []
    for i in range(len(ids)):
        end = certain[i + 1] + (1 if partial[i + 1] else 0)
        raw.append((certain[i] - start, max(end, certain[i]) - start))
    return whole[start:], raw


def _agreement(prefix: str, whole: str) -> int:
    """Length of the longest common beginning."""
    if whole.startswith(prefix):
        return len(prefix)
    return next(i for i, (a, b) in enumerate(zip(prefix, whole, strict=False)) if a != b)
