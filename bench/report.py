"""What every benchmark prints: a table for people, figures for programs."""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def arguments(description: str) -> argparse.ArgumentParser:
    """A parser with the flag that all benchmarks share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    return parser


def report(
    headings: Sequence[str],
    rows: Sequence[Sequence[object]],
    figures: Mapping[str, float],
    *,
    as_json: bool,
    libraries: Sequence[str] = (),
) -> None:
    """Print the table, the figures, and with `as_json` the JSON line.

    Args:
        rows: as many cells each as there are headings; floats are shown with 4 digits.
        figures: the numbers a claim is about.
        libraries: distributions whose versions the numbers depend on.
    """
    where = machine(libraries)
    for line in table(headings, rows):
        print(line)
    for name, value in figures.items():
        print(f"{name} = {value:.4g}")
    print("on " + ", ".join(f"{name} {value}" for name, value in where.items()))
    if as_json:
        print(json.dumps({"figures": dict(figures), "machine": where}))


def table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Lines of a table: the first column to the left, the others to the right."""
    cells = [list(headings), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(headings))]
    lines = [
        "  ".join(
            text.ljust(width) if i == 0 else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return lines


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def machine(libraries: Sequence[str] = ()) -> dict[str, str]:
    """Processor, cores, Python and library versions."""
    return {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0))),
        "python": platform.python_version(),
        **{name: _version(name) for name in libraries},
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
