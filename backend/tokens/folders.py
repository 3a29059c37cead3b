"""Model folders: how one is loaded, what its tokenizer offers, and how a GGUF file becomes one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

from backend.errors import ModelError


def neutral_id(tokenizer: Any, vocabulary: int) -> int:
    """The token that stands for "nothing here": padding, end, unknown, begin, or a space.

    The first of these that the model has an embedding for; never id 0 only because it is first.

    Raises:
        ModelError: the tokenizer has none of them.
    """
    named = (
        tokenizer.pad_token_id,
        tokenizer.eos_token_id,
        tokenizer.unk_token_id,
        tokenizer.bos_token_id,
    )
    space = tokenizer(" ", add_special_tokens=False)["input_ids"]
    for candidate in (*named, *space[:1]):
        if candidate is not None and 0 <= candidate < vocabulary:
            return int(candidate)
    raise ModelError("The tokenizer has no padding, end, unknown or space token to stand in.")


def implementation(folder: Path) -> str:
    """The attention implementation to load with: sdpa, or eager where scores are soft-capped."""
    config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    capped = getattr(config.get_text_config(), "attn_logit_softcapping", None)
    return "eager" if capped else "sdpa"


def convert(carrier: Path, folder: Path) -> None:
    """Write a GGUF file as config, tokenizer and float16 safetensors.

    `from_pretrained(gguf_file=...)` would do the same but asks for accelerate, and marks the
    model as quantised although its weights are plain by then.

    Args:
        carrier: the .gguf file.
        folder: an empty folder.

    Raises:
        ModelError: the file lacks weights of the architecture it names.
    """
    source: dict[str, Any] = {"gguf_file": carrier.name, "local_files_only": True}
    tokenizer = AutoTokenizer.from_pretrained(carrier.parent, **source)
    config = AutoConfig.from_pretrained(carrier.parent, **source)
    hf = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    read = load_gguf_checkpoint(str(carrier), return_tensors=True, model_to_load=hf)
    missing, unknown = hf.load_state_dict(read["tensors"], strict=False)
    hf.tie_weights()
    lacking = set(missing) - set(getattr(hf, "_tied_weights_keys", None) or ())
    if lacking or unknown:
        raise ModelError(f"{carrier.name} lacks or adds weights: {sorted(lacking or unknown)[:3]}.")
    tokenizer.save_pretrained(folder)
    hf.to(torch.float16).save_pretrained(folder)
