"""The attention function through which a forward pass is watched and intervened on.

transformers lets a model's attention be a registered function. `vitrine` is sdpa unless the call
it belongs to has an `Intervention`: hidden keys, scaled gradients, or receivers of attention rows
and of the queries, keys and values they are made of. The intervention travels in a `ContextVar`,
so two threads that share a model never see each other's.

A registered function without a registered mask function runs non-causally: both are registered.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from backend.tokens.products import against
from backend.tokens.weighted_rows import normalised

if TYPE_CHECKING:
    from backend.tokens.models import DecoderModel

NAME = "vitrine"
ROWS_PER_BLOCK = 256
"""Query rows computed at once where the softmax is ours and the rows are not kept."""
LRP_SCALES = (0.25, 0.25, 0.5)
"""AttnLRP's share of the gradient for query, key and value (Achtibat et al., 2024)."""


@dataclasses.dataclass(frozen=True)
class Rows:
    """Receives the attention of one pass.

    Args:
        queries: positions whose rows are wanted, [Q]; None means all.
        receive: called once a layer with (attention module, attention [H, Q, N] float32,
            values [H, N, e] float32).
    """

    queries: Tensor | None
    receive: Callable[[nn.Module, Tensor, Tensor], None]


@dataclasses.dataclass(frozen=True, eq=False)
class Heads:
    """What one layer's attention is made of, as `attention` is given it."""

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    scaling: float
    softcap: float | None
    normaliser: Tensor | None = None
    """[B, H, N]: the logarithm of what a row's softmax divides by, where the pass made it."""


@dataclasses.dataclass(frozen=True)
class Intervention:
    """What one forward pass changes or hands out."""

    rows: Rows | None = None
    heads: Callable[[nn.Module, Heads], None] | None = None
    """Called once a layer, before its rows or its output are handed on."""
    masked: Tensor | None = None
    """[B, N] bool: keys no later query may attend to (the key's own query still does)."""
    scales: tuple[float, float, float] | None = None
    """Factors on the gradients of query, key and value; the forward pass is unchanged."""


_CURRENT: ContextVar[Intervention | None] = ContextVar("vitrine_intervention", default=None)


@contextlib.contextmanager
def intervening(model: DecoderModel, intervention: Intervention) -> Iterator[None]:
    """Run the model's attention through `vitrine` with this intervention; restored on any exit.

    Interventions nest: what the inner one leaves None, the outer one decides.
    """
    outer = _CURRENT.get() or Intervention()
    changes = {
        field.name: value
        for field in dataclasses.fields(Intervention)
        if (value := getattr(intervention, field.name)) is not None
    }
    with model.lock:
        before = model.hf.config._attn_implementation
        token = _CURRENT.set(dataclasses.replace(outer, **changes))
        try:
            model.hf.set_attn_implementation(NAME)
            yield
        finally:
            _CURRENT.reset(token)
            model.hf.set_attn_implementation(before)


def lrp_scales(model: DecoderModel) -> contextlib.AbstractContextManager[None]:
    """Scale the gradients of query, key and value as AttnLRP does while the context lasts."""
    return intervening(model, Intervention(scales=LRP_SCALES))


def attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    softcap: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """The registered function.

    Args:
        query: [B, H, Q, e]; position encoding and query/key norms are already applied.
        key, value: [B, K, N, e], K key/value heads.
        attention_mask: [B, 1, Q, N] bool (True: may attend), additive, or None for plain causal.

    Returns:
        [B, Q, H, e] and None.
    """
    for name in ("s_aux", "position_bias"):
        if kwargs.get(name) is not None:
            raise NotImplementedError(f"attention with {name}")
    now = _CURRENT.get() or Intervention()
    if now.scales is not None:
        query, key, value = (
            scale_gradient(x, s) for x, s in zip((query, key, value), now.scales, strict=True)
        )
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    done = None
    if now.heads is not None:
        if attention_mask is None and softcap is None and dropout == 0.0:
            done = normalised(query, key, value, scaling)
        normaliser = None if done is None else done[1]
        heads = Heads(query, key, value, attention_mask, scaling, softcap, normaliser)
        now.heads(module, heads)
    if now.rows is not None and now.rows.queries is None:
        A = probabilities(query, key, attention_mask, scaling, softcap)
        now.rows.receive(module, A[0], _repeat(value, query.shape[1])[0].float())
        return _apply(A, value).transpose(1, 2).contiguous(), None
    if now.rows is not None:
        picked = now.rows.queries
        A = probabilities(query[:, :, picked], key, attention_mask, scaling, softcap, picked)
        now.rows.receive(module, A[0], _repeat(value, query.shape[1])[0].float())
    if done is not None:
        return done[0], None
    if softcap is None:
        out: Tensor = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **kwargs
        )[0]
        return out, None
    return _in_blocks(query, key, value, attention_mask, scaling, softcap), None


