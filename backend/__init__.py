"""The library behind Vitrine: a request goes in, an explanation comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from backend.notebook import explain

__all__ = ["explain"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # Imported when it is asked for: it stands on everything else here.
    if name == "explain":
        from backend.notebook import explain

        return explain
    raise AttributeError(f"module 'backend' has no attribute {name!r}")
