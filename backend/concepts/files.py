"""The files a concept explanation is taken away as; the page and the command line write the same.

A table that comes with Vitrine is named by its example and recipe; any other goes along as an .npz
that the reader of uploads takes back.
"""

from __future__ import annotations

import io
import shlex
from collections.abc import Callable, Iterator

import numpy as np
from pydantic import JsonValue

from backend import card as cards
from backend import files
from backend.concepts import card_tables
from backend.concepts.decision import class_name, concept_name
from backend.concepts.explanation import ConceptExplanation, ConceptTable, ConceptTarget, Recipe
from backend.explanation import Comparison, Request
from backend.files import arrays, values

__all__ = ["TABLE_FILE", "arrays", "card", "command", "numbers", "table_npz", "values"]

TABLE_FILE = "table.npz"
_ALT = {
    "decision": "Each concept's contribution to the decision, as bars",
    "slices": "The slices that were found, and the concepts that name them",
    "experts": "The experts that were found, and what each makes of the concepts",
}
_ATTACHED = f"# {TABLE_FILE} is the table of predictions, a file of its own beside this card.\n"
_NAMES = ("concept_names", "class_names", "group_names", "references")

Rows = Iterator[list[object]]


def numbers(explanation: ConceptExplanation) -> bytes:
    """CSV of the numbers that matter, by kind.

    - decision: a row a concept, `value` is what the head reads of it, `share` of the summed sizes.
    - slices: a row an error, with its slice (counted from 1, as on the page) and its membership of
      that slice.
    - experts: a row a weight, the bias is a row without a concept; of formulas, a row a formula.
    - score: a row a metric.

    A name that a spreadsheet would run as a formula gets an apostrophe in front.

    Raises:
        ValueError: it is of another kind, e.g. a table.
    """
    kind = explanation.values.get("kind")
    if kind == "experts" and "weights" not in explanation.arrays:
        kind = "formulas"
    if kind not in _NUMBERS:
        raise ValueError(f"no numbers are written of an explanation of kind {kind!r}")
    header, rows = _NUMBERS[kind]
    return files.table(header, rows(explanation))


def card(explanation: ConceptExplanation, table: ConceptTable, picture: bytes) -> bytes:
    """The explanation card as HTML; `picture` is the figure as SVG."""
    line = command(explanation.source().request, table)
    text = cards.card(
        explanation,
        picture=picture,
        alt=_ALT.get(str(explanation.values.get("kind")), "The explanation's numbers"),
        tables=card_tables.tables(explanation, table),
        command=(_ATTACHED if TABLE_FILE in line else "") + line,
        prompt=_about(table),
    )
    return text.encode("utf-8")


def command(request: Request, table: ConceptTable, out: str = "out") -> str:
    """The command line that makes this request again, quoted for a shell."""
    target = ConceptTarget.model_validate(request.target)
    words = ["python", "-m", "backend", "explain", "concepts", *files.explainer_words(request)]
    words += _table_words(table)
    for flag, value in (("--sample", target.sample), ("--label", target.label)):
        if value is not None:
            words += [flag, str(value)]
    words += files.parameter_words(request)
    words += ["--seed", str(request.seed), "--out", out]
    return shlex.join(words)


def study_command(comparison: Comparison, table: ConceptTable, inputs: int, seeds: int) -> str:
    """The command line of a study of the table's samples."""
    words = ["python", "-m", "backend", "study", "concepts", *_table_words(table)]
    return shlex.join([*words, *files.study_words(comparison, inputs, seeds)])


def beside(table: ConceptTable) -> dict[str, bytes]:
    """The file that the command of a table of one's own needs, by name."""
    return {TABLE_FILE: table_npz(table)} if TABLE_FILE in _table_words(table) else {}


