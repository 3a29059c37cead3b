"""`explain`: explanations of one input as files."""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from backend.bundle import digest
from backend.commands import work
from backend.commands.desk import Desk, Picture, desk
from backend.engine.engine import Engine
from backend.errors import InputError
from backend.explanation import Comparison, Explanation
from backend.settings import Settings

FIGURES = ("png", "svg", "pdf", "html")


class Renderer(Protocol):
    """Draws figures; handed in, because the backend knows no figures."""

    def picture(self, explanation: Explanation, format: str) -> bytes:
        """The explanation's figure as a file."""

    def formats(self) -> dict[str, str]:
        """Each format with "", or a sentence on what would make its figures better."""

    def digest(self) -> str:
        """Digest of the code that draws: another one draws anew."""


def add(parser: argparse.ArgumentParser, family: str) -> None:
    """Add the flags of `explain`."""
    desk(family).add_explain(parser)
    parser.add_argument("--out", metavar="DIR", type=Path, required=True)
    parser.add_argument("--figure", metavar="FORMATS", default="", help=", ".join(FIGURES))


def run(given: argparse.Namespace, settings: Settings, renderer: Renderer) -> dict[str, Any]:
    """Compute, write the files, and return what `--json` prints."""
    formats = [name for name in given.figure.split(",") if name]
    if unknown := [name for name in formats if name not in FIGURES]:
        raise InputError(
            f"No figure format '{unknown[0]}'.", "--figure", f"Use {', '.join(FIGURES)}."
        )
    folder(given.out)
    asked = desk(given.family)
    engine = Engine(settings)
    try:
        comparison = asked.comparison(given, engine)
        results = []
        for request in asked.requests(engine, comparison):
            started = time.perf_counter()
            [(job, found)] = work.finish(engine, [request])
            seconds = time.perf_counter() - started
            into = given.out / request.explainer
            _write(into, found, asked, comparison, formats, engine, renderer)
            results.append(
                {
                    "explainer": request.explainer,
                    "key": job.key,
                    "path": str(into),
                    "seconds": round(seconds, 3),
                    "cached": job.cached,
                }
            )
        return {"results": results}
    finally:
        engine.close()


def table(outcome: dict[str, Any]) -> str:
    """The outcome for people."""
    lines = [f"{'explainer':24} {'seconds':>8}  cached  path"]
    for row in outcome["results"]:
        cached = "yes" if row["cached"] else "no"
        lines.append(f"{row['explainer']:24} {row['seconds']:8.2f}  {cached:6}  {row['path']}")
    return "\n".join(lines)


def _write(
    into: Path,
    explanation: Explanation,
    family: Desk,
    comparison: Comparison,
    formats: list[str],
    engine: Engine,
    renderer: Renderer,
) -> None:
    picture = drawing(explanation, engine, renderer)
    contents = {
        **family.files(explanation, comparison, engine, picture),
        **{f"figure.{name}": picture(name) for name in formats},
    }
    folder(into)
    for name, data in contents.items():
        written(into, name, data)


def drawing(explanation: Explanation, engine: Engine, renderer: Renderer) -> Picture:
    """The explanation's figure by format, drawn once and then kept in the store."""
    key = explanation.source().key

    def picture(name: str) -> bytes:
        drawn = digest(b"figure", key.encode(), name.encode(), renderer.digest().encode())
        return engine.store.remember(drawn, "figure", lambda: renderer.picture(explanation, name))

    return picture


def folder(path: Path) -> None:
    """Make the folder; before anything is computed, a place that cannot be written is refused."""
    with _writing(path):
        path.mkdir(parents=True, exist_ok=True)


def written(into: Path, name: str, data: bytes) -> None:
    """Write a file of a folder.

    Raises:
        InputError: it cannot be written there.
    """
    with _writing(into):
        (into / name).write_bytes(data)


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"Cannot write there ({error.strerror}).", str(folder), "Name another folder."
        ) from error
