"""Effective dimension: how many directions a layer's outputs fill.

Wang, Ge, Shu, He & Qiu, "Attention Layers Add Into Low-Dimensional Residual Subspaces", 2025, arXiv
2508.16929: attention outputs lie in about 60 % of the width's directions, the MLPs' and the
residual stream in about 90 %.

1. A text in windows, one forward pass each; from every layer the attention output, the MLP output
   and the residual stream after the block, each token a vector of width d.
2. Their covariance about the mean, in float64, and its eigenvalues λ = s² / n.
3. Two counts, each divided by d: the fewest directions that hold 99 % of the variance, and
   exp(-Σ p log p) with p = s / Σ s.

n tokens fill at most n directions, so fewer than 10 d say more of the text than of the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from backend.errors import InputError
from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.tokens.explanation import TokenExplanation
from backend.tokens.subject import Subject

if TYPE_CHECKING:
    from torch import Tensor

    from backend.tokens.capture import LayerParts
    from backend.tokens.spectrum import Covariance

PARTS = ("attention output", "MLP output", "residual stream")
WINDOW = 512
"""Tokens of a pass."""
MOST_BYTES = 2**30
"""Memory for covariances; past it, layers are left out evenly."""


class DimensionParameters(Frozen):
    """Which text is measured, and how much of it at least."""

    text: Literal["reference", "prompt"] = Field(
        "reference",
        title="Text",
        description="`reference`: the Python language reference that comes with the interpreter, "
        "as much as is needed; `prompt`: the prompt with its answer alone.",
    )
    tokens_per_dimension: Annotated[int, Field(ge=1, le=1000)] = Field(
        10,
        title="Tokens per dimension",
        description="How many times the model's width the text must have in tokens; below 10 the "
        "counts are too low and come with a warning.",
    )
    skip: Annotated[int, Field(ge=0, le=64)] = Field(
        4,
        title="Leave out first tokens",
        description="So many tokens at the start of each window: many models park huge values "
        "there, which would hold most of the variance.",
    )


class EffectiveDimension(Explainer):
    """Share of directions that each layer's outputs fill, by two definitions.

    Arrays (P = 3 parts in the order of `PARTS`, L measured layers, d width):
        variance_share, entropy_share: [P, L] float32, shares of d.
        spectrum: [P, L, d] float32, share of the variance along each direction, largest first.
        scores: [N], all NaN: a view gives tokens no scores.

    `values`: parts, layers (their numbers from 1), tokens (n), width (d), text.
    """

    id = "effective_dimension"
    title = "Effective dimension"
    family = "tokens"
    role = "view"
    reference = Reference(
        authors="Wang, Ge, Shu, He, Qiu",
        title="Attention Layers Add Into Low-Dimensional Residual Subspaces",
        year=2025,
        link="https://arxiv.org/abs/2508.16929",
    )
    how_to_read = (
        "The share of the width's directions that a layer's outputs fill over a text. Attention "
        "usually fills fewer than the MLP and the residual stream. Compare layers and parts "
        "measured on the same text."
    )
    Parameters = DimensionParameters

    def explain(
        self, model: Any, input: Any, target: Any, parameters: Any, run: Run
    ) -> TokenExplanation:
        """Measure every layer.

        Raises:
            InputError: the text has too few tokens for the model's width.
        """
        subject = Subject.of(model, input, target)
        wanted = parameters.tokens_per_dimension * model.width
        windows = _windows(model, subject, parameters, wanted)
        left_out = parameters.skip
        count = sum(max(0, len(window) - left_out) for window in windows)
        if count < wanted:
            raise InputError(
                f"The text has {count:,} tokens to measure; {wanted:,} are needed, "
                f"{parameters.tokens_per_dimension} times the model's width of {model.width:,}.",
                "text",
                "Measure the reference text, bring a longer prompt, or ask for fewer tokens per "
                "dimension.",
            )
        if parameters.tokens_per_dimension < 10:
            run.warn(
                f"{count:,} tokens are few for {model.width:,} dimensions: counts are too low."
            )
        layers = _layers(model)
        found = _measured(model, windows, layers, left_out, run)
        return _explanation(subject, found, layers, count, model.width, parameters.text)


def reference_text() -> str:
    """The Python language reference, as `help()` shows it: topics in alphabetical order."""
    from pydoc_data.topics import topics

    return "\n\n".join(topics[name] for name in sorted(topics))


def _windows(
    model: Any, subject: Subject, parameters: DimensionParameters, wanted: int
) -> list[tuple[int, ...]]:
    """Token ids, window by window; of the reference no more than is wanted."""
    size = min(WINDOW, model.limit)
    if parameters.text == "prompt":
        ids = subject.sequence.ids
        return [ids[i : i + size] for i in range(0, len(ids), size)]
    body = max(1, size - parameters.skip)
    characters = 40 * wanted  # more than a tokenizer's tokens have on average
    encoded = model.tokenizer(reference_text()[:characters], add_special_tokens=False)
    ids = tuple(encoded["input_ids"])
    windows = [ids[i : i + size] for i in range(0, len(ids), size)]
    return windows[: -(-wanted // body)]


def _layers(model: Any) -> tuple[int, ...]:
    """Layers whose covariances fit in memory, evenly spaced."""
    each = len(PARTS) * model.width**2 * 8
    most = max(1, min(model.layers, MOST_BYTES // each))
    places = np.linspace(0, model.layers - 1, most).round().astype(int)
    return tuple(dict.fromkeys(places.tolist()))


def _measured(
    model: Any, windows: list[tuple[int, ...]], layers: tuple[int, ...], left_out: int, run: Run
) -> dict[int, list[Covariance]]:
    from backend.tokens.capture import capture
    from backend.tokens.spectrum import Covariance

    found = {i: [Covariance(model.width, model.device) for _ in PARTS] for i in layers}

    def each(parts: LayerParts) -> None:
        if parts.index not in found:
            return
        outputs: tuple[Tensor, ...] = (
            parts.attention_output,
            parts.after - parts.middle,
            parts.after,
        )
        for covariance, output in zip(found[parts.index], outputs, strict=True):
            covariance.add(output[left_out:])

    for number, window in enumerate(windows):
        run.progress(number, len(windows), "windows of the text")
        capture(model, window, each, ())
        run.count(forward=1)
    return found


def _explanation(
    subject: Subject,
    found: dict[int, list[Covariance]],
    layers: tuple[int, ...],
    count: int,
    width: int,
    text: str,
) -> TokenExplanation:
    from backend.tokens.spectrum import entropy_rank, variance_count

    spectra = np.array(
        [[found[i][part].eigenvalues() for i in layers] for part in range(len(PARTS))]
    )
    totals = np.maximum(spectra.sum(axis=-1, keepdims=True), np.finfo(float).tiny)
    notes = []
    if len(layers) < layers[-1] + 1:
        notes.append(f"{len(layers)} of {layers[-1] + 1} layers are measured, evenly spaced.")
    return TokenExplanation(
        arrays={
            "scores": np.full(len(subject), np.nan, dtype=np.float32),
            "variance_share": _shares(spectra, variance_count, width),
            "entropy_share": _shares(np.sqrt(spectra), entropy_rank, width),
            "spectrum": (spectra / totals).astype(np.float32),
        },
        values={
            "view": "effective_dimension",
            "parts": list(PARTS),
            "layers": [i + 1 for i in layers],
            "tokens": count,
            "width": width,
            "text": text,
        },
        notes=tuple(notes),
        sequence=subject.sequence,
        explained=subject.explained,
        unit="share of directions",
        signed=False,
    )


def _shares(spectra: np.ndarray, count: Any, width: int) -> np.ndarray:
    shares: np.ndarray = np.apply_along_axis(count, -1, spectra) / width
    return shares.astype(np.float32)
