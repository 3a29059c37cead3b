"""The files a map is taken away as; the page and the command line write the same."""

from __future__ import annotations

import io
import shlex
import zipfile
from typing import Any

import numpy as np
from PIL import Image
from pydantic import JsonValue

from backend import card as cards
from backend import files
from backend.explanation import Comparison, Request
from backend.files import arrays, values
from backend.images.cells import CELLS, pooled
from backend.images.explanation import ImageExplanation, ImageTarget, Photos

__all__ = ["PHOTOS_FILE", "arrays", "beside", "card", "command", "numbers", "values"]

PHOTOS_FILE = "photos.zip"
TCAV = ("concept", "pictures", "auc", "score", "low", "high", "chance", "p", "here")


def numbers(explanation: ImageExplanation) -> bytes:
    """CSV: a row a cell of a coarse grid over the picture, its mean score and rank; of a score, a
    row a metric; of TCAV a row a concept.

    Raises:
        ValueError: it is of another kind.
    """
    kind = explanation.values.get("kind")
    if kind == "score":
        rows = [
            [name, "" if value is None else files.number(value)]
            for name, value in explanation.values["metrics"].items()
        ]
        return files.table(("metric", "value"), rows)
    if kind == "tcav":
        return files.table(TCAV, [_tested(row) for row in explanation.values["rows"]])
    if kind != "map":
        raise ValueError(f"no numbers are written of an explanation of kind {kind!r}")
    found = pooled(explanation.arrays["scores"])
    ranks = np.empty(len(found), dtype=int)
    ranks[np.argsort(-found, kind="stable")] = np.arange(1, len(found) + 1)
    side = CELLS if len(found) == CELLS**2 else explanation.arrays["scores"].shape[1]
    return files.table(
        ("row", "column", "score", "rank"),
        ([i // side, i % side, files.number(float(found[i])), int(ranks[i])]
         for i in range(len(found))),
    )  # fmt: skip


def _tested(row: dict[str, Any]) -> list[object]:
    """A concept's row of TCAV as cells."""
    numbers = ["" if row[n] is None else files.number(row[n]) for n in TCAV[2:]]
    return [files.cell(row["concept"]), row["pictures"], *numbers]


def card(explanation: ImageExplanation, photos: Photos, picture: bytes) -> bytes:
    """The explanation card as HTML; `picture` is the figure as SVG."""
    line = command(explanation.source().request, photos)
    text = cards.card(
        explanation,
        picture=picture,
        alt=f"The picture, coloured by {explanation.unit}",
        tables=_tables(explanation),
        command=(f"# {PHOTOS_FILE} is a file of its own beside this card.\n"
                 if PHOTOS_FILE in line else "") + line,
        prompt=_about(photos),
    )  # fmt: skip
    return text.encode("utf-8")


def command(request: Request, photos: Photos, out: str = "out") -> str:
    """The command line that makes this request again, quoted for a shell."""
    target = ImageTarget.model_validate(request.target)
    words = ["python", "-m", "backend", "explain", "images", *files.explainer_words(request)]
    words += _source_words(photos)
    if target.image:
        words += ["--image", str(target.image)]
    if target.label is not None:
        words += ["--label", str(target.label)]
    words += ["--model", request.model.label(), "--precision", request.model.precision]
    words += files.parameter_words(request)
    words += ["--seed", str(request.seed), "--out", out]
    return shlex.join(words)


def study_command(comparison: Comparison, photos: Photos, inputs: int, seeds: int) -> str:
    """The command line of a study of the set's first pictures."""
    words = ["python", "-m", "backend", "study", "images", *_source_words(photos)]
    words += ["--model", comparison.model.label(), "--precision", comparison.model.precision]
    return shlex.join([*words, *files.study_words(comparison, inputs, seeds)])


def beside(photos: Photos) -> dict[str, bytes]:
    """The file that the command of pictures of one's own needs, by name."""
    return {} if photos.example else {PHOTOS_FILE: zipped(photos)}


def zipped(photos: Photos) -> bytes:
    """The pictures as PNG in a zip, in their folders; equal sets give equal bytes."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as archive:
        for i in range(len(photos)):
            png = io.BytesIO()
            Image.fromarray(photos.image(i)).save(png, format="PNG")
            folder = _plain(photos.folders[i]) or "pictures"
            entry = zipfile.ZipInfo(f"{folder}/{i:04d}-{_plain(photos.names[i])}.png")
            archive.writestr(entry, png.getvalue())
    return written.getvalue()


def _plain(name: str) -> str:
    """A name as a file may have it."""
    kept = "".join(sign if sign.isalnum() or sign in "-_" else "-" for sign in name)
    return kept.strip("-")[:60]


def _source_words(photos: Photos) -> list[str]:
    if photos.example:
        return ["--example", photos.example]
    return ["--input", PHOTOS_FILE]


def _tables(explanation: ImageExplanation) -> list[cards.Table]:
    found: dict[str, Any] = explanation.values
    names = found["class_names"]
    rows: list[tuple[str, object]] = [
        ("picture", found["picture"]),
        ("explained class", names[str(found["label"])]),
        ("predicted class", names[str(found["predicted"])]),
        ("probability", f"{found['probability']:.4g}"),
        ("preprocessing", found["preprocessing"]),
        ("model", found["architecture"]),
    ]
    if "scores" in explanation.arrays:
        rows.append(("map", " × ".join(map(str, explanation.arrays["scores"].shape))))
    top = [(names[str(label)], f"{chance:.4g}") for label, chance in found["top"]]
    tables = [
        cards.Table("Decision", ("", ""), rows),
        cards.Table("Most probable classes", ("class", "probability"), top),
    ]
    if "adds" in found:
        tables.append(_concepts(explanation))
    if found["kind"] == "tcav":
        cells = [(r["concept"], *(_short(r[name]) for name in TCAV[1:])) for r in found["rows"]]
        tables.append(cards.Table("TCAV", TCAV, cells))
    return tables


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _concepts(explanation: ImageExplanation) -> cards.Table:
    """What each concept adds to the logit, and last the rest."""
    found: dict[str, Any] = explanation.values
    *adds, rest = found["adds"]
    most = explanation.arrays["presence"].max(axis=(1, 2))
    rows: list[tuple[str, ...]] = [
        (f"Concept {i + 1}", "yes" if level >= threshold else "no", f"{add:+.4g}")
        for i, (add, level, threshold) in enumerate(
            zip(adds, most, found["thresholds"], strict=True)
        )
    ]
    rows.append(("no concept", "", f"{rest:+.4g}"))
    rows.append(("where nothing is seen", "", f"{found['base']:.4g}"))
    rows.append(("logit", "", f"{found['logit']:.4g}"))
    return cards.Table("Concepts", ("", "in the picture", "adds to the logit"), rows)


def _about(photos: Photos) -> JsonValue:
    """The input in a few words, for programs that read the card."""
    return {
        "title": photos.title,
        "digest": photos.digest(),
        "pictures": list(photos.names),
        "example": photos.example,
    }
