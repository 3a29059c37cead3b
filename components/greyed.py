"""Tables in which what says nothing stands back."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd

from components.figures.palette import theme
from components.session import theme_name


def greyed(
    lines: Sequence[Mapping[str, Any]],
    *,
    columns: Collection[str] = (),
    rows: Collection[int] = (),
    formats: Mapping[str, str] | None = None,
) -> Any:
    """The lines for `st.dataframe`, some of their columns or rows in the muted colour.

    Args:
        columns: names. rows: places.
        formats: of the numbers in a column, e.g. "{:.3f}": a styled table has its own.
    """
    if not columns and not rows:
        return lines
    muted = f"color: {theme(theme_name()).muted}"
    found = pd.DataFrame([dict(line) for line in lines])

    def style(cells: pd.Series) -> list[str]:
        whole = cells.name in columns
        return [muted if whole or place in rows else "" for place in range(len(cells))]

    return found.style.apply(style, axis=0).format(dict(formats or {}), na_rep="None")