def table_npz(table: ConceptTable) -> bytes:
    """The table as an .npz of named arrays, without pickle; equal tables give equal bytes."""
    found = dict(sorted(table.arrays.items()))
    for name in _NAMES:
        if words := getattr(table, name):
            found[name] = np.array(words, dtype=np.str_)
    out = io.BytesIO()
    np.savez_compressed(out, allow_pickle=False, **found)  # type: ignore[arg-type]
    return out.getvalue()


def _table_words(table: ConceptTable) -> list[str]:
    example = table.origin.get("example")
    if not isinstance(example, str):
        return ["--input", TABLE_FILE, "--bottleneck", table.bottleneck]
    recipe = Recipe.model_validate(table.origin.get("recipe") or {})
    return [
        *("--example", example, "--bottleneck", recipe.bottleneck),
        *("--training", recipe.training, "--epochs", str(recipe.epochs)),
        *("--train-seed", str(recipe.seed)),
        *(() if recipe.labels == "true" else ("--labels", recipe.labels)),
    ]


def _about(table: ConceptTable) -> JsonValue:
    """The input in a few words, for programs that read the card."""
    return {
        "title": table.title,
        "digest": table.digest(),
        "samples": len(table),
        "concepts": list(table.concept_names),
        "classes": list(table.class_names),
        "bottleneck": table.bottleneck,
        "origin": table.origin,
    }


def _decision(found: ConceptExplanation) -> Rows:
    scores = found.arrays["scores"].astype(np.float64)
    total = float(np.nansum(np.abs(scores)))
    for score, concept in zip(scores, found.values["concepts"], strict=True):
        share = abs(score) / total if total > 0 else np.nan
        yield [
            files.cell(concept["name"]),
            *map(files.number, (concept["input"], concept["probability"])),
            concept["predicted"],
            concept["true"],
            *map(files.number, (score, share)),
        ]


def _slices(found: ConceptExplanation) -> Rows:
    memberships = found.arrays["memberships"]
    for row, (sample, own) in enumerate(
        zip(found.arrays["errors"], found.arrays["slices"], strict=True)
    ):
        yield [int(sample), int(own) + 1, files.number(float(memberships[row, own]))]


def _experts(found: ConceptExplanation) -> Rows:
    weights, biases = found.arrays["weights"], found.arrays["biases"]
    concepts = found.values.get("concept_names", [])
    classes = found.values.get("class_names", [])
    first = 1 if weights.shape[1] == 1 else 0  # One output is the logit of class 1.
    for m, q in np.ndindex(*weights.shape[:2]):
        label = files.cell(class_name(classes, first + q))
        for j, weight in enumerate(weights[m, q]):
            yield [m + 1, label, files.cell(concept_name(concepts, j)), files.number(float(weight))]
        yield [m + 1, label, "", files.number(float(biases[m, q]))]


def _formulas(found: ConceptExplanation) -> Rows:
    classes = found.values.get("class_names", [])
    for m, of_expert in enumerate(found.values["formulas"], start=1):
        first = 1 if len(of_expert) == 1 else 0
        for q, formula in enumerate(of_expert):
            label = files.cell(class_name(classes, first + q))
            yield [m, label, files.cell(formula["text"]), files.cell(formula["expression"])]


def _score(found: ConceptExplanation) -> Rows:
    for name, value in found.values["metrics"].items():
        if isinstance(value, dict):
            for metric, number in value.items():
                yield [name, metric, "" if number is None else files.number(number)]
        else:
            yield ["", name, "" if value is None else files.number(value)]


_NUMBERS: dict[str, tuple[tuple[str, ...], Callable[[ConceptExplanation], Rows]]] = {
    "decision": (
        ("concept", "value", "probability", "predicted", "true", "score", "share"),
        _decision,
    ),
    "slices": (("sample", "slice", "membership"), _slices),
    "experts": (("expert", "class", "concept", "weight"), _experts),
    "formulas": (("expert", "class", "formula", "expression"), _formulas),
    "score": (("operator", "metric", "value"), _score),
}
