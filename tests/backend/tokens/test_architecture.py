"""What config.json alone says about whether a model can be served."""

import subprocess
import sys

import pytest

from backend.tokens.architecture import SERVED, unsupported
from tests.tiny import ARCHITECTURES, FURTHER, tokenizer, untouched

_MOE = {
    "num_experts": 4,
    "num_local_experts": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 24,
    "first_k_dense_replace": 1,
}


@pytest.mark.parametrize("architecture", [*ARCHITECTURES, *FURTHER])
def test_every_tested_architecture_is_offered(architecture):
    assert unsupported(untouched(architecture).config.to_dict()) is None


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, "names no model_type"),
        ({"model_type": 3}, "names no model_type"),
        ({"model_type": "t5", "is_encoder_decoder": True}, "encoder-decoder"),
        ({"model_type": "llava", "text_config": {}, "vision_config": {}}, "multimodal"),
        ({"model_type": "llama", "quantization_config": {"quant_method": "gptq"}}, "gptq"),
        ({"model_type": "llama", "quantization_config": {"bits": 4}}, "quantised"),
        ({"model_type": "qwen3_next", "layer_types": ["linear_attention"]}, "no attention"),
        ({"model_type": "gemma3_text", "use_bidirectional_attention": True}, "both directions"),
        ({"model_type": "mamba"}, "state-space"),
        ({"model_type": "rwkv"}, "recurrent"),
        ({"model_type": "deepseek_v3"}, "keys and values"),
        ({"model_type": "bloom"}, "ALiBi"),
        ({"model_type": "gpt_oss"}, "sinks"),
        ({"model_type": "frobnicate"}, "does not know the architecture frobnicate"),
    ],
)
def test_reason_is_one_sentence_that_says_why(config, words):
    reason = unsupported(config)
    assert words in reason
    assert reason.endswith(".")
    assert ". " not in reason


def test_it_is_read_without_torch():
    code = "import sys, backend.tokens.architecture; print('torch' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


def generic(kind):
    """A tiny random model of this type, by the names most configurations share."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    own = {
        "vocab_size": 384,
        "hidden_size": 32,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "intermediate_size": 48,
        "max_position_embeddings": 256,
        "head_dim": 8,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 3,
    }
    grouped = {**own, "num_key_value_heads": 2}
    plain = {k: v for k, v in own.items() if k != "head_dim"}
    attempts = [{**grouped, **_MOE}, {**own, **_MOE}, {**plain, **_MOE}, plain]
    failure = None
    for attempt in attempts:
        try:
            config = AutoConfig.for_model(kind, **attempt)
            torch.manual_seed(0)
            eager = getattr(config, "attn_logit_softcapping", None)
            model = AutoModelForCausalLM.from_config(
                config, attn_implementation="eager" if eager else None
            )
            with torch.no_grad():
                for weight in model.parameters():
                    noise = 0.3 * torch.randn_like(weight)
                    weight.copy_(noise if weight.dim() > 1 else 1.0 + noise)
                model(torch.tensor([[5, 6, 7]]))
        except Exception as error:  # noqa: BLE001 - configurations refuse what they do not know
            failure = error
        else:
            return model
    raise AssertionError(f"no tiny {kind}: {failure}")


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(SERVED))
def test_served_architecture_passes_the_self_check(kind):
    """The adapter compares captured parts, residuals and logits with the model's when built."""
    from backend.tokens.models import DecoderModel

    assert DecoderModel(generic(kind), tokenizer()).layers == 3
