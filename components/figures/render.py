"""A figure as a file: PNG, SVG, PDF, HTML or JSON, with where it came from written inside.

PNG, SVG and PDF are drawn by a Chromium or Chrome of this system where there is one, and otherwise
by matplotlib: plainer, but never blank and never late.
"""

from __future__ import annotations

import html
import json
import logging
from collections.abc import Mapping
from typing import Any, Literal, get_args

import plotly.graph_objects as go

from components.figures import provenance
from components.figures.browser import Browser, BrowserFailed, browser

Format = Literal["png", "svg", "pdf", "html", "json"]
PICTURES: tuple[Format, ...] = ("png", "svg", "pdf")
HINT = (
    "{}, so PNG, SVG and PDF are drawn in a plainer way. "
    "For figures like those on the page: apt-get install chromium, or set BROWSER_PATH."
)

_log = logging.getLogger(__name__)


def capabilities() -> dict[str, str]:
    """Each format with "" or a sentence on what would make it better; all of them work."""
    trouble = browser().trouble
    hint = HINT.format(trouble[0].upper() + trouble[1:]) if trouble else ""
    return {name: hint if name in PICTURES else "" for name in get_args(Format)}


def render(
    figure: go.Figure,
    format: str,
    *,
    metadata: Mapping[str, str] | None = None,
    width: int = 1200,
    height: int | None = None,
    scale: float = 2.0,
    timeout_s: float = 60.0,
    via: Literal["any", "browser", "matplotlib"] = "any",
) -> bytes:
    """The figure as a file of this format.

    Args:
        metadata: names and values written into the file.
        width: pixels, where the figure has no width of its own.
        height: pixels; None takes the figure's own.
        scale: pixels of a PNG per pixel of the figure.
        timeout_s: longest wait for the browser.
        via: who draws a picture; "any" tries the browser first.

    Raises:
        ValueError: an unknown format, or a size that is not positive.
        BrowserFailed: `via` is "browser" and there is none that answers.
    """
    if format not in get_args(Format):
        raise ValueError(f"expected one of {', '.join(get_args(Format))} (got {format!r})")
    size = (
        int(figure.layout.width or width),
        int(height or figure.layout.height or round(width * 0.6)),
    )
    if min(size) <= 0 or scale <= 0 or max(size) * scale > 60_000:
        raise ValueError(f"cannot draw a figure of {size[0]} × {size[1]} pixels at scale {scale}")
    known = dict(metadata or {})
    if format == "json":
        return _json(figure, known)
    if format == "html":
        return _html(figure, known)
    stamp = {"png": provenance.png, "svg": provenance.svg, "pdf": provenance.pdf}[format]
    return stamp(_picture(figure, format, size, scale, timeout_s, via, browser()), known)


def _picture(
    figure: go.Figure,
    format: str,
    size: tuple[int, int],
    scale: float,
    timeout_s: float,
    via: str,
    kept: Browser,
) -> bytes:
    if via != "matplotlib":
        try:
            # Only a PNG has pixels: a scale would change the size of the others.
            times = scale if format == "png" else 1.0
            return kept.draw(figure, format, size, times, timeout_s)
        except BrowserFailed as error:
            if via == "browser":
                raise
            _log.warning("Figure drawn without a browser: %s", error)
    # matplotlib takes over a second to import and most exports never need it.
    from components.figures import matplot

    return matplot.draw(figure, format, size, scale)


def _json(figure: go.Figure, metadata: dict[str, str]) -> bytes:
    content: dict[str, Any] = json.loads(figure.to_json())
    meta = content["layout"].get("meta")
    content["layout"]["meta"] = {**(meta if isinstance(meta, dict) else {}), "provenance": metadata}
    return json.dumps(content, ensure_ascii=False).encode("utf-8")


def _html(figure: go.Figure, metadata: dict[str, str]) -> bytes:
    """A page that needs nothing but itself: plotly.js is inside."""
    body = figure.to_html(
        full_html=False,
        include_plotlyjs=True,
        include_mathjax=False,
        config={"displaylogo": False, "responsive": True},
    )
    meta = figure.layout.meta if isinstance(figure.layout.meta, dict) else {}
    title = metadata.get("Title") or str(meta.get("title") or "Figure")
    ground = figure.layout.paper_bgcolor or "#ffffff"
    page = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n"
        '<link rel="icon" href="data:,">\n'
        f"{provenance.html_head(metadata)}"
        f"<style>body {{ margin: 0; background: {html.escape(ground)}; }}</style>\n"
        f"</head>\n<body>\n{body}\n</body>\n</html>\n"
    )
    return page.encode("utf-8")
