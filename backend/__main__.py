"""`python -m backend`: the composition root, where the command line is handed its figures."""

from __future__ import annotations

import sys
from pathlib import Path

from backend import bundle
from backend.cli import main
from backend.explanation import Explanation

_FIGURES = Path(__file__).parents[1] / "components" / "figures"


class _Figures:
    """The figures of the pages, imported when one is drawn."""

    def picture(self, explanation: Explanation, format: str) -> bytes:
        from components.picture import picture

        return picture(explanation, format)

    def digest(self) -> str:
        return bundle.digest(*(file.read_bytes() for file in sorted(_FIGURES.glob("*.py"))))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], _Figures()))
