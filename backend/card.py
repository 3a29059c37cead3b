"""The explanation card: figure, numbers, provenance and the way to reproduce, in one HTML file."""

from __future__ import annotations

import base64
import dataclasses
import html
import json
from collections.abc import Sequence

from pydantic import JsonValue

from backend.catalogue import find
from backend.explanation import Explanation

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_FOLDER = (
    "The model is a folder of the machine that computed this: allow it with VITRINE_MODEL_FOLDERS, "
    "or write its path after --model."
)
_MADE = (
    "The model was made on a page: it is in the store of the app that computed this, and only "
    "there does the command find it. A model folder with such a head is written by `fit-head`."
)
_STYLE = """
:root { color-scheme: light dark; --ink: #17212b; --muted: #566573; --line: #d5dce3;
  --paper: #fff; --soft: #f4f6f8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8edf2; --muted: #a3b1bd; --line: #33414e;
  --paper: #10161c; --soft: #1a232c; } }
body { font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
  color: var(--ink); background: var(--paper); max-width: 980px; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: .2rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
p.about { color: var(--muted); margin-top: 0; }
img { max-width: 100%; background: #fff; border-radius: 8px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere; }
th { color: var(--muted); font-weight: 600; }
th, td:first-child { white-space: nowrap; }
pre { background: var(--soft); border-radius: 8px; padding: .8rem; white-space: pre-wrap;
  overflow-wrap: anywhere; }
@media print { body { margin: 0; } h2 { break-after: avoid; } }
"""


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of a card; every cell is shown as text."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclasses.dataclass(frozen=True)
class Attachment:
    """A file the command needs, shown in the card to be saved under its name."""

    name: str
    content: str


def card(
    explanation: Explanation,
    *,
    picture: bytes,
    alt: str,
    tables: Sequence[Table],
    command: str,
    prompt: JsonValue,
    attachment: Attachment | None = None,
) -> str:
    """The card of one explanation, a file that asks nothing of the network.

    Args:
        picture: the figure as SVG.
        alt: the figure in words.
        tables: numbers to show beside it.
        command: the command line that gives this explanation again.
        prompt: the input as JSON, kept in the file for programs.
        attachment: the input file the command names, if it names one.
    """
    source, explainer = explanation.source(), find(explanation.source().request)
    paper = explainer.reference
    about = f"{paper.authors} ({paper.year}), {paper.title}, {paper.link}" if paper else ""
    if explainer.reconstruction:
        about += " · Rebuilt from the paper's abstract; details may differ from the authors' own."
    image = base64.b64encode(picture).decode()
    parts = [
        f"<h1>{_text(explainer.title)}</h1>",
        f'<p class="about">{_text(about)}</p>',
        f"<p>{_text(explainer.how_to_read)}</p>",
        f'<img alt="{_text(alt)}" src="data:image/svg+xml;base64,{image}">',
        *(_table(table) for table in tables),
        *(f"<p>{_text(note)}</p>" for note in (*explanation.notes, *source.warnings)),
        _table(Table("Provenance", ("", ""), _provenance(explanation))),
        "<h2>Reproduce</h2>",
        f"<pre>{_text(command)}</pre>",
    ]
    if source.request.model.source == "folder":
        parts.append(f"<p>{_text(_FOLDER)}</p>")
    if source.request.model.source == "made":
        parts.append(f"<p>{_text(_MADE)}</p>")
    if attachment is not None:
        parts.append(f"<p>Save this as <code>{_text(attachment.name)}</code> first:</p>")
        parts.append(f"<pre>{_text(attachment.content)}</pre>")
    parts.append(f'<script type="application/json" id="prompt">{_json(prompt)}</script>')
    return document(explainer.title, parts)


def document(title: str, parts: Sequence[str]) -> str:
    """A page of HTML that asks nothing of the network.

    Args:
        title: as text. parts: of the body, as HTML.
    """
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(title)} · Vitrine</title><style>{_STYLE}</style></head>"
        f"<body>\n{chr(10).join(parts)}\n</body></html>\n"
    )


def _provenance(explanation: Explanation) -> list[tuple[str, object]]:
    source = explanation.source()
    request = source.request
    return [
        ("key", source.key),
        ("model", request.model.label()),
        ("model fingerprint", source.model_fingerprint),
        ("input", request.input),
        ("parameters", ", ".join(f"{k} = {v}" for k, v in request.parameters.items()) or "none"),
        ("seed", request.seed),
        ("versions", ", ".join(f"{k} {v}" for k, v in source.versions.items())),
        ("computed on", f"{source.device}, {source.dtype}"),
        ("seconds", f"{source.seconds:.2f}"),
        ("passes", f"{source.forward_passes} forward, {source.backward_passes} backward"),
        ("peak memory", f"{source.peak_memory_bytes / 1e6:,.0f} MB"),
        ("created", source.created),
    ]


def _table(table: Table) -> str:
    head = "".join(f"<th>{_text(name)}</th>" for name in table.header)
    rows = "".join(
        "<tr>" + "".join(f'<td dir="auto">{_text(cell)}</td>' for cell in row) + "</tr>"
        for row in table.rows
    )
    return (
        f'<h2>{_text(table.title)}</h2><div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _json(value: JsonValue) -> str:
    """JSON that no text inside can end: `<` and `&` are written as escapes."""
    return json.dumps(value).replace("<", "\\u003c").replace("&", "\\u0026")


def _text(value: object) -> str:
    return html.escape(str(value), quote=True)
