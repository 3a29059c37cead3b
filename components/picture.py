"""An explanation's figure as a file, with its provenance inside."""

from __future__ import annotations

from backend.catalogue import find
from backend.explanation import Explanation
from backend.settings import settings


def picture(explanation: Explanation, format: str, theme: str = "light") -> bytes:
    """The default figure of an explanation as png, svg, pdf, html or json."""
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
    return render(figure(explanation, theme, title), format, metadata=metadata, timeout_s=limit)
