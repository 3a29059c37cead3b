"""`python -m backend`: the composition root, where the command line is handed its figures."""

from __future__ import annotations

import sys
from pathlib import Path

from backend import bundle
from backend.cli import main
from backend.explanation import Explanation

_COMPONENTS = Path(__file__).parents[1] / "components"
_SOURCE = (_COMPONENTS / "picture.py", *sorted((_COMPONENTS / "figures").glob("*.py")))


class _Figures:
    """The figures of the pages, imported when one is drawn."""

    def picture(self, explanation: Explanation, format: str) -> bytes:
        from components.picture import picture

        return picture(explanation, format)

    def formats(self) -> dict[str, str]:
        from components.figures.render import capabilities

        return capabilities()

    def digest(self) -> str:
        return bundle.digest(*(file.read_bytes() for file in _SOURCE))


if __name__ == "__main__":
    # Names of files and tokens may hold what the terminal's encoding does not.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(main(sys.argv[1:], _Figures()))
