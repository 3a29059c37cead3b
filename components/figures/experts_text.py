"""What experts and their routing say in words and formulas, as figures of text."""

from __future__ import annotations

import re

import plotly.graph_objects as go

from backend.concepts.explanation import ConceptExplanation
from components.figures.frame import frame
from components.figures.palette import Theme, escape, shorten, visible

MONOSPACE = "'DejaVu Sans Mono', 'Noto Sans Mono', Consolas, monospace"
ROW = 21
"""Pixels of a line."""
LONGEST = 64
"""Characters of a line of a formula."""
MOST_LINES = 60

Line = tuple[str, bool]
"""Text, and whether it stands out."""


def rules(found: ConceptExplanation, look: Theme) -> go.Figure:
    """The routing tree, a line a condition, with held-out samples and how many go that way."""
    tree = found.values["tree"]
    rows = []
    for rule in tree["rules"]:
        leads = rule["expert"] is not None
        condition = f"if {shorten(rule['condition'], 26)}"
        goes = f" → expert {rule['expert'] + 1}" if leads else ""
        numbers = f"{rule['samples']:,}"
        share = f"{rule['right']:.0%}" if leads and rule["samples"] else ""
        rows.append(
            (
                (f"{'    ' * rule['depth']}{condition}{goes}", leads),
                (numbers, False),
                (share, False),
            )
        )
    head = (("rule", False), ("samples", False), ("go there", False))
    notes = [
        f"Right on {tree['fidelity']:.1%} of held-out samples; always the most used expert: "
        f"{tree['majority']:.1%}"
    ]
    return _table(look, "Who gets which expert", notes, [head, *rows], (0.0, 0.74, 0.88))


def formulas(found: ConceptExplanation, look: Theme) -> go.Figure:
    """Each expert's formula of each class, wrapped."""
    values = found.values
    rows: list[tuple[Line, ...]] = []
    for m, expert in enumerate(values["formulas"]):
        if m:
            rows.append((("", False),))
        rows.append(((f"expert {m + 1}, {found.arrays['usage'][m]:.0%} of the samples", True),))
        for name, formula in zip(values["output_names"], expert, strict=True):
            lines = _wrapped(f"{visible(name)} = {visible(formula['text'])}")
            rows += [((("  " if i == 0 else "      ") + x, False),) for i, x in enumerate(lines)]
    if values["gain"] is None:
        unit = "Values are logits"
    else:
        unit = f"Values are shares of the class; logits are {values['gain']:.3g} × (value − ½)"
    if len(rows) > MOST_LINES:
        unit += f" · the first {MOST_LINES} of {len(rows)} lines"
        rows = rows[:MOST_LINES]
    return _table(look, "Formulas of the experts", [unit], rows, (0.0,))


def _wrapped(formula: str) -> list[str]:
    """Lines of at most `LONGEST` characters, broken before a sign where there is one."""
    lines: list[str] = []
    for term in re.split(r" (?=[+−] )", formula):
        if lines and len(lines[-1]) + 1 + len(term) <= LONGEST:
            lines[-1] += f" {term}"
        else:
            lines.append(term)
    return lines


def _table(
    look: Theme,
    title: str,
    notes: list[str],
    rows: list[tuple[Line, ...]],
    columns: tuple[float, ...],
) -> go.Figure:
    """Lines of text, each column beginning at its place from 0 to 1."""
    figure = go.Figure()
    for number, place in enumerate(columns):
        cells = [row[number] if number < len(row) else ("", False) for row in rows]
        figure.add_scatter(
            x=[place] * len(cells),
            y=list(range(len(cells))),
            mode="text",
            text=[_spaced(text) for text, _ in cells],
            textposition="middle right",
            textfont={
                "family": MONOSPACE,
                "size": 12,
                "color": [look.ink if strong or number else look.muted for _, strong in cells]
                if len(columns) > 1
                else look.ink,
            },
            hoverinfo="skip",
            showlegend=False,
            cliponaxis=False,
        )
    figure.update_xaxes(visible=False, range=[0, 1], fixedrange=True)
    figure.update_yaxes(visible=False, range=[len(rows) - 0.4, -0.6], fixedrange=True)
    return frame(figure, look, title, notes, ROW * len(rows) + 24)


def _spaced(text: str) -> str:
    """Leading spaces kept, which a figure would drop."""
    bare = text.lstrip(" ")
    return "\u00a0" * (len(text) - len(bare)) + escape(bare)
