"""What an explanation cost, with all it stands on."""

from __future__ import annotations

from backend.explanation import Explanation

PARTS = ("seconds", "forward_passes", "backward_passes")
NAMES = (*PARTS, "peak_memory_bytes")
OF_MEMBERS = "members_cost"
"""Among the values of an explanation that brings others together: PARTS, summed over these."""


def cost(subject: Explanation | None) -> dict[str, float | None]:
    """NAMES by name; nothing for random rankings, None where it is not known.

    Of an explanation that brings others together, what these cost too.
    """
    if subject is None:
        return dict.fromkeys(NAMES, 0)
    found = {name: getattr(subject.provenance, name, None) for name in NAMES}
    for name, more in subject.values.get(OF_MEMBERS, {}).items():
        if found[name] is not None:
            found[name] += more
    return found
