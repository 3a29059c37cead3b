"""Which decoder architectures the adapter serves, told from config.json alone."""

from __future__ import annotations

from typing import Any


def unsupported(config: dict[str, Any]) -> str | None:
    """Why a model with this config.json cannot be explained, or None."""
    if config.get("is_encoder_decoder"):
        return "This is an encoder-decoder model; the Tokens page explains decoder-only models."
    return None
