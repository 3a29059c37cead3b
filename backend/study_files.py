"""A study as files: CSV, a LaTeX table, and an HTML report that needs no network."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

from backend import files as csv
from backend.bootstrap import Interval
from backend.card import document
from backend.control import words
from backend.metric import Metric
from backend.study import LEVEL, Cell, Studied, Study, direction

_TEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "−": "$-$",
    "–": "--",
}
_ARROWS = {1: r" $\uparrow$", -1: r" $\downarrow$", 0: ""}
_TEX_NOTHING = r"$^\dagger$"
_BETTER = {1: "higher is better", -1: "lower is better", 0: "neither better nor worse"}
BEHIND = "∗"
NOTHING = "†"
"""Mark of a metric that a control wins."""
RANKINGS = "Random rankings"


def files(found: Study, asked: Studied) -> dict[str, bytes]:
    """All files of a study by name, with those that its command needs."""
    titles = [*asked.titles, RANKINGS]
    return {
        "inputs.csv": csv_of_cases(found),
        "means.csv": csv_of_means(found),
        "agreement.csv": csv_of_agreement(found),
        "study.tex": latex(found, titles, asked.about).encode(),
        "study.html": report(found, titles, asked).encode(),
        **asked.beside(),
    }


def won_by_control(found: Study, titles: Sequence[str]) -> list[str]:
    """Which metrics say nothing, a sentence a control.

    Args:
        titles: of the methods and of random rankings.
    """
    named = dict(zip(found.methods, titles, strict=True))
    won = {metric: named[control] for metric, control in found.won_by_control.items()}
    return words(won, {metric.id: metric.title for metric in found.metrics})


def csv_of_cases(found: Study) -> bytes:
    """A row an input and method; an empty cell where a value is not defined."""
    rows = (
        [csv.cell(case), method]
        + [_number(found.values[metric.id][m, c]) for metric in found.metrics]
        for c, case in enumerate(found.cases)
        for m, method in enumerate(found.methods)
    )
    return csv.table(("input", "method", *(metric.id for metric in found.metrics)), rows)


def csv_of_means(found: Study) -> bytes:
    """A row a metric and method: mean, ends of its 95 % interval, inputs, best, corrected p."""
    rows = (
        [
            metric.id,
            method,
            _number(cell.mean.mean),
            _number(cell.mean.low),
            _number(cell.mean.high),
            cell.mean.n,
            int(cell.best),
            _number(cell.p),
        ]
        for metric, cells in _rows(found)
        for method, cell in zip(found.methods, cells, strict=True)
    )
    return csv.table(("metric", "method", "mean", "low", "high", "n", "best", "p"), rows)


def csv_of_agreement(found: Study) -> bytes:
    """A row a pair of methods: mean rank correlation, ends of its 95 % interval, inputs."""
    names = found.methods[:-1]
    rows = (
        [names[i], names[j], _number(one.mean), _number(one.low), _number(one.high), one.n]
        for i, row in enumerate(found.agreement)
        for j, one in enumerate(row)
        if i < j
    )
    return csv.table(("method", "other", "mean", "low", "high", "n"), rows)


def latex(found: Study, titles: Sequence[str], about: str) -> str:
    """A table that compiles with no package: a row a metric, a column a method.

    Args:
        titles: of the methods.
        about: what was explained, for the caption.
    """
    head = " & ".join(["", *(_tex_title(title) for title in titles)])
    sentences = won_by_control(found, titles)
    said = "".join(rf" {_TEX_NOTHING}{tex(sentence)}" for sentence in sentences)
    lines = [
        r"\begin{table}[t]",
        r"\centering",
        r"\scriptsize",
        r"\setlength{\tabcolsep}{1.5pt}",
        rf"\caption{{{tex(about)}: means over {len(found.cases)} inputs with 95\,\% bootstrap "
        r"intervals. Bold: best. $^\ast$: behind the best, "
        rf"$p < {LEVEL}$ by Wilcoxon's signed-rank test with Holm's correction.{said}}}",
        rf"\begin{{tabular}}{{l{'r' * len(titles)}}}",
        r"\hline",
        rf"{head} \\",
        r"\hline",
    ]
    for metric, cells in _rows(found):
        arrow = _ARROWS[direction(metric)]
        arrow += _TEX_NOTHING if metric.id in found.won_by_control else ""
        means = " & ".join(_tex_mean(cell) for cell in cells)
        ends = " & ".join(_tex_ends(cell.mean) for cell in cells)
        lines += [
            rf"\rule{{0pt}}{{2.6ex}}{tex(metric.title)}{arrow} & {means} \\",
            rf" & {ends} \\",
        ]
    return "\n".join([*lines, r"\hline", r"\end{tabular}", r"\end{table}", ""])


def tex(text: str) -> str:
    """Text as LaTeX shows it; what its default fonts have no sign for becomes a question mark."""
    shown = "".join(_TEX.get(sign, sign) for sign in text)
    return shown.encode("ascii", "replace").decode()


def report(found: Study, titles: Sequence[str], asked: Studied) -> str:
    """The report as one HTML file: means, every input, how to read it, how to get it again.

    Args:
        titles: of the methods and of random rankings.
    """
    parts = [
        "<h1>Study</h1>",
        f'<p class="about">{_text(asked.about)}, {len(found.cases)} inputs.</p>',
        "<h2>Means</h2>",
        _means(found, titles),
        "<p>Means over the inputs with 95&nbsp;% bootstrap intervals. Bold: best. "
        f"{BEHIND}: behind the best, p &lt; {LEVEL} by Wilcoxon's signed-rank test with Holm's "
        "correction over the methods.</p>",
        *(f"<p>{NOTHING} {_text(said)}</p>" for said in won_by_control(found, titles)),
        "<h2>Metrics</h2>",
        "<ul>"
        + "".join(
            f"<li><b>{_text(metric.title)}</b> ({_better(metric)}). {_text(metric.how_to_read)}"
            "</li>"
            for metric in found.metrics
        )
        + "</ul>",
        "<h2>Agreement</h2>",
        _agreement(found, titles),
        "<p>Mean rank correlation (Spearman) of two methods on an input, with 95&nbsp;% bootstrap "
        "intervals over the inputs.</p>",
        "<h2>Every input</h2>",
        *(_every(found, titles, metric) for metric in found.metrics),
        "<h2>Reproduce</h2>",
        f"<pre>{_text(asked.command)}</pre>",
        "<details><summary>Each input by itself</summary>",
        *(f"<p>{_text(case.title)}</p><pre>{_text(case.command)}</pre>" for case in asked.cases),
        "</details>",
    ]
    return document("Study", parts)


def _rows(found: Study) -> list[tuple[Metric, tuple[Cell, ...]]]:
    return [(metric, found.cells[metric.id]) for metric in found.metrics]


def _number(value: float | None) -> str:
    return "" if value is None or not np.isfinite(value) else csv.number(float(value))


def shown(value: float) -> str:
    """Three places behind the point; of what they would show as 0 one digit that counts."""
    return f"{value:.3f}" if abs(value) >= 0.0005 or value == 0 else f"{value:.0e}"


def _tex_mean(cell: Cell) -> str:
    if cell.mean.mean is None:
        return "--"
    text = _tex_number(cell.mean.mean)
    text = rf"\textbf{{{text}}}" if cell.best else text
    return text + (r"$^\ast$" if cell.behind else "")


def _tex_number(value: float) -> str:
    return shown(value).replace("-", "$-$")


def _tex_ends(mean: Interval) -> str:
    if mean.low is None or mean.high is None:
        return ""
    return rf"{{\tiny [{_tex_number(mean.low)},{_tex_number(mean.high)}]}}"


def _tex_title(title: str) -> str:
    """One word below the other."""
    words = r" \\ ".join(tex(word) for word in title.split())
    return rf"\shortstack[r]{{{words}}}"


def _means(found: Study, titles: Sequence[str]) -> str:
    head = "".join(f"<th>{_text(title)}</th>" for title in ("", *titles))
    rows = []
    for metric, cells in _rows(found):
        shown_cells = "".join(f"<td>{_mean(cell)}</td>" for cell in cells)
        nothing = metric.id in found.won_by_control
        name = f"{_text(metric.title)}{NOTHING if nothing else ''} ({_better(metric)})"
        row = ' style="color:var(--muted)"' if nothing else ""
        rows.append(f"<tr{row}><td>{name}</td>{shown_cells}</tr>")
    return _wide(head, rows)


def _mean(cell: Cell) -> str:
    if cell.mean.mean is None:
        return "–"
    text = f"<b>{shown(cell.mean.mean)}</b>" if cell.best else shown(cell.mean.mean)
    p = "" if cell.p is None else f"<br><small>p {cell.p:.2g}</small>"
    return text + (BEHIND if cell.behind else "") + _ends(cell.mean) + p


def _agreement(found: Study, titles: Sequence[str]) -> str:
    names = titles[:-1]
    head = "".join(f"<th>{_text(title)}</th>" for title in ("", *names))
    rows = []
    for i, row in enumerate(found.agreement):
        cells = "".join(
            f"<td>{'–' if i == j or one.mean is None else shown(one.mean) + _ends(one)}</td>"
            for j, one in enumerate(row)
        )
        rows.append(f"<tr><td>{_text(names[i])}</td>{cells}</tr>")
    return _wide(head, rows)


def _ends(mean: Interval) -> str:
    if mean.low is None or mean.high is None:
        return ""
    return f"<br><small>[{shown(mean.low)}, {shown(mean.high)}]</small>"


def _every(found: Study, titles: Sequence[str], metric: Metric) -> str:
    head = "".join(f"<th>{_text(title)}</th>" for title in ("input", *titles))
    values = found.values[metric.id]
    rows = []
    for c, case in enumerate(found.cases):
        cells = "".join(
            f"<td>{shown(value) if np.isfinite(value) else '–'}</td>" for value in values[:, c]
        )
        rows.append(f"<tr><td>{_text(case)}</td>{cells}</tr>")
    return f"<details><summary>{_text(metric.title)}</summary>{_wide(head, rows)}</details>"


def _wide(head: str, rows: Sequence[str]) -> str:
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _better(metric: Metric) -> str:
    return _BETTER[direction(metric)]


def _text(value: object) -> str:
    return html.escape(str(value), quote=True)
