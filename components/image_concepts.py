"""The concepts of a class: where they are, what each adds, and whether they are real."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import streamlit as st
from PIL import Image

from backend.images.explanation import ImageExplanation
from components.compare import Item
from components.figures import concepts_seen, image_map
from components.figures.concepts_seen import name
from components.plain import counted, plain
from components.session import engine, explanation, theme_name

BESIDE = 3
"""Cards in a row."""
TILE = 112
"""Pixels of a prototype's side."""
DIM = 0.25
"""How bright the rest of a prototype stays."""
KINDS = {"presence": "Presence", "contributions": "Contribution"}


def panel(done: Sequence[Item], prefix: str) -> None:
    """The concepts behind the ConEx result among the finished ones."""
    item = next((one for one in done if one.request.explainer == "conex"), None)
    if item is None or item.request.subject is None:
        st.info("Add **ConEx** to the explainers to see concepts.", icon=":material/category:")
        return
    seen = cast(ImageExplanation, item.explanation)
    found = explanation(engine().key(item.request.subject))
    if not isinstance(found, ImageExplanation):
        st.warning("The concepts are no longer stored: explain again.", icon=":material/history:")
        return
    st.caption(
        "A **reconstruction**: ConEx's full text could not be had. Each step is that of its "
        "nearest published relatives, and the definitions of VCM and CCM are ours."
    )
    _summary(found)
    left, right = st.columns(2)
    with left:
        st.plotly_chart(
            concepts_seen.added(seen, theme_name(), "What each concept adds in this picture"),
            theme=None,
            key=f"{prefix}.added",
            alt="What each concept adds to the logit of the class",
        )
    with right:
        _where(seen, prefix)
    _cards(found, seen)
    _measures(found)
    _matrix(found, prefix)
    _how(found)


def _summary(found: ImageExplanation) -> None:
    values = found.values
    held = "pictures" if values["by_picture"] else "views of the same pictures"
    st.markdown(
        f"**{len(values['concepts'])} concepts of {plain(values['name'])}**, found in "
        f"{counted(values['class_views'], 'view')} of "
        f"{counted(values['class_pictures'], 'picture')}; measured on "
        f"held-out {held}."
    )
    if not values["by_picture"]:
        st.caption(
            ":material/warning: Few pictures of this class: what is held out are other cut-outs "
            "of pictures that were learned from, so the measures say little of other pictures. "
            "Bring a zip of class folders for more."
        )
    if values["few"]:
        st.caption(f":material/warning: {plain(values['few'])}")


def _where(seen: ImageExplanation, prefix: str) -> None:
    count = len(seen.arrays["presence"])
    shown = st.selectbox(
        "Where it is",
        range(-1, count),
        format_func=lambda c: "All concepts: the class map" if c < 0 else name(c),
        key=f"{prefix}.shown",
        help="Click the picture for the concepts at that place.",
    )
    event = st.plotly_chart(
        concepts_seen.where(seen, _overlay(seen, shown), theme_name()),
        theme=None,
        key=f"{prefix}.where.{shown}",
        on_select="rerun",
        selection_mode="points",
        alt="The picture, coloured where the concept is",
    )
    clicked = [p for p in event.selection.points if p.get("customdata")] if event else []
    if not clicked:
        st.caption("Click a place to see the concepts there.")
        return
    presence, adds = concepts_seen.at(seen, *clicked[0]["customdata"][:2])
    thresholds = seen.values["thresholds"]
    st.dataframe(
        [
            {
                "concept": name(c),
                "presence": float(presence[c]),
                "counts as there": bool(presence[c] >= thresholds[c]),
                "adds to the logit": float(adds[c]),
            }
            for c in np.argsort(-presence / np.maximum(thresholds, 1e-12)).tolist()
        ],
        hide_index=True,
        column_config=dict.fromkeys(
            ("presence", "adds to the logit"), st.column_config.NumberColumn(format="%.3f")
        ),
        alt="Concepts at the clicked place",
    )


def _overlay(seen: ImageExplanation, shown: int) -> np.ndarray:
    """[h, w, 3] uint8: the picture coloured by the class map, or by one concept's presence."""
    if shown >= 0:
        scores = concepts_seen.spread(seen, shown)
        seen = dataclasses.replace(
            seen, arrays={**seen.arrays, "scores": scores}, unit="presence", signed=False
        )
    return image_map.overlaid(seen, theme_name())


def _cards(found: ImageExplanation, seen: ImageExplanation) -> None:
    rows = found.values["concepts"]
    adds, thresholds = seen.values["adds"], seen.values["thresholds"]
    most = seen.arrays["presence"].max(axis=(1, 2))
    for start in range(0, len(rows), BESIDE):
        for column, c in zip(st.columns(BESIDE), range(start, len(rows)), strict=False):
            with column, st.container(border=True):
                here = "here" if most[c] >= thresholds[c] else "not in this picture"
                st.markdown(f"**{name(c)}** · {here} · adds {adds[c]:+.2f}")
                st.image(montage(found, c))
                row = rows[c]
                st.caption(
                    f"{counted(row['pieces'], 'piece')} in {counted(row['views'], 'view')} of "
                    f"{counted(row['sources'], 'picture')}"
                )


