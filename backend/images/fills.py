"""What stands where nothing shall be seen, as a parameter that explainers share."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

Fill = Literal["black", "grey", "mean", "blur"]
ABOUT = (
    "`black`; `grey`: the middle of the model's own scale, 0 after normalisation; `mean`: the "
    "picture's mean colour; `blur`: the picture out of focus."
)


def fill_field(default: Fill, title: str) -> Any:
    """The parameter.

    Args:
        title: what the fill is for.
    """
    return Field(default, title=title, description=ABOUT)
