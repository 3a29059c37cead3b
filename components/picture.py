"""An explanation's figure as a file, with its provenance inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from backend.catalogue import find
from backend.explanation import Explanation
from backend.settings import settings

Draw = Callable[[Any, str, str], Any]
"""A figure of an explanation, in a theme and under a title."""


def picture(
    explanation: Explanation, format: str, theme: str = "light", draw: Draw | None = None
) -> bytes:
    """A figure of an explanation as png, svg, pdf, html or json.

    Args:
        draw: which one; without it, the one that shows the explanation as a whole.
    """
    from components.figures import figure
    from components.figures.render import render

    source = explanation.source()
    title = find(source.request).title
    metadata = {
        "Title": title,
        "Software": f"Vitrine {source.versions.get('vitrine', '')}",
        "Key": source.key,
        "Model": source.request.model.label(),
        "Explainer": source.request.explainer,
        "Created": source.created,
    }
    limit = settings().export_timeout_s
    drawn = (draw or figure)(explanation, theme, title)
    return render(drawn, format, metadata=metadata, timeout_s=limit)
