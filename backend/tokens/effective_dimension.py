"""How many dimensions of the residual stream each layer's parts really use.

Wang, Ge, Shu, He, Qiu, "Attention Layers Add Into Low-Dimensional Residual Subspaces", 2025
(arXiv 2508.16929). Vectors of many tokens at one place of one layer span a cloud in d dimensions;
its effective dimension is read from the eigenvalues of their covariance, in two ways: the share of
directions that hold 99 % of the variance, and the exponential of the entropy of the singular
values, over d.

1. Tokens: the prompt with its answer, and where that is too few and `fill` allows it, windows of
   random token ids. Fewer than 10 d tokens say little, n tokens fill at most n - 1 directions.
2. One pass a window: the covariance of what attention adds, what the MLP adds and the residual
   leaving the block, accumulated in float64; layers in groups where memory asks for it.
3. Eigenvalues of each, and the two shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from backend.errors import InputError
from backend.explainer import Explainer, Reference, Run
from backend.explanation import Frozen
from backend.tokens.encode import special_ids
from backend.tokens.explanation import TokenExplanation
from backend.tokens.subject import Subject

SITES = ("attention", "mlp", "residual")
ADVISED = 10
"""Tokens a dimension below which the shares are not to be trusted."""
WINDOW = 512
"""Longest window of random token ids."""


class DimensionParameters(Frozen):
    """Which tokens are measured, and how many are asked for."""

    tokens_per_dimension: Annotated[int, Field(ge=1, le=1000)] = Field(
        ADVISED,
        title="Tokens a dimension",
        description="Tokens needed for each dimension of the model. Below 10 the shares come out "
        "too low, and the result says so.",
    )
    fill: Literal["none", "random"] = Field(
        "none",
        title="Fill up with",
        description="What makes up for a prompt that is too short: `none` refuses it, `random` "
        "adds windows of random token ids, which are no text: shares then are those of noise.",
    )
    skip: Annotated[int, Field(ge=0, le=64)] = Field(
        4,
        title="Leave out first tokens",
        description="Tokens at the beginning of the text and of each window that are not "
        "measured. There stand attention sinks, so long that one is most of the variance.",
    )
    scree_layer: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        None,
        title="Layer of the scree curve",
        description="The layer whose spectrum is drawn first; empty for the middle one. All are "
        "stored.",
    )


class EffectiveDimension(Explainer):
    """Effective dimension of attention output, MLP output and residual, by layer.

    Arrays (S = 3 sites, `values["sites"]`: what attention adds, what the MLP adds, the residual
    leaving the block; L layers, d width):
        variance_share: [S, L] fewest directions that hold 99 % of the variance, over d.
        entropy_share: [S, L] exp(entropy of the singular values over their sum), over d.
        spectrum: [S, L, d] each direction's share of the variance, the largest first.
        scores: [N], all NaN: a view gives tokens no scores.

    `values`: sites, tokens (measured in all), text_tokens and random_tokens (of them), width (d),
    needed (tokens asked for), layer (of the scree curve, from 0).
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
        "A share near 1: the vectors spread over all dimensions; a low one: they stay in a flat "
        "subspace. The paper finds attention outputs far lower than MLP outputs and residuals. It "
        "needs ten tokens a dimension: of fewer, every cloud looks flat."
    )
    uses_seed = True
    Parameters = DimensionParameters

    def explain(
        self, model: Any, input: Any, target: Any, parameters: Any, run: Run
    ) -> TokenExplanation:
        from backend.tokens import streams

        subject = Subject.of(model, input, target)
        layer = _layer(model, parameters)
        skip = parameters.skip
        text = max(0, len(subject) - skip)
        needed = parameters.tokens_per_dimension * model.width
        if text < needed and parameters.fill == "none":
            raise _too_few(model, text, needed, skip)
        extra = max(0, needed - text)
        windows = [subject.sequence.ids, *_random_windows(model, extra, skip, run)]
        found = streams.spectra(model, windows, skip, run)
        if text + extra < ADVISED * model.width:
            run.warn(
                f"{(text + extra) / model.width:.1f} tokens a dimension instead of {ADVISED}: the "
                "shares come out too low."
            )
        return TokenExplanation(
            arrays={"scores": np.full(len(subject), np.nan, dtype=np.float32), **found.arrays()},
            values={
                "view": "effective_dimension",
                "sites": list(SITES),
                "tokens": text + extra,
                "text_tokens": text,
                "random_tokens": extra,
                "width": model.width,
                "needed": needed,
                "layer": layer,
            },
            notes=_notes(text, extra, skip, found.by_difference, model.layers),
            sequence=subject.sequence,
            explained=subject.explained,
            unit="share of dimensions",
            signed=False,
        )


def _layer(model: Any, parameters: DimensionParameters) -> int:
    if parameters.scree_layer is None:
        return int(model.layers // 2)
    if parameters.scree_layer > model.layers:
        raise InputError(
            f"Layer {parameters.scree_layer} was asked for, the model has {model.layers} layers.",
            "scree_layer",
            f"Choose a layer from 1 to {model.layers}.",
        )
    return parameters.scree_layer - 1


def _too_few(model: Any, text: int, needed: int, skip: int) -> InputError:
    """The refusal: how many tokens there are, how many it takes, and what would do."""
    if needed + skip <= model.limit:
        way = "Bring a longer text, choose a smaller model"
    elif needed + skip <= model.context:
        way = f"At most {model.limit:,} tokens fit: raise VITRINE_MAX_TOKENS"
    else:
        way = f"More than {model.limit:,} tokens do not fit: choose a smaller model"
    return InputError(
        f"There are {text:,} tokens to measure; a model of {model.width:,} dimensions needs "
        f"{needed:,} ({needed // model.width} a dimension).",
        todo=f"{way}, set fill to random, or ask for fewer tokens a dimension.",
    )


def _random_windows(model: Any, count: int, skip: int, run: Run) -> list[Sequence[int]]:
    """Windows of uniformly random ids of which `count` are measured in all; no special tokens.

    Special tokens are sinks wherever they stand: one of them can be most of a site's variance.
    """
    draw, most = run.numpy_generator(), max(skip + 1, min(WINDOW, model.limit))
    special = special_ids(model.tokenizer)
    known = range(min(len(model.tokenizer), model.vocabulary))
    ordinary = np.array([i for i in known if i not in special] or list(known))
    windows: list[Sequence[int]] = []
    while count > 0:
        size = min(most, count + skip)
        windows.append(draw.choice(ordinary, size=size).tolist())
        count -= size - skip
    return windows


def _notes(text: int, extra: int, skip: int, difference: int, layers: int) -> tuple[str, ...]:
    left_out = f", the first {skip} of each text or window left out" if skip else ""
    notes = [
        "A view: it measures layers, it gives tokens no scores.",
        f"{text + extra:,} tokens are measured{left_out}.",
    ]
    if extra:
        notes.append(
            f"{extra:,} of the {text + extra:,} tokens are random ids and no text: the shares are "
            "mostly those of noise."
        )
    if difference:
        notes.append(
            f"In {difference} of {layers} layers the MLP's output is taken as the residual after "
            "the block less that before the MLP."
        )
    return tuple(notes)
