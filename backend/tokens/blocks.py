"""Where in a decoder block the attention sub-layer enters the residual, found by a small run.

Architectures differ in what follows the attention: nothing, a second norm (Gemma 2, OLMo 2), a
constant factor (Granite), an MLP that reads the same input (GPT-NeoX, Cohere). Instead of a table
of names, four tokens are run once and each block's modules are asked what they were given.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from backend.errors import ModelError

ATTENTION = ("self_attn", "attn", "attention", "self_attention", "mixer")
PROJECTION = ("o_proj", "out_proj", "c_proj", "dense", "wo")
FINAL_NORM = ("norm", "ln_f", "final_layer_norm", "final_layernorm", "final_norm")


@dataclasses.dataclass(frozen=True)
class Block:
    """One decoder block and the modules of it that a capture listens to."""

    layer: nn.Module
    attention: nn.Module
    projection: nn.Module
    sandwich: nn.Module | None
    """The norm between attention and residual, where there is one."""
    factor: float
    """Constant the attention's output is multiplied with before it is added."""
    parallel: bool
    """Whether the MLP reads the block's input rather than the residual after attention."""


@contextlib.contextmanager
def hooked(hooks: list[tuple[nn.Module, str, Callable]]) -> Iterator[None]:
    """Hooks on modules while the context lasts; ("before" | "after", hook) each, all removed.

    A hook hears this thread's passes alone: another thread may run the same modules meanwhile.
    """
    handles = []
    try:
        for module, when, hook in hooks:
            own = _of_this_thread(hook)
            if when == "before":
                handles.append(module.register_forward_pre_hook(own, with_kwargs=True))
            else:
                handles.append(module.register_forward_hook(own))
        yield
    finally:
        for handle in handles:
            handle.remove()


def _of_this_thread(hook: Callable) -> Callable:
    thread = threading.get_ident()

    def heard(*args: Any) -> None:
        if threading.get_ident() == thread:
            hook(*args)

    return heard


def first(output: Any) -> Tensor:
    """The tensor of what a module returned or was given, bare or first in a tuple."""
    x: Tensor = output[0] if isinstance(output, tuple) else output
    return x


def given(args: tuple, kwargs: dict[str, Any]) -> Tensor | None:
    """The hidden states a module was called with, or None."""
    x = args[0] if args else kwargs.get("hidden_states")
    return x if isinstance(x, Tensor) else None


def layers(hf: Any) -> list[nn.Module]:
    """The decoder blocks in order.

    Raises:
        ModelError: there is no list of them.
    """
    count = hf.config.get_text_config().num_hidden_layers
    for child in decoder(hf).children():
        if isinstance(child, nn.ModuleList) and len(child) == count:
            return list(child)
    raise ModelError(f"The adapter finds no list of decoder blocks in a {type(hf).__name__}.")


def decoder(hf: Any) -> nn.Module:
    """The module that holds the blocks: the model without its head."""
    base: nn.Module = hf.base_model
    inner = getattr(base, "decoder", None)
    return inner if isinstance(inner, nn.Module) else base


def final_norm(hf: Any) -> nn.Module:
    """The norm between the last block and the unembedding.

    Raises:
        ModelError: there is none the adapter knows.
    """
    return _child(decoder(hf), FINAL_NORM, "norm after the last block")


def embeddings(hf: Any) -> list[nn.Module]:
    """What makes the first residual, of ids and positions: all with weights before the blocks."""
    found = layers(hf)
    rest = [child for child in decoder(hf).children() if not set(child.children()) & set(found)]
    kept = [child for child in rest if child is not final_norm(hf)]
    return [child for child in kept if next(child.parameters(), None) is not None]


def find(hf: Any, ids: Tensor) -> tuple[Block, ...]:
    """The blocks of a model, each told apart by a run of `ids` [1, n].

    Raises:
        ModelError: a block's attention does not enter the residual in a way the adapter knows.
    """
    found = layers(hf)
    seen = [_Seen(layer) for layer in found]
    with torch.no_grad(), hooked([hook for one in seen for hook in one.hooks()]):
        hf.base_model(input_ids=ids, use_cache=False)
    factor = float(getattr(hf.config.get_text_config(), "residual_multiplier", None) or 1.0)
    return tuple(one.block(factor) for one in seen)


class _Seen:
    """What the modules of one block were given and returned in one run."""

    def __init__(self, layer: nn.Module) -> None:
        self.layer = layer
        self.attention = _child(layer, ATTENTION, "attention module")
        self.projection = _child(self.attention, PROJECTION, "output projection")
        self.raw: Tensor | None = None
        self.sandwich: nn.Module | None = None
        self.inputs: dict[nn.Module, Tensor] = {}
        self.outputs: dict[nn.Module, Tensor] = {}

    def hooks(self) -> list[tuple[nn.Module, str, Callable]]:
        modules = [self.layer, *self.layer.children()]
        return [(m, "before", self._before) for m in modules] + [
            (m, "after", self._after) for m in modules
        ]

    def _before(self, module: nn.Module, args: tuple, kwargs: dict[str, Any]) -> None:
        x = given(args, kwargs)
        if x is None:
            return
        if x is self.raw and not isinstance(module, nn.Dropout | nn.Identity):
            self.sandwich = module
        # Copies: some blocks add to the residual in place.
        self.inputs[module] = x.clone()

    def _after(self, module: nn.Module, _args: tuple, output: Any) -> None:
        x = first(output)
        if isinstance(x, Tensor):
            self.outputs[module] = x.clone()
            if module is self.attention:
                self.raw = x

    def block(self, factor: float) -> Block:
        """How attention enters the residual of this block.

        Raises:
            ModelError: neither one after the other nor side by side with the MLP.
        """
        name = type(self.layer).__name__
        if self.attention not in self.outputs or self.layer not in self.inputs:
            raise ModelError(f"The adapter cannot listen to the attention of a {name}.")
        source = self.attention if self.sandwich is None else self.sandwich
        middle = self.inputs[self.layer] + self.outputs[source] * factor
        others = [m for m in self.layer.children() if m is not self.attention]
        sequential = any(_close(self.inputs[m], middle) for m in others if m in self.inputs)
        beside = [self.outputs[m] * factor for m in others if m in self.outputs]
        if not sequential and not any(
            _close(middle + out, self.outputs[self.layer]) for out in beside
        ):
            raise ModelError(
                f"The adapter cannot tell how attention enters the residual of a {name}."
            )
        return Block(
            self.layer, self.attention, self.projection, self.sandwich, factor, not sequential
        )


def _child(module: nn.Module, names: tuple[str, ...], what: str) -> nn.Module:
    for name in names:
        child = getattr(module, name, None)
        if isinstance(child, nn.Module):
            return child
    raise ModelError(f"The adapter finds no {what} in a {type(module).__name__}.")


def _close(a: Tensor, b: Tensor) -> bool:
    if a.shape != b.shape:
        return False
    tolerance = 1e-4 if a.dtype == torch.float32 else 2e-2
    difference = (a.float() - b.float()).abs().max()
    return bool(difference <= tolerance * b.float().abs().max().clamp_min(1e-6))
