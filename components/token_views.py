"""The views of the Tokens page: the answer, a strip a method, the heatmaps, the table."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any, cast

import numpy as np
import streamlit as st

from backend import consensus
from backend.catalogue import find
from backend.tokens.explanation import TokenExplanation
from backend.tokens.metrics import METRICS
from backend.tokens.sequence import Level
from components.agree import Ranked
from components.compare import Item, pick
from components.figures import attention, curves, hops, labels, palette, tokens, views
from components.figures.plot import Plot
from components.judge import Board
from components.plain import plain
from components.session import theme_name
from components.token_strip import token_strip

BOARD = Board(
    metrics=METRICS,
    operators={"key_masking": "Key masking", "neutral": "Neutral token"},
    curves=lambda found, operator, theme: curves.curves(found, operator, theme),
    curves_alt="Answer probability as tokens are taken away, most important first and last",
    what="A token is taken away by",
)
LEVELS: tuple[Level, ...] = ("token", "word", "sentence")
SHARED, OWN = "Shared", "Each its own"


def _names(found: TokenExplanation) -> list[str]:
    text = found.sequence.text
    return [labels.visible(text[slice(*at)]) for at in found.sequence.offsets]


def answer(
    continuation: TokenExplanation, level: Level, chosen: Sequence[int], key: str
) -> tuple[int, ...]:
    """Show prompt and answer, and let a person choose the answer tokens to explain.

    Returns:
        Indices of the chosen answer tokens.
    """
    sequence = continuation.sequence
    probabilities = np.exp(continuation.arrays["logprobs"].astype(np.float64))
    cells = []
    for unit in sequence.units(level):
        inside = [
            p - sequence.prompt_length for p in range(unit.start, unit.stop) if p in sequence.answer
        ]
        tip = f"{labels.visible(unit.text)} · token {unit.start}"
        if inside:
            chance = float(np.prod(probabilities[inside]))
            tip += f" · probability {chance:.3f} · click to explain or leave out"
        plain = not inside and all(sequence.special[unit.start : unit.stop])
        cells.append(
            {
                "text": shown(unit.text),
                "fill": "",
                "ink": "",
                "tip": tip,
                "marks": ["plain"] if plain else [],
                "choice": inside,
            }
        )
    return token_strip(
        cells,
        key=key,
        label="Prompt and answer; the outlined tokens are the answer",
        hint="Outlined tokens are the answer. Click them to choose what is explained.",
        chosen=chosen,
    )


def strip(
    item: Item, level: Level, limit: float | None, key: str = "", faint: Collection[int] = ()
) -> None:
    """One method's scores as coloured tokens, with its legend.

    Args:
        faint: positions that stand back.
    """
    found = cast(TokenExplanation, item.explanation)
    theme = palette.theme(theme_name())
    cells = tokens.cells(found, level)
    if all(np.isnan(cell.score) for cell in cells):
        st.info("This method gave no score to any token.", icon=":material/info:")
        return
    largest = tokens.limit(cells)
    scale = limit or largest
    total = float(np.nansum(np.abs([cell.score for cell in cells]))) or 1.0
    drawn = [_cell(cell, scale, total, theme, faint) for cell in cells]
    token_strip(
        drawn,
        key=f"strip.{item.request.explainer}.{level}.{key}",
        label=f"{item.title}: scores of the prompt's tokens",
        hint=f"Largest |score| {largest:.3g} {found.unit}",
    )
    _legend(scale, found.unit, theme, signed=found.signed)
    if "mass" in found.values:
        st.caption(hops.mass(found))


def _apart(item: Item, key: str) -> None:
    found = dataclasses.replace(cast(TokenExplanation, item.explanation), unit="rank spread")
    strip(dataclasses.replace(item, explanation=found), "token", None, key)


RANKED = Ranked("token", _names, lambda found: bool(found.signed), _apart)


def stored(found: TokenExplanation, key: str) -> None:
    """One stored explanation by itself: its picture, its answer, and what it cost."""
    source = found.source()
    explainer = find(source.request)
    item = Item(request=source.request, explainer=explainer, job="", explanation=found)
    if explainer.role == "view":
        view(found, f"stored.{key}")
    else:
        strip(item, "token", None, key)
    for note in (*found.notes, *source.warnings):
        st.caption(f":material/info: {plain(note)}")
    chosen = ", ".join(f"{k} = {v}" for k, v in source.request.parameters.items())
    st.caption(f"Parameters: {plain(chosen or 'none')}")
    st.caption(f"{source.seconds:.2f} s · {source.created} · key {source.key[:12]}…")


def shared_limits(found: Sequence[TokenExplanation], level: Level) -> list[float]:
    """The colour limit of each map that shows equal shares of its total in equal colours.

    Mean ranks are no shares: theirs is the highest rank.
    """
    if any(ranks := [one.unit == consensus.UNIT for one in found]):
        others = iter(shared_limits([one for one in found if one.unit != consensus.UNIT], level))
        return [1.0 if of_ranks else next(others) for of_ranks in ranks]
    maps = [np.array([c.score for c in tokens.cells(one, level)], dtype=float) for one in found]
    totals = [float(np.nansum(np.abs(m))) for m in maps]
    shares = [
        float(np.nanmax(np.abs(m))) / t if t > 0 else 0.0 for m, t in zip(maps, totals, strict=True)
    ]
    largest = max(shares, default=0.0)
    return [largest * total for total in totals]


def _cell(
    cell: tokens.Cell,
    limit: float,
    total: float,
    theme: palette.Theme,
    faint: Collection[int],
) -> dict[str, Any]:
    unknown = bool(np.isnan(cell.score))
    fill = "" if unknown else palette.colour(cell.score, limit, theme)
    score = (
        "no score" if unknown else f"{cell.score:+.4g} ({abs(cell.score) / total:.1%} of the total)"
    )
    marks = [
        name
        for name, on in (
            ("nan", unknown and not cell.explained),
            ("explained", cell.explained),
            ("gold", cell.gold),
            ("faint", not unknown and set(range(cell.start, cell.stop)) <= set(faint)),
        )
        if on
    ]
    return {
        "text": shown(cell.text),
        "fill": fill,
        "ink": "" if unknown else palette.ink_on(fill),
        "tip": f"{labels.visible(cell.text)} · token {cell.start} · {score}",
        "marks": marks,
        "choice": [],
    }


def shown(text: str) -> str:
    """A unit's text with its line ends made visible; they still end lines."""
    return text.replace("\n", "⏎\n")


