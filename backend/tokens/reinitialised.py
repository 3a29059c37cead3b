"""A decoder model that has forgotten: its weights drawn anew, from the output down.

Adebayo et al., "Sanity Checks for Saliency Maps", NeurIPS 2018. The blocks are drawn in a few
stages of about as many each, with the final norm in the first; the embeddings come last, and with
them the unembedding, which many models share with them. Weights are drawn as the model's own
architecture draws them before training.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch

MOST = 4
"""Stages of blocks."""


def stages(layers: int) -> tuple[str, ...]:
    """Names of what can be drawn anew, one after the other, from the output down."""
    names = []
    for part in blocks(layers):
        first, last = part.start + 1, part.stop  # The page counts layers from 1.
        names.append(f"layer {first}" if first == last else f"layers {first}–{last}")
    return (*names, "embeddings")


def blocks(layers: int) -> tuple[range, ...]:
    """The blocks of each stage but the last, from the output down."""
    count = min(MOST, layers)
    ends = [round(layers * i / count) for i in range(count + 1)]
    return tuple(range(ends[i], ends[i + 1]) for i in reversed(range(count)))


def reinitialise(hf: Any, depth: int, seed: int) -> None:
    """Draw the weights of the first `depth` of `stages` anew, in place.

    A stage has the same new weights at every depth that reaches it.

    Args:
        hf: a transformers decoder model.

    Raises:
        ValueError: there are fewer stages.
    """
    import torch

    from backend.tokens.blocks import embeddings, final_norm
    from backend.tokens.blocks import layers as blocks_of

    layers = blocks_of(hf)
    parts = blocks(len(layers))
    if not 1 <= depth <= len(parts) + 1:
        raise ValueError(f"a model of {len(parts) + 1} stages has no {depth}")
    for number in range(depth):
        if number == len(parts):
            forgotten = [*embeddings(hf), hf.get_output_embeddings()]
        else:
            forgotten = [layers[i] for i in parts[number]]
            forgotten += [final_norm(hf)] if number == 0 else []
        state = int(np.random.default_rng([seed, number]).integers(2**62))
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(state)
            for module in forgotten:
                _draw(hf, module)


def _draw(hf: Any, module: torch.nn.Module) -> None:
    for found in (*module.modules(), *module.parameters(), *module.buffers()):
        # transformers skips what it has loaded; this is to be drawn all the same.
        found.__dict__.pop("_is_hf_initialized", None)
    # As transformers does, the parts of a module before it: some are drawn twice, the last counts.
    for part in reversed(list(module.modules())):
        hf._init_weights(part)
