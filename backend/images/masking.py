"""What a model makes of one piece of a picture by itself: its embedding at the map layer.

Ways to keep the rest out:

- "layer" (convolutional networks; Balasubramanian & Feizi, ICCV 2023): the mask goes through the
  network with the activations. Before a convolution everything outside is dropped and a border as
  wide as the filter sees is filled with the mean of what is known beside it; after it, everything
  outside is dropped again. Nothing outside reaches the embedding.
- "tokens" (transformers): patches outside are not handed on to the blocks. Outside pixels of
  patches on the border have the mean colour of the piece.
- "grey", "mean", "blur": the rest is painted over. "crop": the piece's surroundings are cut away
  and it fills the picture.

Imports torch: only workers import this module.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from backend.images.layers import Maps
from backend.images.models import Classifier, blurred

Masking = Literal["layer", "tokens", "grey", "mean", "blur", "crop"]
EXACT: tuple[Masking, ...] = ("layer", "tokens")
"""Ways that let nothing of the rest through."""
PAINTED: tuple[Masking, ...] = ("grey", "mean", "blur", "crop")
CLOSE = 1e-5
"""Largest change of an embedding that counts as none, in units of its largest number."""
AROUND = 1e-2
"""Largest change of an embedding, in the same units, when there is more around the piece. Where
layers do not halve sizes evenly a border moves a little; that is below."""
HALF = 0.5
"""Share of a patch that has to be in the piece."""


def embeddings(model: Classifier, x: Tensor, masks: Tensor, how: Masking) -> Tensor:
    """[B, C] float32: the mean map-layer features over each piece.

    Args:
        x: [B, 3, h, w], normalised pictures. masks: [B, h, w] bool, a piece of each.
    """
    weights = masks[:, None].to(x)
    with torch.no_grad():
        if how == "tokens":
            each = zip(torch.split(x, 1), torch.split(weights, 1), strict=True)
            return torch.cat([_tokens(model, one, mask) for one, mask in each])
        if how == "layer":
            with _masked(model, weights), model.features() as found:
                model.logits(x * weights)
            maps = model.maps.spatial(found[-1])
            return _mean(maps, functional.adaptive_max_pool2d(weights, _size(maps)))
        with model.features() as found:
            model.logits(painted(x, weights, how))
        maps = model.maps.spatial(found[-1])
        where = torch.ones_like(weights) if how == "crop" else weights
        return _mean(maps, functional.adaptive_avg_pool2d(where, _size(maps)))


def painted(x: Tensor, weights: Tensor, how: Masking) -> Tensor:
    """[B, 3, h, w]: only the pieces are seen.

    Args:
        weights: [B, 1, h, w], 1 in the piece and 0 elsewhere.
    """
    if how == "grey":
        return x * weights
    if how == "mean":
        return x * weights + x.mean(dim=(2, 3), keepdim=True) * (1 - weights)
    if how == "blur":
        return x * weights + blurred(x) * (1 - weights)
    found = [_cropped(one, mask) for one, mask in zip(x, weights[:, 0], strict=True)]
    return torch.stack(found)


def _cropped(x: Tensor, mask: Tensor) -> Tensor:
    """The piece on its own mean colour, enlarged to the picture, its shape kept."""
    rows, columns = torch.nonzero(mask.any(dim=1))[:, 0], torch.nonzero(mask.any(dim=0))[:, 0]
    top, bottom = int(rows[0]), int(rows[-1]) + 1
    left, right = int(columns[0]), int(columns[-1]) + 1
    part, inside = x[:, top:bottom, left:right], mask[top:bottom, left:right]
    colour = _colour(x[None], mask[None, None])[0]
    part = part * inside + colour * (1 - inside)
    tall, wide = part.shape[-2:]
    side = max(tall, wide)
    square = colour.expand(3, side, side).clone()
    up, over = (side - tall) // 2, (side - wide) // 2
    square[:, up : up + tall, over : over + wide] = part
    return functional.interpolate(
        square[None], size=x.shape[-2:], mode="bilinear", align_corners=False
    )[0]


def _colour(x: Tensor, weights: Tensor) -> Tensor:
    """[B, 3, 1, 1]: mean colour of the pieces."""
    return (x * weights).sum(dim=(2, 3), keepdim=True) / weights.sum(
        dim=(2, 3), keepdim=True
    ).clamp_min(1)


def _size(tensor: Tensor) -> tuple[int, int]:
    return tensor.shape[-2], tensor.shape[-1]


def _mean(maps: Tensor, weights: Tensor) -> Tensor:
    """[B, C] means of maps [B, C, gh, gw] by weights [B, 1, gh, gw]."""
    return (maps * weights).sum(dim=(2, 3)) / weights.sum(dim=(2, 3)).clamp_min(1e-12)


@contextlib.contextmanager
def _masked(model: Classifier, weights: Tensor) -> Iterator[None]:
    """While the context lasts, activations outside the pieces are zero, and convolutions see a
    filled border."""
    pyramid: dict[tuple[int, int], Tensor] = {}

    def at(tensor: Tensor) -> Tensor:
        size = _size(tensor)
        if size not in pyramid:
            pyramid[size] = functional.adaptive_max_pool2d(weights, size)
        return pyramid[size]

    def before(layer: Any, args: tuple[Any, ...]) -> Any:
        (x, *rest) = args
        mask = at(x)
        return filled(x * mask, mask, max(layer.kernel_size) // 2), *rest

    def after(_layer: Any, _args: Any, output: Any) -> Any:
        small = not isinstance(output, Tensor) or output.dim() != 4 or min(output.shape[-2:]) < 2
        return output if small else output * at(output)

    def pooled(_layer: Any, args: tuple[Any, ...], output: Tensor) -> Any:
        share = functional.adaptive_avg_pool2d(at(args[0]), _size(output))
        return output / share.clamp_min(1e-12)

    handles: list[Any] = []
    try:
        for layer in model.module.modules():
            if isinstance(layer, nn.Conv2d):
                handles.append(layer.register_forward_pre_hook(before))
            if isinstance(layer, nn.AdaptiveAvgPool2d):
                handles.append(layer.register_forward_hook(pooled))
            elif next(layer.children(), None) is None:
                handles.append(layer.register_forward_hook(after))
        yield
    finally:
        for handle in handles:
            handle.remove()


def filled(x: Tensor, mask: Tensor, rounds: int) -> Tensor:
    """[B, C, h, w]: unknown places beside known ones get the mean of their known neighbours.

    Args:
        x: 0 where the mask [B, 1, h, w] is 0. rounds: how many places far.
    """
    known = mask
    for _ in range(rounds):
        count = functional.avg_pool2d(known, 3, 1, 1, count_include_pad=False)
        if bool((known == 1).all()):
            break
        near = functional.avg_pool2d(x, 3, 1, 1, count_include_pad=False) / count.clamp_min(1e-12)
        reached = (count > 0).to(x)
        x = x * known + near * reached * (1 - known)
        known = reached
    return x


def _tokens(model: Classifier, x: Tensor, weights: Tensor) -> Tensor:
    """[1, C]: mean of the piece's patch tokens, which saw each other and the class token alone."""
    at = model.maps
    if at.prefix is None:
        raise ValueError("the map layer gives no tokens")
    prefix = at.prefix
    share = functional.adaptive_avg_pool2d(weights, at.grid).flatten()
    kept = torch.nonzero(share >= HALF)[:, 0]
    if len(kept) == 0:
        kept = share.argmax()[None]
    keep = torch.cat([torch.arange(prefix, device=kept.device), prefix + kept])

    def drop(_block: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if args:
            return (args[0][:, keep], *args[1:]), named
        return args, {**named, "hidden_states": named["hidden_states"][:, keep]}

    handle = first_block(model.module, at).register_forward_pre_hook(drop, with_kwargs=True)
    try:
        with model.features() as found:
            model.logits(x * weights + _colour(x, weights) * (1 - weights))
    finally:
        handle.remove()
    return found[-1][:, prefix:].float().mean(dim=1)


def first_block(module: nn.Module, maps: Maps) -> nn.Module:
    """The first of the stack of blocks that the map layer is one of.

    Raises:
        ValueError: it is in none.
    """
    for part in module.modules():
        if isinstance(part, nn.ModuleList) and any(layer is maps.module for layer in part):
            return part[0]
    raise ValueError("the map layer is no block of a stack")


def offered(model: Classifier) -> tuple[tuple[Masking, ...], str]:
    """The ways that work for a model, the exact one first, and why there is none that is exact.

    What is exact is tried: a piece's embedding must not change with everything outside it, nor with
    how much there is, and that of the whole picture must be the plain one.
    """
    how: Masking = "layer" if model.maps.prefix is None else "tokens"
    reason = _inexact(model, how)
    return ((how, *PAINTED), "") if not reason else (PAINTED, reason)


def _inexact(model: Classifier, how: Masking) -> str:
    tall, wide = model.shape
    generator = torch.Generator().manual_seed(0)
    one, other = torch.randn(2, 1, 3, tall, wide, generator=generator).to(model.device)
    piece = torch.zeros(1, tall, wide, dtype=torch.bool, device=model.device)
    piece[:, tall // 4 : tall // 2 + 3, wide // 3 : wide // 2 + 5] = True
    every = torch.ones_like(piece)
    try:
        inside = embeddings(model, one, piece, how)
        outside = embeddings(model, torch.where(piece[:, None], one, other), piece, how)
        whole = embeddings(model, one, every, how)
    except (RuntimeError, ValueError, IndexError, KeyError, TypeError) as error:
        return f"the network does not run with a part left out ({type(error).__name__})"
    with model.features() as found, torch.no_grad():
        model.logits(one)
    plain = model.maps.spatial(found[-1]).mean(dim=(2, 3))
    if not torch.isfinite(inside).all() or _apart(inside, outside) > CLOSE:
        return "pixels outside reach the embedding by a layer that looks at the whole picture"
    if _apart(whole, plain) > 100 * CLOSE:
        return "the whole picture by itself is not what the network sees of it"
    if how == "layer" and _around(model, one) > AROUND:
        return "how much lies outside reaches the embedding by a layer of the whole picture"
    return ""


def _around(model: Classifier, x: Tensor) -> float:
    """How much a piece's embedding changes when the picture x [1, 3, h, w] is widened.

    0 of a network that takes pictures of one size only.
    """
    tall, wide = model.shape
    up, left = tall // 8, wide // 8
    piece = torch.zeros_like(x[:, 0], dtype=torch.bool)
    piece[:, up : tall - up, left : wide - left] = True
    found = []
    for more in (1, 2):
        pad = (0, more * wide)
        try:
            wider = functional.pad(x, pad), functional.pad(piece, pad)
            found.append(embeddings(model, *wider, "layer"))
        except (RuntimeError, ValueError):
            return 0.0
    return _apart(found[0], found[1])


def _apart(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max() / other.abs().max().clamp_min(1e-12))


Pieces = Sequence[tuple[int, np.ndarray]]
"""Number of the picture and mask [h, w] of each piece."""


def embedded(
    model: Classifier, x: Tensor, pieces: Pieces, how: Masking, run: Any, what: str
) -> np.ndarray:
    """[n, C] float32: the embedding of each piece.

    Args:
        x: [P, 3, h, w]: the pictures. run: `backend.explainer.Run`.
    """

    def work(part: Any) -> list[np.ndarray]:
        which = torch.tensor([number for number, _ in part], device=x.device)
        masks = torch.from_numpy(np.stack([mask for _, mask in part])).to(x.device)
        run.count(forward=len(part))
        return list(embeddings(model, x[which], masks, how).cpu().numpy())

    size = max(1, model.at_once // 4) if how == "layer" else model.at_once
    found = run.batches(pieces, size, work, what)  # Larger ones do not fit into a CPU's cache.
    return np.stack(found) if found else np.zeros((0, 0), dtype=np.float32)