def mask(*args: Any, allow_is_causal_skip: bool = True, **kwargs: Any) -> Tensor | None:
    """The registered mask function: sdpa's boolean mask, less the hidden keys."""
    now = _CURRENT.get() or Intervention()
    if now.masked is not None:
        allow_is_causal_skip = False
    allowed: Tensor | None = sdpa_mask(*args, allow_is_causal_skip=allow_is_causal_skip, **kwargs)
    if allowed is None or now.masked is None:
        return allowed
    own = torch.eye(allowed.shape[-1], dtype=torch.bool, device=allowed.device)
    return allowed & (~now.masked[:, None, None, :].to(allowed.device) | own)


def probabilities(
    query: Tensor,
    key: Tensor,
    mask: Tensor | None,
    scaling: float,
    softcap: float | None,
    positions: Tensor | None = None,
) -> Tensor:
    """Attention after softmax, [B, H, Q, N] float32.

    Args:
        positions: [Q] positions of the queries; None means 0 .. Q-1.
    """
    B, H, Q, e = query.shape
    K, N = key.shape[1], key.shape[2]
    # The query heads of one key/value head are rows of one product: keys are never repeated.
    grouped = (query * scaling).reshape(B, K, (H // K) * Q, e)
    scores = against(grouped.flatten(0, 1), key.flatten(0, 1)).reshape(B, H, Q, N).float()
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    if mask is None:
        at = torch.arange(Q, device=query.device) if positions is None else positions
        # Columns up to the first query are seen by all; asking a GPU for it would make it wait.
        seen = int(at.min()) + 1 if at.device.type == "cpu" and len(at) else 0
        later = torch.arange(seen, N, device=query.device) > at[:, None]
        # Adding is several times faster than filling where a mask says so.
        scores[..., seen:] += torch.zeros(later.shape, device=later.device).masked_fill_(
            later, -torch.inf
        )
    else:
        rows = mask[..., :N] if positions is None else mask[:, :, positions, :N]
        forbidden = ~rows if rows.dtype == torch.bool else None
        scores = scores + rows if forbidden is None else scores.masked_fill_(forbidden, -torch.inf)
    return torch.softmax(scores, dim=-1)


class _Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0] * ctx.factor, None


def scale_gradient(x: Tensor, factor: float) -> Tensor:
    """x, whose gradient is multiplied by `factor`."""
    return _Scale.apply(x, factor)  # type: ignore[no-any-return, no-untyped-call]


def _in_blocks(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    scaling: float,
    softcap: float,
) -> Tensor:
    """Attention output [B, Q, H, e] where sdpa cannot serve; never holds all rows at once."""
    if mask is None and query.shape[2] == 1:  # one new token on a cache sees every key
        mask = torch.ones(1, 1, 1, key.shape[2], dtype=torch.bool, device=key.device)
    blocks = []
    positions = torch.arange(query.shape[2], device=query.device)
    for at in torch.split(positions, ROWS_PER_BLOCK):
        A = probabilities(query[:, :, at], key, mask, scaling, softcap, at)
        blocks.append(_apply(A, value))
    return torch.cat(blocks, dim=2).transpose(1, 2).contiguous()


def _apply(A: Tensor, value: Tensor) -> Tensor:
    """A [B, H, Q, N] times value [B, K, N, e]: [B, H, Q, e], in the value's precision."""
    B, H, Q, N = A.shape
    K = value.shape[1]
    out = A.to(value.dtype).reshape(B, K, (H // K) * Q, N) @ value
    return out.reshape(B, H, Q, value.shape[-1])


def _repeat(x: Tensor, heads: int) -> Tensor:
    """x [B, K, N, e] for every query head: head h reads key/value head h // (H / K)."""
    return x.repeat_interleave(heads // x.shape[1], dim=1) if heads != x.shape[1] else x


AttentionInterface.register(NAME, attention)
AttentionMaskInterface.register(NAME, mask)
