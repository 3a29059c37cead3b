"""Text from people, models and files, made safe where Streamlit would read it as Markdown."""

from __future__ import annotations

import re

# "!" and "[" could become an image that is fetched; ":" could become an icon or a coloured span.
_MARKS = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~$:&^=])")


def counted(count: int, noun: str) -> str:
    """`3 pictures`, `1 picture`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def plain(text: str) -> str:
    """The text as Markdown that shows exactly these characters, on one line."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))
