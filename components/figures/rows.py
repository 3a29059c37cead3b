"""Lay the pieces of a text out in rows, as a reader of its script expects them."""

from __future__ import annotations

import dataclasses
import itertools
import unicodedata
from collections.abc import Iterator, Sequence

from components.figures import labels


@dataclasses.dataclass(frozen=True)
class Piece:
    """A box: which item it shows (or a part of), its text, the marks of leading spaces."""

    item: int
    text: str
    spaces: int
    """Leading spaces, shown as thin marks before the text."""
    width: float
    breaks: bool = False
    """A new row begins after it."""


@dataclasses.dataclass(frozen=True)
class Placed:
    """A piece with its place: left edge in pixels, row from 0."""

    piece: Piece
    left: float
    row: int


@dataclasses.dataclass(frozen=True)
class Measure:
    """Sizes in pixels."""

    font: float
    row_width: float
    padding: float = 4.0
    mark: float = 5.0
    gap: float = 2.0

    def piece(self, item: int, text: str, *, breaks: bool = False) -> Piece:
        """The box of a text, with its spaces and newlines visible."""
        bare = text.lstrip(" ")
        spaces = len(text) - len(bare) if bare else 0
        shown = labels.visible(bare or text)
        size = labels.width(shown) * self.font + 2 * self.padding + spaces * self.mark
        return Piece(item, shown, spaces, size, breaks)


def pieces(item: int, text: str, measure: Measure) -> Iterator[Piece]:
    """One box for a text, or several where it is wider than a row or has a newline inside."""
    lines = text.splitlines(keepends=True) or [""]
    for line in lines:
        breaks = line.splitlines() != [line] and line != ""
        whole = measure.piece(item, line, breaks=breaks)
        if whole.width <= measure.row_width:
            yield whole
        else:
            yield from _torn(item, line, measure, breaks)


def place(found: Sequence[Piece], measure: Measure) -> list[Placed]:
    """Fill rows from the start of the text; each row is then ordered by its script."""
    rows: list[list[Piece]] = [[]]
    used = 0.0
    for piece in found:
        if rows[-1] and used + piece.width > measure.row_width:
            rows.append([])
            used = 0.0
        rows[-1].append(piece)
        used += piece.width + measure.gap
        if piece.breaks:
            rows.append([])
            used = 0.0
    if len(rows) > 1 and not rows[-1]:
        rows.pop()
    return [one for number, row in enumerate(rows) for one in _line(row, number, measure)]


def joined(found: Sequence[Piece]) -> list[Piece]:
    """The pieces with joiners where a cursive word was cut, so that its letters connect."""
    texts = [piece.text for piece in found]
    for i, (piece, after) in enumerate(itertools.pairwise(found)):
        cut = piece.text and after.text and not piece.breaks and not after.spaces
        if cut and _cursive(piece.text[-1]) and _cursive(after.text[0]):
            texts[i] += "\u200d"
            texts[i + 1] = "\u200d" + texts[i + 1]
    return [dataclasses.replace(p, text=t) for p, t in zip(found, texts, strict=True)]


def _cursive(character: str) -> bool:
    return unicodedata.bidirectional(character) in ("AL", "NSM")


def _torn(item: int, line: str, measure: Measure, breaks: bool) -> Iterator[Piece]:
    """Cut a line that is wider than a row after its words, and a longer word inside."""
    room = measure.row_width / measure.font - 2 * measure.padding / measure.font
    part, used = "", 0.0
    for word in _words(line):
        size = labels.width(labels.visible(word))
        if part and used + size > room:
            yield measure.piece(item, part)
            part, used = "", 0.0
        if size <= room:
            part, used = part + word, used + size
            continue
        for cluster in labels.clusters(word):
            size = labels.width(labels.visible(cluster))
            if part and used + size > room:
                yield measure.piece(item, part)
                part, used = "", 0.0
            part, used = part + cluster, used + size
    if part:
        yield measure.piece(item, part, breaks=breaks)


def _words(line: str) -> Iterator[str]:
    start = 0
    for i in range(1, len(line)):
        if line[i] == " " and line[i - 1] != " ":
            yield line[start:i]
            start = i
    yield line[start:]


def _line(row: Sequence[Piece], number: int, measure: Measure) -> list[Placed]:
    levels = bidi_levels([piece.text for piece in row])
    order = visual_order(levels)
    widths = sum(piece.width + measure.gap for piece in row) - measure.gap
    rightwards = bool(row) and _base([piece.text for piece in row]) == 0
    left = 0.0 if rightwards else measure.row_width - widths
    placed = []
    for index in order:
        placed.append(Placed(row[index], left, number))
        left += row[index].width + measure.gap
    return placed


def direction(text: str) -> str:
    """ "R" or "L" by the first strong letter, "E" for digits alone, "N" for neither."""
    found = "N"
    for character in text:
        kind = unicodedata.bidirectional(character)
        if kind in ("R", "AL"):
            return "R"
        if kind == "L":
            return "L"
        if kind in ("EN", "AN"):
            found = "E"
    return found


def bidi_levels(texts: Sequence[str]) -> list[int]:
    """Embedding level of each text of a row, after UAX #9: even runs rightwards, odd leftwards."""
    base = "R" if _base(texts) else "L"
    kinds, strong = [], base
    for kind in map(direction, texts):
        strong = kind if kind in "LR" else strong
        kinds.append("L" if (kind, strong) == ("E", "L") else kind)  # rule W7
    for i, kind in enumerate(kinds):
        if kind == "N":  # rules N1 and N2; a digit here counts as right-to-left
            before = next((k for k in reversed(kinds[:i]) if k != "N"), base)
            after = next((k for k in kinds[i + 1 :] if k != "N"), base)
            sides = {side.replace("E", "R") for side in (before, after)}
            kinds[i] = sides.pop() if len(sides) == 1 else base
    levels = {"L": 0, "R": 1, "E": 2} if base == "L" else {"L": 2, "R": 1, "E": 2}
    return [levels[kind] for kind in kinds]


def visual_order(levels: Sequence[int]) -> list[int]:
    """Indices from left to right (UAX #9, rule L2)."""
    order = list(range(len(levels)))
    for level in range(max(levels, default=0), 0, -1):
        start = 0
        while start < len(order):
            stop = start
            while stop < len(order) and levels[order[stop]] >= level:
                stop += 1
            order[start:stop] = reversed(order[start:stop])
            start = stop + 1
    return order


def _base(texts: Sequence[str]) -> int:
    """1 where most strong letters of the row run from right to left, else 0."""
    kinds = [unicodedata.bidirectional(c) for text in texts for c in text]
    leftwards = sum(kind in ("R", "AL") for kind in kinds)
    return int(leftwards > sum(kind == "L" for kind in kinds))
