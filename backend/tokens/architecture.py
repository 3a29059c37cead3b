"""Which decoder architectures the adapter serves, told from config.json alone."""

from __future__ import annotations

from typing import Any

_TYPES = (
    "apertus arcee aria_text cohere cohere2 cohere2_moe cwm deepseek_v2 ernie4_5 ernie4_5_moe "
    "exaone exaone4 exaone_moe flex_olmo gemma gemma2 gemma3_text glm glm4 glm4_moe "
    "glm4_moe_lite gpt-sw3 gpt2 gpt_bigcode gpt_neox granite granitemoe granitemoeshared helium "
    "hunyuan_v1_dense hunyuan_v1_moe hyperclovax internlm3 jais2 llama minimax_m2 ministral "
    "ministral3 mistral mixtral nanochat nemotron olmo olmo2 olmo3 olmoe persimmon phi phi3 "
    "phimoe qwen2 qwen2_moe qwen3 qwen3_moe seed_oss smollm3 solar_open stablelm starcoder2 "
    "vaultgemma"
)
SERVED = frozenset(_TYPES.split())
"""Model types whose captured parts rebuild the model; each is tested on a tiny configuration."""

_RECURRENT = frozenset({"linear_attention", "mamba", "recurrent", "conv", "hybrid"})
_REASONS = {
    "rwkv": "is recurrent and has no attention to read",
    "mamba": "is a state-space model and has no attention to read",
    "mamba2": "is a state-space model and has no attention to read",
    "falcon_mamba": "is a state-space model and has no attention to read",
    "recurrent_gemma": "mixes attention with recurrent layers",
    "jamba": "mixes attention with state-space layers",
    "bloom": "adds ALiBi biases to attention, which the adapter does not read",
    "mpt": "adds ALiBi biases to attention, which the adapter does not read",
    "falcon": "computes attention outside the interface the adapter listens to",
    "gptj": "computes attention outside the interface the adapter listens to",
    "gpt_neo": "computes attention outside the interface the adapter listens to",
    "gpt_oss": "lets attention rest on learned sinks that are no tokens",
    "deepseek_v3": "compresses keys and values in a way the adapter does not read",
    "bert": "reads in both directions and writes no continuation",
    "roberta": "reads in both directions and writes no continuation",
}


def unsupported(config: dict[str, Any]) -> str | None:
    """Why a model with this config.json cannot be explained, one sentence, or None."""
    kind = config.get("model_type")
    if not isinstance(kind, str) or not kind:
        return "The config.json names no model_type, so the architecture is not known."
    if config.get("is_encoder_decoder"):
        return "This is an encoder-decoder model; the Tokens page explains decoder-only models."
    if "text_config" in config or "vision_config" in config:
        return f"This is a multimodal model ({kind}); the Tokens page explains text-only models."
    if config.get("quantization_config"):
        method = dict(config["quantization_config"]).get("quant_method", "some method")
        return (
            f"The weights are quantised ({method}), and gradients and projections need plain "
            "ones; choose the unquantised model."
        )
    if _RECURRENT.intersection(config.get("layer_types") or ()):
        return f"Some layers of this model ({kind}) have no attention to read."
    if config.get("use_bidirectional_attention") is True or config.get("is_causal") is False:
        return "This model reads in both directions and writes no continuation."
    if kind in _REASONS:
        return f"The architecture {kind} {_REASONS[kind]}."
    if kind not in SERVED:
        return f"The adapter does not know the architecture {kind}; it serves Llama, Qwen, " + (
            "Gemma, Mistral, Phi, OLMo, GPT-2, GPT-NeoX and their kin."
        )
    return None
