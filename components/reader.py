"""The reader on the screen: a prompt as a document with a minimap, its answer, its top sentences.

An answer unit is clicked to explain it (with Shift: up to it), a prompt unit or a sentence to see
what it contributed to. Text reaches the browser as data and is set with `textContent`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import streamlit as st

_CSS = """
.reader { display: grid; grid-template-columns: minmax(0, 1.5fr) minmax(0, 1fr); gap: 0.4rem 1rem;
  color: var(--st-text-color); font-size: 0.95rem; container-type: inline-size; }
.side { display: flex; flex-direction: column; min-width: 0; }
.side.whole { grid-column: 1 / -1; }
h4 { font-size: 0.82rem; font-weight: 600; margin: 0 0 0.25rem; opacity: 0.8; white-space: nowrap;
  overflow: hidden; text-overflow: ellipsis; }
.page { display: flex; height: 25rem; border: 1px solid var(--st-border-color);
  border-radius: 6px; overflow: hidden; resize: vertical; }
.text { flex: 1; overflow-y: auto; padding: 0.5rem 0.6rem; line-height: 1.85;
  white-space: pre-wrap; overflow-wrap: anywhere; position: relative; }
.map { width: 22px; position: relative; border-left: 1px solid var(--st-border-color);
  cursor: pointer; flex: none; }
.map i { position: absolute; left: 3px; right: 3px; min-height: 2px; }
.map b { position: absolute; left: 0; right: 0; border: 1px solid var(--st-primary-color);
  border-radius: 3px; pointer-events: none; opacity: 0.8; }
.u { border-radius: 3px; padding: 2px 0; cursor: pointer; box-decoration-break: clone;
  -webkit-box-decoration-break: clone; }
.u:hover { outline: 1px solid var(--st-primary-color); }
.u:focus-visible { outline: 2px solid var(--st-primary-color); }
.u.plain { opacity: 0.6; }
.u.gold { text-decoration: underline 2px dotted; text-underline-offset: 4px; }
.u[aria-pressed="true"] { box-shadow: inset 0 0 0 2px var(--st-primary-color); }
.readout { grid-column: 1 / -1; min-height: 1.5em; font-size: 0.82rem; opacity: 0.85;
  font-variant-numeric: tabular-nums; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; }
ol { margin: 0; padding: 0; list-style: none; }
li button { all: unset; display: grid; grid-template-columns: 3.4rem 1fr; gap: 0.6rem;
  width: 100%; cursor: pointer; padding: 0.2rem 0.3rem; border-radius: 4px; font-size: 0.88rem;
  box-sizing: border-box; }