def _legend(limit: float, unit: str, theme: palette.Theme, *, signed: bool) -> None:
    """A colour bar with its ends in the method's own unit."""
    low = -limit if signed else 0.0
    stops = ", ".join(palette.colour(low + (limit - low) * i / 10, limit, theme) for i in range(11))
    left, right = f"{low:.3g}", f"{limit:.3g}"
    st.html(
        f'<div style="display:flex;align-items:center;gap:.5rem;font-size:.78rem;'
        f'font-variant-numeric:tabular-nums"><span>{left}</span>'
        f'<span style="flex:1;max-width:220px;height:9px;border-radius:5px;'
        f'background:linear-gradient(90deg,{stops})"></span><span>{right}</span>'
        f'<span style="opacity:.75">{labels.escape(unit)}</span></div>'
    )


def heatmaps(compared: Sequence[Item], prefix: str) -> None:
    """Layer × head × query × key, with pickers: one head, or all heads of a layer."""
    able = [
        i for i in compared if i.explanation is not None and "attention" in i.explanation.arrays
    ]
    if not able:
        st.info(
            "Add Contribution Weights or an attention explainer to see attention heads here.",
            icon=":material/grid_on:",
        )
        return
    column, layers, heads, show = st.columns([2, 2, 1, 2])
    with column:
        item = pick("Explainer", able, f"{prefix}.map")
    found = cast(TokenExplanation, item.explanation)
    arrays = found.arrays
    count, head_count = arrays["attention"].shape[:2]
    layer = layers.slider("Layer", 1, count, value=max(1, count // 2), key=f"{prefix}.layer") - 1
    head = heads.selectbox(
        "Head",
        ["all", *range(1, head_count + 1)],
        format_func=lambda v: "all heads" if v == "all" else str(v),
        key=f"{prefix}.head",
    )
    which = [name for name in ("contributions", "attention") if name in arrays]
    options = (["both"] if len(which) > 1 else []) + which
    view = show.segmented_control(
        "Show", [*options, "every head"], default=options[0], required=True, key=f"{prefix}.show"
    )
    number = None if head == "all" else int(head) - 1
    name = theme_name()
    if view == "both":
        figure = attention.pair(found, layer=layer, head=number, theme=name)
    elif view == "every head":
        figure = attention.heads(found, which[0], layer=layer, theme=name)
    else:
        figure = attention.heatmap(found, str(view), layer=layer, head=number, theme=name)
    st.plotly_chart(
        figure, theme=None, key=f"{prefix}.heat", alt=f"{item.title}, layer {layer + 1}: {view}"
    )


def table(compared: Sequence[Item], level: Level, prefix: str) -> None:
    """The top tokens of each method, as a table that can be sorted."""
    done = [item for item in compared if item.explanation is not None]
    if not done:
        st.info("Nothing to list yet.", icon=":material/list:")
        return
    picked = pick("Explainer", done, f"{prefix}.table")
    found = cast(TokenExplanation, picked.explanation)
    rows = tokens.rows(found, level)
    st.dataframe(rows, hide_index=True, alt=f"Top tokens of {picked.title}")


def saw(continuation: TokenExplanation) -> None:
    """What the model saw: every token with its id, role and place in the text."""
    sequence = continuation.sequence
    st.dataframe(
        [
            {
                "position": p,
                "token": labels.visible(sequence.text[a:b]),
                "id": sequence.ids[p],
                "role": sequence.roles[p],
                "special": sequence.special[p],
                "planted": p in sequence.gold,
            }
            for p, (a, b) in enumerate(sequence.offsets)
        ],
        hide_index=True,
        alt="Tokens as the model saw them",
    )


def view(found: TokenExplanation, key: str) -> None:
    """The plots of a view, two a row, each with how to read it."""
    plots = views.plots(found, theme_name())
    across = min(2, len(plots))
    for start in range(0, len(plots), across):
        for place, column in enumerate(st.columns(across, gap="medium"), start=start):
            if place < len(plots):
                with column:
                    _plot(plots[place], f"{key}.{place}")


def _plot(plot: Plot, key: str) -> None:
    st.plotly_chart(plot.figure, theme=None, key=key, alt=plot.title)
    st.caption(plot.how_to_read)
