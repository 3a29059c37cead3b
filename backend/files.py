"""What all families' files have in common: reading, cells that run nothing, JSON, flags."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from pydantic import JsonValue

from backend.errors import InputError
from backend.explanation import Comparison, Explanation, Request

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def contents(path: Path, most_mb: float) -> bytes:
    """The bytes of a file that is brought, up to one past the limit: that is enough to refuse it.

    Args:
        most_mb: the limit (MB); a file like /dev/zero has no end.

    Raises:
        InputError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(int(most_mb * 1e6) + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"The file cannot be read ({reason}).", str(path)) from error


def cell(text: str) -> str:
    """The text as a CSV cell: one that a spreadsheet would run as a formula gets an apostrophe."""
    return f"'{text}" if text.lstrip(" \n").startswith(_FORMULA) else text


def number(value: float) -> str:
    """The number with all its digits; NaN is empty."""
    return "" if np.isnan(value) else repr(float(value))


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """A CSV file, UTF-8, of cells made by `cell`, `number` or int."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue().encode("utf-8")


def json_file(value: Any) -> bytes:
    """A value as JSON; a number that is not finite is null."""
    return (json.dumps(_finite(value), indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def values(explanation: Explanation) -> bytes:
    """JSON: fields, plain values, notes, provenance, scores, and the shapes of all arrays."""
    _, plain = explanation.parts()
    if "scores" in explanation.arrays:
        plain["scores"] = explanation.arrays["scores"].astype(np.float64).tolist()
    plain["arrays"] = {
        name: list(array.shape) for name, array in sorted(explanation.arrays.items())
    }
    return json_file(plain)


def arrays(explanation: Explanation) -> bytes:
    """safetensors: every array under its own name."""
    found, _ = explanation.parts()
    return safetensors.numpy.save(found, metadata={"key": explanation.source().key})


def explainer_words(request: Request) -> list[str]:
    """The explainer as words of a command line, with those it brings together before it."""
    names = [*(member.explainer for member in request.members), request.explainer]
    return ["--explainer", ",".join(names)]


def parameter_words(request: Request) -> list[str]:
    """The parameters as words of a command line, those of its members each as that one's own."""
    words = settings(request.parameters)
    for member in request.members:
        own = {f"{member.explainer}.{name}": value for name, value in member.parameters.items()}
        words += settings(own)
    return words


def settings(parameters: Mapping[str, JsonValue]) -> list[str]:
    """Parameters as words of a command line: `--set name=value`."""
    return [word for name, value in parameters.items() for word in ("--set", _setting(name, value))]


def _setting(name: str, value: JsonValue) -> str:
    """A parameter as `--set` reads it: JSON, a word that is no JSON as it is."""
    if isinstance(value, str):
        try:
            json.loads(value)
        except ValueError:
            return f"{name}={value}"
    return f"{name}={json.dumps(value)}"


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def study_words(comparison: Comparison, inputs: int, seeds: int, out: str = "out") -> list[str]:
    """The part of a study's command line that is the same in every family."""
    words = ["--items", str(inputs), "--seeds", str(seeds)]
    words += ["--explainer", ",".join(choice.explainer for choice in comparison.choices)]
    for choice in comparison.choices:
        flags = settings(choice.parameters)
        words += [w if w == "--set" else f"{choice.explainer}.{w}" for w in flags]
    return [*words, "--seed", str(comparison.seed), "--out", out]
