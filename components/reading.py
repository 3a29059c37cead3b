"""Reading a long answer: choose any part of it and see its sources, click a source and see where
it went. One remembered pass of the model serves every choice.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import streamlit as st

from backend.explanation import Comparison, Request
from backend.tokens.explanation import Target, TokenExplanation
from backend.tokens.sequence import Level, Sequence, unit_scores
from components import jobs
from components.figures import hops as hop_figure
from components.figures import labels, palette, tokens
from components.plain import plain
from components.reader import Pick, Unit, picked, reader
from components.session import explanation, theme_name

LEVELS: tuple[Level, ...] = ("word", "sentence", "token")
AT_ONCE_S = 3.0
"""A result that comes within this is shown without a progress bar in between."""
MOST_SENTENCES = 12
LONGEST_SENTENCE = 160


@st.fragment
def panel(comparison: Comparison, continuation: TokenExplanation, prefix: str) -> None:
    """The reader with its controls; only this part of the page runs again on a click."""
    level, hops, shown = _controls(prefix)
    key = f"{prefix}.reader.{comparison.key()}"
    pick = _within(picked(key), continuation.sequence, Target.model_validate(comparison.target))
    found = _result(_trace_request(comparison, continuation, pick, hops), f"{prefix}.trace")
    received = None
    if pick.source is not None:
        request = _source_request(comparison, continuation, pick.source)
        received = _result(request, f"{prefix}.source")
    _draw(continuation, found, received, pick, level, shown, key)
    if found is not None:
        _facts(found, prefix)


def _controls(prefix: str) -> tuple[Level, int, str]:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        level = st.segmented_control(
            "Read by", LEVELS, default="word", required=True, key=f"{prefix}.level"
        )
        hops = st.segmented_control(
            "Hops",
            (0, 1, 2, 3),
            default=1,
            required=True,
            key=f"{prefix}.hops",
            help="How often what landed on the model's own text is traced on from there.",
        )
        each = ["all hops", *(f"hop {k}" for k in range(int(hops or 0) + 1))]
        shown = st.segmented_control(
            "Show", each, default=each[0], required=True, key=f"{prefix}.shown.{hops}"
        )
    return level, int(hops or 0), str(shown)


def _within(pick: Pick, sequence: Sequence, target: Target) -> Pick:
    """The choice, or what the page explains where there is none or it is of another text."""
    length, whole = len(sequence.answer), target.span
    span, source = pick.span, pick.source
    if span is None or span[1] > length:
        together = whole is not None and whole == tuple(range(whole[0], whole[-1] + 1))
        span = (whole[0], whole[-1] + 1) if whole and together else (0, length)
    if source is not None and source[1] > sequence.prompt_length:
        source = None
    return Pick(span, source)


def _trace_request(
    comparison: Comparison, continuation: TokenExplanation, pick: Pick, hops: int
) -> Request:
    """FlashTrace as the page has it set, for the chosen span."""
    chosen: dict[str, Any] = {}
    for choice in comparison.choices:
        if choice.explainer == "flashtrace":
            chosen = dict(choice.parameters)
    span = tuple(range(*pick.span)) if pick.span else None
    ids = tuple(continuation.values["ids"])
    if span == tuple(range(len(ids))):
        span = None
    return Request(
        family=comparison.family,
        explainer="flashtrace",
        model=comparison.model,
        input=comparison.input,
        target=Target(ids=ids, span=span).model_dump(mode="json"),
        parameters={**chosen, "hops": hops},
        seed=comparison.seed,
    )


def _source_request(
    comparison: Comparison, continuation: TokenExplanation, source: tuple[int, int]
) -> Request:
    return Request(
        family=comparison.family,
        explainer="contributed",
        model=comparison.model,
        input=comparison.input,
        target=Target(ids=tuple(continuation.values["ids"])).model_dump(mode="json"),
        parameters={"first": source[0], "stop": source[1]},
    )


def _result(request: Request, key: str) -> TokenExplanation | None:
    """The explanation once it is there; until then its progress, or why there is none."""
    job = jobs.hold(request)
    if isinstance(job, str):
        st.warning(plain(job), icon=":material/block:")
        return None
    job.wait(AT_ONCE_S)
    if not job.finished:
        jobs.cancellable(job, key)
        return None
    found = explanation(job.key)
    if job.state != "done" or found is None:
        jobs.outcome(job, request, key)
        return None
    return cast(TokenExplanation, found)


def _draw(
    continuation: TokenExplanation,
    found: TokenExplanation | None,
    received: TokenExplanation | None,
    pick: Pick,
    level: Level,
    shown: str,
    key: str,
) -> None:
    sequence = continuation.sequence
    first, stop = pick.span or (0, 0)
    number = stop - first
    hint = "Click a part of the answer to explain it; hold Shift to extend."
    if pick.source is not None:
        hint = f"The answer is coloured by what the chosen source gave it. {hint}"
    reader(
        _prompt_units(sequence, found, level, shown),
        _answer_units(sequence, received, level),
        _sentences(sequence, found, shown),
        pick=pick,
        titles=(
            "Prompt · click a part to see what it contributed to",
            f"Answer · {number} of {len(sequence.answer)} tokens explained",
            "Sentences of the prompt by what the explained tokens took from them",
        ),
        hint=hint,
        key=key,
    )


def _scores(found: TokenExplanation, shown: str) -> np.ndarray:
    return tokens.scores(found, "scores" if shown == "all hops" else shown.replace(" ", "_"))


def _prompt_units(
    sequence: Sequence, found: TokenExplanation | None, level: Level, shown: str
) -> list[Unit]:
    """The prompt, coloured by the scores."""
    units = [u for u in sequence.units(level) if u.stop <= sequence.prompt_length]
    sums = np.full(len(units), np.nan)
    if found is not None:
        sums = unit_scores(_scores(found, shown), tuple(units))
    known = np.isfinite(sums)
    total = float(sums[known].sum()) or 1.0
    # Special tokens hold most of the mass: on their scale the text would be blank.
    content = known & np.array([not all(sequence.special[u.start : u.stop]) for u in units])
    largest = float(sums[content].max(initial=0.0)) or float(sums[known].max(initial=0.0))
    look = palette.theme(theme_name())
    drawn = []
    for unit, score in zip(units, sums, strict=True):
        fill = "" if np.isnan(score) else palette.colour(float(score), largest, look)
        marks = ["plain"] if all(sequence.special[unit.start : unit.stop]) else []
        if not set(sequence.gold).isdisjoint(range(unit.start, unit.stop)):
            marks.append("gold")
        tip = f"{labels.visible(unit.text)} · token {unit.start}"
        if fill:
            tip += f" · {score:.4g} ({score / total:.1%} of what is shown)"
        drawn.append(
            Unit(
                text=_shown(unit.text),
                at=(unit.start, unit.stop),
                fill=fill,
                ink=palette.ink_on(fill) if fill else "",
                tip=tip,
                marks=tuple(marks),
                weight=min(1.0, float(score) / largest) if fill and largest > 0 else 0.0,
            )
        )
    return drawn


def _answer_units(
    sequence: Sequence, received: TokenExplanation | None, level: Level
) -> list[Unit]:
    """The answer, coloured by what the chosen source gave."""
    units = [u for u in sequence.units(level) if u.start >= sequence.prompt_length]
    shares = np.full(len(units), np.nan)
    if received is not None:
        given = received.arrays["received"]
        shares = np.array([given[u.start : u.stop].mean() for u in units])
    largest = float(np.nanmax(shares, initial=0.0)) if received is not None else 0.0
    look = palette.theme(theme_name())
    drawn = []
    for unit, share in zip(units, shares, strict=True):
        at = (unit.start - sequence.prompt_length, unit.stop - sequence.prompt_length)
        fill = "" if np.isnan(share) else palette.colour(float(share), largest, look)
        tip = f"{labels.visible(unit.text)} · answer token {at[0]}"
        if fill:
            tip += f" · took {share:.3%} of its residual stream from the source"
        ink = palette.ink_on(fill) if fill else ""
        drawn.append(Unit(text=_shown(unit.text), at=at, fill=fill, ink=ink, tip=tip))
    return drawn


def _sentences(sequence: Sequence, found: TokenExplanation | None, shown: str) -> list[Unit]:
    """The prompt's sentences, those with the most mass first."""
    if found is None:
        return []
    units = [
        u
        for u in sequence.units("sentence")
        if u.stop <= sequence.prompt_length
        and u.text.strip()
        and not sequence.special[u.start]
        and sequence.roles[u.start] != "template"
    ]
    sums = np.nan_to_num(unit_scores(_scores(found, shown), tuple(units)))
    total = float(np.nansum(_scores(found, shown)[: sequence.prompt_length])) or 1.0
    best = [int(i) for i in np.argsort(-sums, kind="stable")[:MOST_SENTENCES]]
    return [
        Unit(
            text=labels.shorten(" ".join(units[i].text.split()), LONGEST_SENTENCE),
            at=(units[i].start, units[i].stop),
            tip=f"{sums[i] / total:.1%}",
        )
        for i in best
    ]


def _shown(text: str) -> str:
    """A unit's text with its line ends made visible; they still end lines."""
    return text.replace("\n", "⏎\n")


def _facts(found: TokenExplanation, prefix: str) -> None:
    """The hops as bars, and where mass lies that is no content."""
    st.caption(f":material/info: {hop_figure.mass(found)}")
    for note in (*found.notes, *found.source().warnings):
        st.caption(f":material/info: {plain(note)}")
    st.plotly_chart(
        hop_figure.hops(found, theme=theme_name()),
        theme=None,
        key=f"{prefix}.hops.figure",
        alt="Share landed on the prompt and share carried on, hop by hop",
    )
    st.caption(
        "A hop puts part of what it follows on the prompt; what lands on the model's own text is "
        "carried on to the next. What neither bar shows stayed with the explained tokens."
    )
