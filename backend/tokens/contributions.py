"""How much each head and key token adds along a reference direction, in one attention layer.

Head h carries the vector A[h,i,j] f_{j,h} from key j to query i, with f_{j,h} = V[j,h] W_O[h]. Its
contribution is its dot product with the unit reference r_i: c[h,i,j] = A[h,i,j] <f_{j,h}, r_i>.

The vectors f are never built: the direction is pulled back through the output projection once,
U[h,i] = W_O[h] r_i, and c[h] = A[h] ⊙ (U[h] V[h]ᵀ) costs what attention scores cost. A norm between
the attention output and the residual (Gemma 2, OLMo 2) multiplies each query's vectors by a known
factor, which moves into r_i.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from backend.tokens.products import against

if TYPE_CHECKING:
    from backend.tokens.capture import LayerParts

Against = Literal["layer_output", "head_output", "residual", "block_output"]
Normalisation = Literal["output_norm", "none", "absolute"]

SMALLEST_NORM = 1e-8
BLOCK = 128


@dataclasses.dataclass(frozen=True, eq=False)
class Direction:
    """A reference of Q queries, ready to be multiplied with value vectors.

    `pulled` [H, Q, e]: the unit reference through the output projection, divided by `norm` where
    contributions are shares. `norm`: [Q], or [H, Q] where each head has its own reference.
    `others`: what sources beside the keys contribute, name -> [Q].
    """

    pulled: Tensor
    norm: Tensor
    others: dict[str, Tensor]


def direction(parts: LayerParts, against: Against, normalisation: Normalisation) -> Direction:
    """The reference direction of each query row of `parts`.

    Args:
        against: `layer_output`, the attention output o_i; `head_output`, each head's own part of
            it; `residual`, x_i + o_i; `block_output`, the residual after the whole block.
    """
    rows = parts.queries
    gain = None if parts.gain is None else parts.gain[rows].float()
    if against == "head_output":
        return _of_heads(parts, gain, normalisation)
    vector = _vector(parts, against)
    norm = vector.norm(dim=-1)
    unit = vector / _scale(norm, normalisation)[:, None]
    others = _others(parts, against, unit, gain)
    pulled = (unit if gain is None else unit * gain) @ parts.weight.flatten(0, 1).mT
    heads, width, _ = parts.weight.shape
    return Direction(pulled.view(-1, heads, width).transpose(0, 1), norm, others)


def _vector(parts: LayerParts, against: Against) -> Tensor:
    source = {
        "layer_output": parts.attention_output,
        "residual": parts.middle,
        "block_output": parts.after,
    }[against]
    return source[parts.queries].float()


def _of_heads(parts: LayerParts, gain: Tensor | None, normalisation: Normalisation) -> Direction:
    output = parts.attention @ parts.values @ parts.weight
    if gain is not None:
        output = output * gain
    norm = output.norm(dim=-1)
    unit = output / _scale(norm, normalisation)[..., None]
    pulled = (unit if gain is None else unit * gain) @ parts.weight.mT
    # A head without output has no direction; it must not take the other heads' rows with it.
    return Direction(pulled.nan_to_num(), norm, {})


def _scale(norm: Tensor, normalisation: Normalisation) -> Tensor:
    """What a reference is divided by; NaN where it is too short to have a direction."""
    known = torch.where(norm < SMALLEST_NORM, torch.nan, norm)
    return known * known if normalisation == "output_norm" else known


def _others(
    parts: LayerParts, against: Against, unit: Tensor, gain: Tensor | None
) -> dict[str, Tensor]:
    rows = parts.queries
    others: dict[str, Tensor] = {}
    if parts.bias is not None:
        bias = parts.bias.float()
        others["bias"] = ((bias if gain is None else bias * gain) * unit).sum(-1)
    if against in ("residual", "block_output"):
        others["residual"] = (parts.before[rows].float() * unit).sum(-1)
    if against == "block_output":
        block = parts.after[rows].float() - parts.middle[rows].float()
        others["feed_forward"] = (block * unit).sum(-1)
    return others


def causal_blocks(queries: Tensor, size: int = BLOCK) -> Iterator[tuple[int, int, int]]:
    """(first row, row after the last, keys they can see) of slices of ascending query rows."""
    positions = queries.tolist()
    for start in range(0, len(positions), size):
        stop = min(start + size, len(positions))
        yield start, stop, positions[stop - 1] + 1


def contributions(
    parts: LayerParts,
    reference: Direction,
    *,
    absolute: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Contributions of the keys to the queries of `parts`, all heads together.

    Args:
        absolute: divide by the sum of absolute contributions, over heads and keys (over keys where
            each head has its own reference), sources beside the keys included;
            `reference.others` is divided too.
        out: [H, Q, N] zeros; takes each head's contributions, NaN where its reference is too short.

    Returns:
        [Q, N] float32: the sum over heads, or the mean over heads where each has its own
        reference. A row whose reference is too short is NaN.
    """
    _, count, length = parts.attention.shape
    total = parts.attention.new_zeros(count, length)
    per_head = reference.norm.dim() == 2
    for start, stop, keys in causal_blocks(parts.queries):
        weights = parts.attention[:, start:stop, :keys]
        block = against(reference.pulled[:, start:stop], parts.values[:, :keys])
        block = torch.mul(block, weights, out=block if out is None else out[:, start:stop, :keys])
        if absolute:
            sizes = _sizes(block, reference, slice(start, stop))
            block.div_(sizes[..., None])
        torch.sum(block, dim=0, out=total[start:stop, :keys])
    short = reference.norm < SMALLEST_NORM
    if per_head:
        total /= (~short).sum(dim=0)[:, None]
    if short.any():
        total[short.all(dim=0) if per_head else short] = torch.nan
        if out is not None:
            out[short if per_head else short.expand(out.shape[:2])] = torch.nan
    return total


def _sizes(block: Tensor, reference: Direction, rows: slice) -> Tensor:
    """Sums of absolute contributions, [q] or [H, q]; divides the other sources by them."""
    sizes = block.abs().sum(dim=-1)
    if reference.norm.dim() == 2:
        return torch.where(sizes == 0, 1.0, sizes)
    sizes = sizes.sum(dim=0)
    for value in reference.others.values():
        sizes = sizes + value[rows].abs()
    for value in reference.others.values():
        value[rows] /= sizes
    return sizes


def mixing(parts: LayerParts) -> Tensor:
    """What each token's residual stream after attention takes from every token, [N, N] float32.

    The positive parts of the contributions to x_i + o_i, with x_i's own on the diagonal; needs
    every query row. Rows are not normalised.
    """
    reference = direction(parts, "residual", "output_norm")
    matrix = contributions(parts, reference).clamp_(min=0)
    matrix.diagonal().add_(reference.others["residual"].clamp(min=0))
    return matrix


def at_rows(parts: LayerParts, positions: Sequence[int]) -> LayerParts:
    """The same layer with fewer query rows.

    Args:
        positions: query positions, all among `parts.queries`.
    """
    known = {position: row for row, position in enumerate(parts.queries.tolist())}
    rows = torch.tensor([known[p] for p in positions], device=parts.queries.device)
    return dataclasses.replace(
        parts, attention=parts.attention[:, rows], queries=parts.queries[rows]
    )
