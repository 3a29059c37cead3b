"""The self-check of a loaded model: on four tokens, do the captured parts rebuild the model?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from backend.errors import ModelError
from backend.tokens.capture import LayerParts, capture

if TYPE_CHECKING:
    from backend.tokens.models import DecoderModel


def rebuilt(parts: LayerParts) -> Tensor:
    """What the parts say the sub-layer adds to the residual at the queries, [Q, d] float32."""
    heads = torch.einsum("hqn,hne->hqe", parts.attention, parts.values)
    out = torch.einsum("hqe,hed->qd", heads, parts.weight)
    if parts.bias is not None:
        out = out + parts.bias
    return out if parts.gain is None else out * parts.gain[parts.queries]


def verify(model: DecoderModel, ids: Sequence[int]) -> None:
    """Compare the captured parts with what the model computes.

    Raises:
        ModelError: they differ; the text says where.
    """
    tolerance = 1e-4 if model.dtype == torch.float32 else 3e-2
    served = f"The adapter cannot serve {model.architecture}:"

    def check(parts: LayerParts) -> None:
        if not close(rebuilt(parts), parts.attention_output[parts.queries], tolerance):
            raise ModelError(
                f"{served} heads, values and projection of block {parts.index} do not add up to "
                "its attention output."
            )

    try:
        last = capture(model, ids, check)
    except (NotImplementedError, ValueError) as error:
        raise ModelError(f"{served} {error}.") from error
    with torch.no_grad():
        logits = model.hf(input_ids=torch.tensor([ids], device=model.device)).logits[0]
    if not close(model.readout(last), logits, tolerance):
        raise ModelError(f"{served} its last residual does not read out as its logits.")


def close(a: Tensor, b: Tensor, tolerance: float) -> bool:
    """Whether a equals b within `tolerance` of b's largest entry."""
    a, b = a.float(), b.float()
    return bool((a - b).abs().max() <= tolerance * b.abs().max().clamp_min(1e-6))
