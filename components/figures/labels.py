"""Text that reaches a figure: whitespace made visible, markup made literal, widths estimated."""

from __future__ import annotations

import html
import re
import unicodedata

# Advance widths in em of a typical sans serif, between Noto Sans and the wider DejaVu Sans.
_WIDTHS = {
    character: width
    for width, characters in (
        (0.28, "'ijl ,.:;|"),
        (0.33, "!()[]If`/\\·"),
        (0.38, 't-r"{}'),
        (0.48, "*?_zs"),
        (0.55, "cFLkvxyJ"),
        (0.62, "ETaeSbdghnpquoYPZ$0123456789"),
        (0.68, "KRVXABC#+<=>^~"),
        (0.76, "GDUHN&OQw"),
        (0.93, "%mM@W⏎⇥"),
    )
    for character in characters
}
_OTHER = 0.64
_EMOJI = 1.3
_FORMAT_NAMES = {"\u200b": "ZWSP", "\ufeff": "BOM", "\u00ad": "SHY"}
_JOINERS = "\u200c\u200d"
_SPACES = re.compile(r"^ +| {2,}| +$")
_CLUSTER_EXTENDERS = ("Mn", "Me", "Mc")


def visible(label: str) -> str:
    """The label with its whitespace and control characters made visible.

    A space at an end and every space of a run is `·`, a newline `⏎`, a tab `⇥`; control
    characters and those that would reorder the text around them are named.
    """
    shown = _SPACES.sub(lambda run: "·" * len(run[0]), label.replace("\r\n", "\n"))
    return "".join(map(_visible_character, shown)) or "∅"


def text(label: str) -> str:
    """The label as a figure may hold it: visible, and literal where plotly would read markup."""
    return html.escape(visible(label), quote=True)


def escape(sentence: str) -> str:
    """A sentence as a figure may hold it: literal, with its spaces as they are."""
    return html.escape("".join(map(_visible_character, sentence)), quote=True)


def clusters(label: str) -> list[str]:
    """The label in pieces that must not be torn: a base character with its marks, joined emoji."""
    pieces: list[str] = []
    for character in label:
        joined = pieces and (
            unicodedata.category(character) in _CLUSTER_EXTENDERS
            or character in _JOINERS
            or _is_modifier(character)
            or pieces[-1].endswith("\u200d")
            or (_is_flag(character) and len(pieces[-1]) == 1 and _is_flag(pieces[-1]))
        )
        if joined:
            pieces[-1] += character
        else:
            pieces.append(character)
    return pieces


def width(label: str) -> float:
    """Estimated width of the label in em, never much below the drawn one."""
    return sum(map(_cluster_width, clusters(label)))


def shorten(label: str, longest: float) -> str:
    """The visible label, cut with an ellipsis where it is wider than `longest` em."""
    shown = visible(label)
    if width(shown) <= longest:
        return shown
    kept, used = "", 1.0
    for cluster in clusters(shown):
        used += _cluster_width(cluster)
        if used > longest:
            break
        kept += cluster
    return kept + "…"


def _visible_character(character: str) -> str:
    if character in "\n\r\t\x0b\x0c\u2028\u2029\x85":
        return "⇥" if character == "\t" else "⏎"
    category = unicodedata.category(character)
    if category == "Zs" and character != " ":
        return "␣"
    if category in ("Cc", "Cs", "Co") or (category == "Cf" and _is_hidden(character)):
        return f"⟨{_FORMAT_NAMES.get(character, f'U+{ord(character):04X}')}⟩"
    return character


def _is_hidden(character: str) -> bool:
    # Joiners shape Arabic, Indic scripts and emoji; tags (U+E00xx) spell regional flags.
    return character not in _JOINERS and not 0xE0020 <= ord(character) <= 0xE007F


def _is_modifier(character: str) -> bool:
    return 0x1F3FB <= ord(character) <= 0x1F3FF or 0xE0020 <= ord(character) <= 0xE007F


def _is_flag(character: str) -> bool:
    return 0x1F1E6 <= ord(character) <= 0x1F1FF


def _cluster_width(cluster: str) -> float:
    base = cluster[0]
    if base in _WIDTHS:
        return _WIDTHS[base]
    if ord(base) >= 0x1F000 or "\ufe0f" in cluster:
        return _EMOJI
    if unicodedata.east_asian_width(base) in "WF":
        return 1.05
    return _OTHER if unicodedata.category(base) not in _CLUSTER_EXTENDERS else 0.3
