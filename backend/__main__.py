"""`python -m backend`: the command line, with the figures of the pages."""

from __future__ import annotations

import sys

from backend.cli import main
from backend.figures import Figures

if __name__ == "__main__":
    # Names of files and tokens may hold what the terminal's encoding does not.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(main(sys.argv[1:], Figures()))
