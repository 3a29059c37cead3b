"""The figures of the pages for what has no page: handed to the command line and to notebooks."""

from __future__ import annotations

from pathlib import Path

from backend import bundle
from backend.explanation import Explanation

_COMPONENTS = Path(__file__).parents[1] / "components"
_SOURCE = (_COMPONENTS / "picture.py", *sorted((_COMPONENTS / "figures").glob("*.py")))


class Figures:
    """The figures of the pages, imported when one is drawn."""

    def picture(self, explanation: Explanation, format: str) -> bytes:
        """The explanation's figure as a file."""
        from components.picture import picture

        return picture(explanation, format)

    def formats(self) -> dict[str, str]:
        """Each format with "", or a sentence on what would make its figures better."""
        from components.figures.render import capabilities

        return capabilities()

    def digest(self) -> str:
        """Digest of the code that draws."""
        return bundle.digest(*(file.read_bytes() for file in _SOURCE))
