"""AttnLRP: relevance handed back layer by layer, by rules made for attention.

Achtibat et al., "AttnLRP: Attention-Aware Layer-Wise Relevance Propagation for Transformers",
ICML 2024. With the rules of `backend.tokens.lrp` in force, one backward pass of
f = Σ log p(explained token) gives relevance(j) = Σ_d ∂f/∂e_jd · e_jd.

Biases, the softmax and soft caps keep relevance for themselves, so the tokens' relevance is not
all that was put on the logits; the ratio is reported.
"""

from __future__ import annotations

from typing import Any

from backend.bundle import Bundle
from backend.errors import ModelError
from backend.explainer import Explainer, Reference, Run
from backend.tokens.explanation import TokenExplanation
from backend.tokens.objective import Objective, gradients_unsupported

_TYPES = (
    "cohere gemma2 gemma3_text glm4 gpt2 gpt_neox granite llama mistral olmo2 phi3 qwen2 qwen3 "
    "smollm3 stablelm starcoder2"
)
SERVED = frozenset(_TYPES.split())
"""Model types whose norms and MLPs the rules are tested on."""


class AttnLRP(Explainer):
    """Attention-aware layer-wise relevance propagation.

    Values:
        value: f (nats).
        at_logits: the relevance put on the logits z of the explained tokens,
            Σ (z_t - Σ_v p_v z_v), which is f plus the entropies of the predictions.
        relevance: what arrives at the embeddings of all tokens.
        conservation: relevance / at_logits; None where at_logits is 0.
        on_answer: the part of `relevance` on the explained tokens themselves, which no score
            shows.
    """

    id = "attn_lrp"
    title = "AttnLRP"
    family = "tokens"
    reference = Reference(
        authors="Achtibat et al.",
        title="AttnLRP: Attention-Aware Layer-Wise Relevance Propagation for Transformers",
        year=2024,
        link="https://arxiv.org/abs/2402.05602",
    )
    how_to_read = (
        "How much of the answer's score is handed back to each token, layer by layer. Positive: "
        "the token speaks for the answer rather than for other words. Negative: against it. The "
        "scores do not sum to the log-probability: biases and the softmax keep a part, and "
        "`conservation` says how much arrived."
    )

    def supports(self, config: dict[str, Any], input: Bundle) -> str | None:
        kind = config.get("model_type")
        if kind is not None and kind not in SERVED:
            return (
                f"AttnLRP's rules for norms and MLPs are not checked for the architecture {kind}."
            )
        return gradients_unsupported(config)

    def explain(
        self, model: Any, input: Any, target: Any, parameters: Any, run: Run
    ) -> TokenExplanation:
        """Relevance of each token.

        Raises:
            ModelError: the precision is float16, or a result is not finite.
        """
        from backend.tokens import lrp

        if str(model.dtype) == "torch.float16":
            raise ModelError(
                "AttnLRP's halved gradients underflow in float16; choose float32 or bfloat16."
            )
        objective = Objective(model, input, target, run)
        with lrp.rules(model):
            value, gradient, embeds = objective.gradient("one backward pass with AttnLRP's rules")
        relevance = (gradient.double() * embeds.double()).sum(dim=1).cpu().numpy()
        at_logits, arrived = _at_logits(objective), float(relevance.sum())
        values = {
            "value": value,
            "at_logits": at_logits,
            "relevance": arrived,
            "conservation": arrived / at_logits if at_logits else None,
            "on_answer": float(relevance[len(objective.context) :].sum()),
        }
        return objective.explanation(relevance, values)


def _at_logits(objective: Objective) -> float:
    """Σ over the explained tokens t of z_t - Σ_v p_v z_v = log p_t - Σ_v p_v log p_v."""
    import torch

    positions = objective.subject.explained
    ids = torch.tensor([objective.ids], device=objective.model.device)
    with torch.no_grad():
        logprobs = objective.model.next_logprobs(ids, [p - 1 for p in positions])[0].double()
    objective.run.count(forward=1)
    chosen = logprobs.gather(1, ids[0, list(positions)][:, None]).sum()
    # A token of probability 0 adds nothing: 0 · -inf.
    entropy = -(logprobs.exp() * logprobs).nan_to_num(nan=0.0).sum()
    return float(chosen + entropy)
