"""The token strip on the screen: coloured tokens that can be pointed at and, where asked, chosen.

Text reaches the browser as data and is set with `textContent`, so no token can become markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

_CSS = """
.strip { line-height: 2.05; font-size: 0.95rem; overflow-wrap: anywhere; white-space: pre-wrap;
  color: var(--st-text-color); max-height: 26rem; overflow-y: auto; padding: 2px; }
.t { border-radius: 4px; padding: 2px 0; cursor: default; outline-offset: 1px;
  box-decoration-break: clone; -webkit-box-decoration-break: clone; }
.t.plain { opacity: 0.62; }
.t.nan { opacity: 0.75; }
.t.faint { opacity: 0.35; }
.t.explained { box-shadow: inset 0 0 0 1.5px var(--st-primary-color); padding: 2px 1px; }
.t.gold { text-decoration: underline 2px dotted; text-underline-offset: 4px; }
.t.choice { cursor: pointer; box-shadow: inset 0 0 0 1px var(--st-border-color); padding: 2px 1px; }
.t.choice[aria-pressed="true"] { background: var(--st-primary-color);
  color: var(--st-background-color); }
.t.on, .t:focus-visible { outline: 2px solid var(--st-primary-color); }
.gap { opacity: 0.62; font-style: italic; padding: 0 0.4em; }
.readout { min-height: 1.5em; font-size: 0.82rem; opacity: 0.8; font-variant-numeric: tabular-nums;
  overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
"""

_JS = """
export default function (component) {
  const { data, parentElement, setStateValue } = component
  const strip = parentElement.querySelector(".strip")
  const readout = parentElement.querySelector(".readout")
  strip.setAttribute("aria-label", data.label)
  const chosen = new Set(data.chosen)
  const show = (span, cell) => {
    strip.querySelectorAll(".on").forEach((other) => other.classList.remove("on"))
    span.classList.add("on")
    readout.textContent = cell.tip
  }
  const toggle = (span, cell) => {
    const all = cell.choice.every((i) => chosen.has(i))
    cell.choice.forEach((i) => all ? chosen.delete(i) : chosen.add(i))
    span.setAttribute("aria-pressed", String(!all))
    setStateValue("chosen", [...chosen].sort((a, b) => a - b))
  }
  const spans = data.cells.map((cell) => {
    const span = document.createElement("span")
    span.textContent = cell.text
    span.className = ["t", ...cell.marks].join(" ")
    if (cell.fill) { span.style.background = cell.fill; span.style.color = cell.ink }
    span.onmouseenter = () => show(span, cell)
    span.onclick = () => show(span, cell)
    if (cell.choice.length) {
      span.classList.add("choice")
      span.tabIndex = 0
      span.setAttribute("role", "button")
      span.setAttribute("aria-pressed", String(cell.choice.every((i) => chosen.has(i))))
      span.onclick = () => { show(span, cell); toggle(span, cell) }
      span.onkeydown = (event) => {
        if (event.key !== "Enter" && event.key !== " ") return
        event.preventDefault()
        toggle(span, cell)
      }
    }
    return span
  })
  strip.replaceChildren(...spans)
  readout.textContent = data.hint
}
"""

_STRIP = st.components.v2.component(
    "vitrine_token_strip",
    html='<div class="strip" dir="auto" role="group"></div><div class="readout"></div>',
    css=_CSS,
    js=_JS,
)


def token_strip(
    cells: Sequence[dict[str, Any]],
    *,
    key: str,
    label: str,
    hint: str = "",
    chosen: Sequence[int] = (),
) -> tuple[int, ...]:
    """Draw a strip and return the chosen answer tokens.

    Args:
        cells: one dict a unit: `text`, `fill` and `ink` (CSS colours or ""), `tip` (what the line
            below the strip says), `marks` (CSS classes), `choice` (answer indices a click
            toggles; empty where the unit cannot be chosen).
        key: the component's key; its state holds the choice.
        label: the accessible name.
        hint: the line below the strip until a unit is pointed at.
        chosen: answer indices chosen at first.
    """
    state = st.session_state.get(key) or {}
    now = tuple(state.get("chosen", chosen))
    result = _STRIP(
        key=key,
        data={"cells": list(cells), "label": label, "hint": hint, "chosen": list(now)},
        default={"chosen": list(chosen)},
        on_chosen_change=lambda: None,
    )
    return tuple(int(i) for i in (result.chosen or ()))
