"""`explain`: explanations of one input as files."""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol, cast

from backend.bundle import digest
from backend.commands import work
from backend.engine.engine import Engine
from backend.errors import InputError
from backend.explanation import Comparison, Explanation, Request
from backend.settings import Settings
from backend.tokens import arguments, files, plan
from backend.tokens.explanation import Prompt, Target, TokenExplanation

FIGURES = ("png", "svg", "pdf", "html")


class Renderer(Protocol):
    """Draws figures; handed in, because the backend knows no figures."""

    def picture(self, explanation: Explanation, format: str) -> bytes:
        """The explanation's figure as a file."""

    def formats(self) -> dict[str, str]:
        """Each format with "", or a sentence on what would make its figures better."""

    def digest(self) -> str:
        """Digest of the code that draws: another one draws anew."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `explain`."""
    arguments.add(parser)
    work.add(parser)
    parser.add_argument("--out", metavar="DIR", type=Path, required=True)
    parser.add_argument("--figure", metavar="FORMATS", default="", help=", ".join(FIGURES))


def asked(given: argparse.Namespace, engine: Engine) -> tuple[Comparison, Prompt]:
    """The comparison the flags describe, its input stored."""
    family = work.family_of(given.family)
    prompt = arguments.prompt(given, engine.settings)
    comparison = Comparison(
        family=family.id,
        model=work.model(given.model, given.precision, family),
        input=engine.put_input(prompt, family.id),
        target=arguments.target(given).model_dump(mode="json"),
        choices=work.choices(given.explainer, given.set, family),
        seed=given.seed,
    )
    return comparison, prompt


def requests(
    engine: Engine, comparison: Comparison
) -> tuple[TokenExplanation, tuple[Request, ...]]:
    """The answer, and the requests about it."""
    [(_, found)] = work.finish(engine, [plan.continuation_request(comparison)])
    continuation = cast(TokenExplanation, found)
    span = Target.model_validate(comparison.target).span
    arguments.check_span(span, len(continuation.values["ids"]))
    return continuation, plan.requests(comparison, continuation)


def run(given: argparse.Namespace, settings: Settings, renderer: Renderer) -> dict[str, Any]:
    """Compute, write the files, and return what `--json` prints."""
    formats = [name for name in given.figure.split(",") if name]
    if unknown := [name for name in formats if name not in FIGURES]:
        raise InputError(
            f"No figure format '{unknown[0]}'.", "--figure", f"Use {', '.join(FIGURES)}."
        )
    _folder(given.out)
    engine = Engine(settings)
    try:
        comparison, prompt = asked(given, engine)
        results = []
        for request in requests(engine, comparison)[1]:
            started = time.perf_counter()
            [(job, found)] = work.finish(engine, [request])
            seconds = time.perf_counter() - started
            folder = given.out / request.explainer
            _write(folder, cast(TokenExplanation, found), prompt, formats, engine, renderer)
            results.append(
                {
                    "explainer": request.explainer,
                    "key": job.key,
                    "path": str(folder),
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
    folder: Path,
    explanation: TokenExplanation,
    prompt: Prompt,
    formats: list[str],
    engine: Engine,
    renderer: Renderer,
) -> None:
    key = explanation.source().key

    def picture(name: str) -> bytes:
        drawn = digest(b"figure", key.encode(), name.encode(), renderer.digest().encode())
        return engine.store.remember(drawn, "figure", lambda: renderer.picture(explanation, name))

    contents = {
        "explanation.json": files.values(explanation),
        "arrays.safetensors": files.arrays(explanation),
        "scores.csv": files.numbers(explanation),
        "card.html": files.card(explanation, prompt, picture("svg")),
        files.PROMPT_FILE: files.prompt_json(prompt).encode(),
        **{f"figure.{name}": picture(name) for name in formats},
    }
    _folder(folder)
    for name, data in contents.items():
        with _writing(folder):
            (folder / name).write_bytes(data)


def _folder(folder: Path) -> None:
    """Make the folder; before anything is computed, a place that cannot be written is refused."""
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(
            f"Cannot write there ({error.strerror}).", str(folder), "Name another folder."
        ) from error