li button:hover, li button:focus-visible { background: var(--st-secondary-background-color); }
li button[aria-pressed="true"] { box-shadow: inset 0 0 0 2px var(--st-primary-color); }
li .share { text-align: right; font-variant-numeric: tabular-nums; }
li .what { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
@media (max-width: 640px) { .reader { grid-template-columns: minmax(0, 1fr); }
  .page { height: 17rem; } }
"""

_HTML = """
<div class="reader">
  <div class="side"><h4 class="h-prompt"></h4>
    <div class="page"><div class="text prompt" role="group" dir="auto"></div>
      <div class="map" aria-hidden="true"></div></div></div>
  <div class="side"><h4 class="h-answer"></h4>
    <div class="page"><div class="text answer" role="group" dir="auto"></div></div></div>
  <div class="readout" aria-live="polite"></div>
  <div class="side whole"><h4 class="h-top"></h4><ol></ol></div>
</div>
"""

_JS = """
export default function (component) {
  const { data, parentElement, setStateValue } = component
  const find = (name) => parentElement.querySelector(name)
  const page = find(".prompt"), answer = find(".answer"), map = find(".map")
  const readout = find(".readout"), list = find("ol")
  find(".h-prompt").textContent = data.titles[0]
  find(".h-answer").textContent = data.titles[1]
  find(".h-top").textContent = data.titles[2]
  page.setAttribute("aria-label", data.titles[0])
  answer.setAttribute("aria-label", data.titles[1])
  // What was chosen last, also while the server still draws the choice before.
  let pick = { span: data.span, source: data.source }
  const send = (change) => {
    pick = { ...pick, ...change }
    setStateValue("pick", pick)
  }
  const same = (a, b) => a && b && a[0] === b[0] && a[1] === b[1]
  const over = (u, range) => Boolean(range) && u.at[0] < range[1] && range[0] < u.at[1]

  const draw = (u, pressed, act) => {
    const span = document.createElement("span")
    span.textContent = u.text
    span.className = ["u", ...u.marks].join(" ")
    if (u.fill) { span.style.background = u.fill; span.style.color = u.ink }
    span.tabIndex = 0
    span.setAttribute("role", "button")
    span.setAttribute("aria-pressed", String(pressed))
    span.onmouseenter = span.onfocus = () => { readout.textContent = u.tip }
    span.onclick = (event) => act(u, event.shiftKey)
    span.onkeydown = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return
      event.preventDefault()
      act(u, event.shiftKey)
    }
    return span
  }
  const source = (u) => send({ source: same(u.at, pick.source) ? null : u.at })
  const explain = (u, extend) => send({
    span: extend && pick.span
      ? [Math.min(pick.span[0], u.at[0]), Math.max(pick.span[1], u.at[1])]
      : u.at,
  })
  const keep = [page.scrollTop, answer.scrollTop]
  // A drawing replaces the units: the one with the keyboard's focus gives it to its successor.
  const focused = page.getRootNode().activeElement
  const held = [page, answer, list].map((group) =>
    [...group.children].findIndex((child) => focused && child.contains(focused)))
  page.replaceChildren(...data.prompt.map((u) => draw(u, over(u, data.source), source)))
  answer.replaceChildren(...data.answer.map((u) => draw(u, over(u, data.span), explain)))
  page.scrollTop = keep[0]
  answer.scrollTop = keep[1]
  readout.textContent = data.hint

  list.replaceChildren(...data.top.map((u) => {
    const item = document.createElement("li"), button = document.createElement("button")
    const share = document.createElement("span"), what = document.createElement("span")
    share.className = "share"; share.textContent = u.tip
    what.className = "what"; what.textContent = u.text
    button.append(share, what)
    button.setAttribute("aria-pressed", String(Boolean(same(u.at, data.source))))
    button.onclick = () => {
      const first = data.prompt.findIndex((other) => over(other, u.at))
      if (first >= 0) page.scrollTop = page.children[first].offsetTop - page.clientHeight / 3
      source(u)
    }
    item.append(button)
    return item
  }))
  for (const [i, group] of [page, answer, list].entries()) {
    const child = group.children[held[i]]
    const successor = child && (child.querySelector("button") ?? child)
    successor?.focus({ preventScroll: true })
  }

  const outline = () => {
    const height = map.clientHeight, whole = page.scrollHeight || 1
    const ticks = data.prompt.flatMap((u, i) => {
      if (!u.fill || !u.weight) return []
      const tick = document.createElement("i"), span = page.children[i]
      tick.style.top = (span.offsetTop / whole) * height + "px"
      tick.style.height = Math.max(2, (span.offsetHeight / whole) * height) + "px"
      tick.style.background = u.fill
      tick.style.opacity = String(0.25 + 0.75 * u.weight)
      return [tick]
    })
    const view = document.createElement("b")
    const place = () => {
      view.style.top = (page.scrollTop / whole) * height + "px"
      view.style.height = Math.min(1, page.clientHeight / whole) * height - 2 + "px"
    }
    place()
    page.onscroll = place
    map.replaceChildren(...ticks, view)
    map.onclick = (event) => {
      const at = (event.clientY - map.getBoundingClientRect().top) / height
      page.scrollTop = at * whole - page.clientHeight / 2
    }
  }
  requestAnimationFrame(outline)
  const watcher = new ResizeObserver(outline)
  watcher.observe(page)
  return () => watcher.disconnect()
}
"""

_READER = st.components.v2.component("vitrine_reader", html=_HTML, css=_CSS, js=_JS)


@dataclasses.dataclass(frozen=True)
class Unit:
    """A piece of text that can be clicked.

    `at`: what a click on it means, [first, stop): positions in the sequence for the prompt and the
    sentences, indices into the answer for the answer. `weight`, 0 to 1: how strong its mark in the
    minimap is.
    """

    text: str
    at: tuple[int, int]
    fill: str = ""
    ink: str = ""
    tip: str = ""
    marks: tuple[str, ...] = ()
    weight: float = 0.0


@dataclasses.dataclass(frozen=True)
class Pick:
    """What a person chose: tokens of the answer to explain, and a source, [first, stop) each."""

    span: tuple[int, int] | None = None
    source: tuple[int, int] | None = None


def picked(key: str) -> Pick:
    """What is chosen in the reader of this key."""
    state = (st.session_state.get(key) or {}).get("pick") or {}
    return Pick(_range(state.get("span")), _range(state.get("source")))


def reader(
    prompt: Sequence[Unit],
    answer: Sequence[Unit],
    top: Sequence[Unit],
    *,
    pick: Pick,
    titles: tuple[str, str, str],
    hint: str,
    key: str,
) -> None:
    """Draw the reader; what is clicked is in `picked` on the next run.

    Args:
        top: sentences, the most important first; `tip` is what stands before them.
        titles: of the prompt, the answer and the list.
        hint: the line below until something is pointed at.
    """
    _READER(
        key=key,
        data={
            "prompt": [dataclasses.asdict(unit) for unit in prompt],
            "answer": [dataclasses.asdict(unit) for unit in answer],
            "top": [dataclasses.asdict(unit) for unit in top],
            "span": list(pick.span) if pick.span else None,
            "source": list(pick.source) if pick.source else None,
            "titles": list(titles),
            "hint": hint,
        },
        default={"pick": None},
        on_pick_change=lambda: None,
    )


def _range(value: Any) -> tuple[int, int] | None:
    """A range as the browser sent it, or None where it is none."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        return None
    first, stop = (int(x) if isinstance(x, int | float) else -1 for x in value)
    return (first, stop) if 0 <= first < stop else None
