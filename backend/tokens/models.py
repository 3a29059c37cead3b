"""The adapter: one decoder model and its tokenizer behind the few questions explainers ask.

Imports torch: only workers import this module.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer

from backend.errors import InputError, ModelError
from backend.explainer import Run
from backend.explanation import ModelRef
from backend.settings import settings
from backend.tokens import blocks, encode, verify
from backend.tokens.attention import Intervention, intervening
from backend.tokens.explanation import Prompt
from backend.tokens.folders import convert, implementation, neutral_id
from backend.tokens.products import quicken
from backend.tokens.sequence import Sequence as Tokens
from backend.tokens.shorten import OFFER
from backend.tokens.states import Kept

__all__ = ["DecoderModel", "convert", "load", "neutral_id"]

KEPT_BY_REINITIALISED = 16
"""Which part of the memory for passes a re-initialised model gets."""
ENCODED = 8
"""Prompts with answers whose tokens an adapter remembers: every explainer asks for the same."""


class DecoderModel:
    """A decoder language model ready to be explained: in evaluation mode, weights frozen.

    Args:
        hf: the transformers model, on its device.
        tokenizer: its tokenizer.

    Raises:
        ModelError: the model fails the self-check; the text says in one sentence why.
    """

    def __init__(self, hf: Any, tokenizer: Any) -> None:
        self.hf, self.tokenizer = hf.eval().requires_grad_(False), tokenizer
        self.lock = threading.RLock()
        """Held while the attention implementation is switched."""
        text = hf.config.get_text_config()
        self.config: dict[str, Any] = hf.config.to_dict()
        self.device, self.dtype = str(hf.device), hf.dtype
        self.architecture = type(hf).__name__
        self.layers: int = text.num_hidden_layers
        self.heads: int = text.num_attention_heads
        self.kv_heads: int = getattr(text, "num_key_value_heads", None) or self.heads
        self.width: int = text.hidden_size
        self.head_width: int = getattr(text, "head_dim", None) or self.width // self.heads
        self.vocabulary: int = hf.get_input_embeddings().weight.shape[0]
        self.context: int = text.max_position_embeddings
        self.neutral_id = neutral_id(tokenizer, self.vocabulary)
        quicken(hf)
        probe = torch.arange(1, 5, device=hf.device)[None] % self.vocabulary
        self.blocks = blocks.find(hf, probe)
        self.final_norm = blocks.final_norm(hf)
        verify.verify(self, probe[0].tolist())
        self._encoded: dict[tuple[Any, ...], Tokens] = {}
        self.kept = Kept(int(settings().pass_memory_gb * 1e9))
        """Passes remembered by `backend.tokens.states`."""

    @property
    def limit(self) -> int:
        """Most tokens a prompt and its answer may have together."""
        return min(settings().max_tokens, self.context)

    def interruptible(self, check: Callable[[], None]) -> contextlib.AbstractContextManager[None]:
        """While the context lasts, `check` is called before every block of this thread's passes.

        It may raise to stop a pass half way: one over many long rows takes seconds.
        """

        def before(_module: Any, _args: tuple, _kwargs: dict[str, Any]) -> None:
            check()

        return blocks.hooked([(block.layer, "before", before) for block in self.blocks])

    def encode(
        self, prompt: Prompt, answer_ids: Sequence[int] = (), answer_text: str | None = None
    ) -> Tokens:
        """The ids the model reads, with their bookkeeping; see `backend.tokens.encode`.

        Raises:
            InputError: the prompt is empty or too long, the answer is empty or not in the
                vocabulary, or a chat is asked of a model without a chat template.
        """
        key = (prompt.digest(), tuple(answer_ids), answer_text)
        tokens = self._encoded.get(key)
        if tokens is None:
            tokens = encode.encode(self.tokenizer, prompt, answer_ids, answer_text, self.vocabulary)
            self._encoded[key] = tokens
            while len(self._encoded) > ENCODED:
                self._encoded.pop(next(iter(self._encoded)))
        if len(tokens) > self.limit:
            bound = "the model's context" if self.limit == self.context else "VITRINE_MAX_TOKENS"
            keep = self.limit - max(1, len(tokens.answer))
            raise InputError(
                f"The prompt with its answer has {len(tokens):,} tokens; "
                f"at most {self.limit:,} fit ({bound}).",
                todo=f"{OFFER} {max(1, keep):,} tokens of the prompt.",
            )
        return tokens

    def generate(self, sequence: Tokens, max_new_tokens: int, run: Run) -> tuple[int, ...]:
        """Continue greedily: the most probable token each time, no penalties, no sampling.

        The end-of-sequence token that stops the answer is its last token. Stops early where the
        context is full.

        Raises:
            InputError: the context is full already.
            ModelError: the logits are not finite.
        """
        room = min(max_new_tokens, self.limit - len(sequence))
        if room < 1:
            raise InputError(
                f"The prompt fills all {self.limit:,} tokens; there is no room for an answer.",
                todo="Shorten the prompt.",
            )
        ends, answer = self._end_ids(), list[int]()
        step, cache = torch.tensor([sequence.ids], device=self.device), None
        with torch.no_grad():
            while len(answer) < room and not (answer and answer[-1] in ends):
                run.check_cancelled()
                out = self.hf(input_ids=step, cache=cache, use_cache=True, logits_to_keep=1)
                cache, logits = out.cache, out.logits[0, -1].float()
                if not bool(torch.isfinite(logits.max())):
                    raise ModelError(
                        f"The model's logits are not finite in {self.dtype}; "
                        "choose another precision."
                    )
                answer.append(int(logits.argmax()))
                step = torch.tensor([answer[-1:]], device=self.device)
                run.count(forward=1)
                run.progress(len(answer), room, "writing the answer")
        return tuple(answer)

    def embeddings(self, ids: Sequence[int]) -> Tensor:
        """[N, d]: what the model takes as `inputs_embeds` in place of these ids."""
        embedded: Tensor = self.hf.get_input_embeddings()(
            torch.tensor(list(ids), device=self.device)
        )
        return embedded

    def answer_logprobs(
        self,
        ids: Tensor,
        answer: Sequence[int],
        *,
        masked: Tensor | None = None,
        embeds: Tensor | None = None,
    ) -> Tensor:
        """log p(token at position p | the tokens before), for each p in `answer`.

        Gradients flow to `embeds` where gradient mode is on.

        Args:
            ids: [B, N] long; all rows have the same length, no padding.
            answer: positions >= 1.
            masked: [B, N] bool; no later query may attend to a masked key, the key's own may.
            embeds: [B, N, d] in place of the ids' embeddings; `ids` still name the answer.

        Returns:
            [B, len(answer)] float32.
        """
        at = torch.tensor(list(answer), device=self.device)
        logits = self._logits(ids, at - 1, masked, embeds)
        chosen = ids.to(self.device)[:, at, None]
        return logits.gather(2, chosen)[..., 0] - logits.logsumexp(dim=2)

    def next_logprobs(
        self, ids: Tensor, positions: Sequence[int], *, masked: Tensor | None = None
    ) -> Tensor:
        """Log-probabilities of the token that follows each position, [B, len, V] float32."""
        at = torch.tensor(list(positions), device=self.device)
        return self._logits(ids, at, masked, None).log_softmax(dim=2)

    def lens(self, ids: Sequence[int]) -> Tensor:
        """The residual entering block 0 and leaving each block, un-normed, [L + 1, N, d]."""
        residuals: list[Tensor] = []

        def enter(_module: Any, args: tuple, kwargs: dict[str, Any]) -> None:
            x = blocks.given(args, kwargs)
            if x is not None:
                residuals.append(x[0])

        def leave(_module: Any, _args: tuple, output: Any) -> None:
            residuals.append(blocks.first(output)[0])

        hooks: list[tuple[torch.nn.Module, str, Any]] = [(self.blocks[0].layer, "before", enter)]
        hooks += [(block.layer, "after", leave) for block in self.blocks]
        with torch.no_grad(), blocks.hooked(hooks):
            self.hf.base_model(
                input_ids=torch.tensor([list(ids)], device=self.device), use_cache=False
            )
        return torch.stack(residuals)

    def readout(self, x: Tensor) -> Tensor:
        """Logits of a residual: final norm once, unembedding, the model's own scale and soft cap.

        Args:
            x: [..., d], as `lens` gives it.

        Returns:
            [..., V] float32.
        """
        config = self.hf.config.get_text_config()
        logits: Tensor = self.hf.get_output_embeddings()(self.final_norm(x.to(self.dtype))).float()
        if scale := getattr(config, "logit_scale", None):
            logits = logits * scale
        if scale := getattr(config, "logits_scaling", None):
            logits = logits / scale
        if cap := getattr(config, "final_logit_softcapping", None):
            logits = torch.tanh(logits / cap) * cap
        return logits

    def _logits(
        self, ids: Tensor, at: Tensor, masked: Tensor | None, embeds: Tensor | None
    ) -> Tensor:
        inputs = {"input_ids": ids.to(self.device)} if embeds is None else {"inputs_embeds": embeds}
        if masked is None:
            logits: Tensor = self.hf(**inputs, use_cache=False, logits_to_keep=at).logits
        else:
            with intervening(self, Intervention(masked=masked.to(self.device))):
                logits = self.hf(**inputs, use_cache=False, logits_to_keep=at).logits
        return logits.float()

    def _end_ids(self) -> frozenset[int]:
        configured = self.hf.generation_config.eos_token_id
        if configured is None:
            configured = self.tokenizer.eos_token_id
        ids = configured if isinstance(configured, list) else [configured]
        return frozenset(int(i) for i in ids if i is not None)


def load(folder: Path, ref: ModelRef, device: str) -> DecoderModel:
    """Load a folder of config, safetensors and tokenizer.

    Raises:
        ModelError: transformers cannot load it, or the adapter cannot serve it.
    """
    from backend.tokens.reinitialised import reinitialise

    common: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, **common)
        hf = AutoModelForCausalLM.from_pretrained(
            folder,
            dtype=getattr(torch, ref.precision),
            attn_implementation=implementation(folder),
            use_safetensors=True,
            **common,
        )
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise ModelError(f"{ref.label()} cannot be loaded: {error}") from error
    if ref.reinitialised is None:
        return DecoderModel(hf.to(device), tokenizer)
    reinitialise(hf, ref.reinitialised.depth, ref.reinitialised.seed)
    model = DecoderModel(hf.to(device), tokenizer)
    # Many of them are loaded at a time, and each explains little.
    model.kept = Kept(int(settings().pass_memory_gb * 1e9) // KEPT_BY_REINITIALISED)
    return model