def montage(found: ImageExplanation, concept: int) -> np.ndarray:
    """[2 t, P t, 3] uint8: prototypes in their picture, and below cut out."""
    pictures, outlines = found.arrays["prototypes"][concept], found.arrays["outlines"][concept]
    there = [p for p in range(len(pictures)) if outlines[p].any()][:4]
    tops, bottoms = [], []
    for p in there:
        inside = outlines[p].astype(bool)
        grey = pictures[p].mean(axis=2, keepdims=True)
        context = np.where(inside[..., None], pictures[p], DIM * grey + (1 - DIM) * 255)
        tops.append(_tile(context))
        rows, columns = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
        cut = np.where(inside[..., None], pictures[p], 235)
        bottoms.append(_tile(cut[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]))
    return np.concatenate([np.concatenate(tops, axis=1), np.concatenate(bottoms, axis=1)])


def _tile(picture: np.ndarray) -> np.ndarray:
    """[TILE, TILE, 3] uint8: the picture as large as it fits, on light grey."""
    height, width = picture.shape[:2]
    share = (TILE - 4) / max(height, width)
    size = max(1, round(width * share)), max(1, round(height * share))
    small = Image.fromarray(picture.astype(np.uint8)).resize(size)
    tile = Image.new("RGB", (TILE, TILE), (235, 235, 235))
    tile.paste(small, ((TILE - size[0]) // 2, (TILE - size[1]) // 2))
    return np.asarray(tile)


def _measures(found: ImageExplanation) -> None:
    st.markdown("**How much each matters, and whether it is real**")
    titles = {
        "contribution": "adds on average",
        "removal": "p lost without it",
        "tcav": "TCAV",
        "auc": "AUC",
        "stability": "stability",
        "p": "p (Bonferroni)",
        "vcm": "VCM",
        "vcm_auroc": "VCM (AUROC)",
        "ccm_auroc": "CCM (AUROC)",
        "ccm_top": "CCM (top)",
    }
    table: list[dict[str, Any]] = [
        {"concept": name(c), **{title: row[key] for key, title in titles.items()}}
        for c, row in enumerate(found.values["concepts"])
    ]
    st.dataframe(
        table,
        hide_index=True,
        column_config=dict.fromkeys(titles.values(), st.column_config.NumberColumn(format="%.3f")),
        alt="Importance and quality of each concept",
    )
    st.caption(
        "Importance three ways, which often disagree: what it adds to the logit, the probability "
        "lost when it is taken out of the maps, and the share of views that its direction speaks "
        "for. AUC: its direction on held-out pieces. Stability: mean cosine of ten refits. VCM: "
        "share of held-out pieces whose likeliest direction is their own. CCM: how well its "
        "presence tells the class's pictures from others."
    )


def _matrix(found: ImageExplanation, prefix: str) -> None:
    what = st.segmented_control(
        "Concepts by pictures",
        list(KINDS),
        format_func=KINDS.__getitem__,
        default="presence",
        required=True,
        key=f"{prefix}.matrix.what",
    )
    st.plotly_chart(
        concepts_seen.matrix(found, str(what), theme_name()),
        theme=None,
        key=f"{prefix}.matrix",
        alt="Each concept in each view",
    )


def _how(found: ImageExplanation) -> None:
    values = found.values
    with st.expander("How these concepts were found"):
        st.markdown(
            f"Masking: **{values['masking']['chosen']}**; {values['pieces']:,} pieces. Basis: "
            f"**{values['basis']}**; with it the concepts explain {values['explained']:.0%} of "
            "the logit on held-out views."
        )
        if values["masking"]["rows"]:
            st.dataframe(
                values["masking"]["rows"], hide_index=True, alt="The mask-bias probe of this model"
            )
            st.caption(
                "The mask-bias probe: textures in several outlines. The way is taken whose "
                "embeddings group best by content (silhouette)."
            )
        if values["masking"]["reason"]:
            st.caption(f"No exact masking: {plain(values['masking']['reason'])}.")
        st.dataframe(
            [{"basis": kind, **one} for kind, one in values["bases"].items()],
            hide_index=True,
            column_config=dict.fromkeys(
                ("explained", "cancelled"), st.column_config.NumberColumn(format="percent")
            ),
            alt="What each basis explains of the logit",
        )
        st.caption(
            "Of the bases that explain nearly all of the logit on held-out views, the one is taken "
            "whose contributions cancel each other least."
        )
        for sentence in values["dropped"]:
            st.caption(plain(sentence))
