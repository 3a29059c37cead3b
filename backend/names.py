"""Names of columns and things, told apart and listed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from backend.errors import shown

MOST_NAMED = 6
"""Names or rows a message lists."""


def apart(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Names made distinct: the second "a" becomes "a (2)", and a name of nothing "column 3".

    Returns:
        The distinct names, and those that came more than once.
    """
    found: dict[str, None] = {}
    doubled: dict[str, None] = {}
    for number, given in enumerate(names, start=1):
        name, copy = given.strip(), 1
        distinct = name or f"column {number}"
        while distinct in found:
            doubled[name] = None
            copy += 1
            distinct = f"{name or 'column'} ({copy})"
        found[distinct] = None
    return list(found), list(doubled)


def listed(names: Sequence[object], most: int = MOST_NAMED) -> str:
    """Names as a message holds them: the first few, and how many more."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(shown(str(name)) for name in names[:most]) + more
