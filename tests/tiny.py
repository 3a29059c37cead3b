"""Tiny decoder models of every served architecture, with seeded random weights and a tokenizer.

Weights, biases and norm gains are all random, so that a part left out of a sum shows.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

CORPUS = (
    "The capital of France is Paris. The capital of Italy is Rome. The code for the vault is 7481.",
    "Anna gave Ben the book because he asked. What is two plus three? It is five, I think so.",
    "You are a helpful assistant. The river runs by the old mill and the wind is cold today.",
)
CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
SPECIALS = ("<|pad|>", "<s>", "<|im_start|>", "<|im_end|>", "<|unk|>")
_NAMED = {"pad_token": 0, "bos_token": 1, "eos_token": 3, "unk_token": 4}
VOCABULARY = 384
_COMMON: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 1024,
    "bos_token_id": 1,
    "eos_token_id": 3,
    "pad_token_id": 0,
}
_SINGLE = {k: v for k, v in _COMMON.items() if k != "num_key_value_heads"}
_OWN: dict[str, dict[str, Any]] = {
    "llama": _COMMON,
    "qwen2": _COMMON,
    "qwen3": {**_COMMON, "head_dim": 16},
    "gemma2": {
        **_COMMON,
        "head_dim": 16,
        "query_pre_attn_scalar": 16,
        "sliding_window": 6,
        "attn_logit_softcapping": 2.0,
        "final_logit_softcapping": 3.0,
    },
    "mistral": {**_COMMON, "head_dim": 8, "sliding_window": 6},
    "phi3": {**_COMMON, "sliding_window": None},
    "gpt2": {
        "vocab_size": VOCABULARY,
        "n_embd": 32,
        "n_layer": 3,
        "n_head": 4,
        "n_positions": 1024,
        "bos_token_id": 1,
        "eos_token_id": 3,
    },
    "gpt_neox": {**_SINGLE, "use_parallel_residual": True},
}
ARCHITECTURES = tuple(_OWN)
FURTHER: dict[str, dict[str, Any]] = {
    "olmo2": _COMMON,
    "granite": {**_COMMON, "residual_multiplier": 0.3, "logits_scaling": 4.0},
    "cohere": {**_COMMON, "logit_scale": 0.25},
    "gemma3_text": {**_COMMON, "head_dim": 16, "sliding_window": 6, "query_pre_attn_scalar": 16},
    "stablelm": _COMMON,
    "starcoder2": _COMMON,
    "smollm3": _COMMON,
    "glm4": {**_COMMON, "head_dim": 8},
    "mixtral": {**_COMMON, "num_local_experts": 4},
}
"""Architectures the general structure serves beside the eight."""


@cache
def tokenizer(bos: bool = False, chat: bool = True) -> Any:
    """A byte-level BPE trained on `CORPUS`; with `bos` it puts <s> in front as Llama's does."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIALS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator(CORPUS * 3, trainer)
    if bos:
        inner.post_processor = processors.TemplateProcessing(
            single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 1)]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        **{name: SPECIALS[i] for name, i in _NAMED.items()},
        extra_special_tokens=["<|im_start|>"],
        chat_template=(("{{ bos_token }}" if bos else "") + CHATML) if chat else None,
        clean_up_tokenization_spaces=False,
    )


def untouched(architecture: str, seed: int = 0, **changes: Any) -> Any:
    """The transformers model alone, float32, in evaluation mode, with random weights."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    own = {**_OWN, **FURTHER}[architecture]
    config = AutoConfig.for_model(architecture, **{**own, **changes})
    eager = bool(getattr(config, "attn_logit_softcapping", None))
    model = AutoModelForCausalLM.from_config(
        config, attn_implementation="eager" if eager else "sdpa"
    )
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=generator)
            if weight.dim() > 1:
                weight.copy_(noise * (0.5 if "embed" in name else weight.shape[-1] ** -0.5))
            elif name.endswith("bias"):
                weight.copy_(0.3 * noise)
            else:
                weight.copy_(weight + 0.3 * noise)
    return model.eval()


def tiny(
    architecture: str = "llama",
    seed: int = 0,
    *,
    bos: bool = False,
    chat: bool = True,
    **changes: Any,
) -> Any:
    """An adapter around a tiny model; `changes` go into its config."""
    from backend.tokens.models import DecoderModel

    return DecoderModel(untouched(architecture, seed, **changes), tokenizer(bos, chat))


def write(
    folder: Path, architecture: str = "llama", seed: int = 0, *, bos: bool = False, **changes: Any
) -> Path:
    """Write a tiny model as a folder of config, safetensors and tokenizer; returns the folder."""
    untouched(architecture, seed, **changes).save_pretrained(folder)
    tokenizer(bos).save_pretrained(folder)
    return folder
