"""The preparation of every explanation: which tokens the answer is made of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from backend.errors import InputError
from backend.explainer import Explainer, Run
from backend.settings import settings
from backend.tokens.explanation import Prompt, Target, TokenExplanation
from backend.tokens.sequence import Sequence as Tokens

ROWS_AT_ONCE = 256
"""Positions whose logits, as many as the vocabulary has tokens each, are held at once."""
ALTERNATIVES = 5
"""Tokens listed for each position of the answer, the most probable first."""


class Continuation(Explainer):
    """The answer's ids: the target's, those of its text, or the model's own greedy continuation.

    Result: `sequence` is prompt and answer, `explained` every answer position. The token that
    ends the answer is its last one; an answer that ends at once is that one token.

    Arrays (N tokens, A answer tokens):
        scores: [N] float32, all NaN: nothing is explained yet.
        logprobs: [A] float32, log-probability of each answer token.

    Values:
        ids: the answer's token ids, what `Target.ids` takes.
        text: the answer's text.
        alternatives: for each answer token the five most probable tokens at its place, as
            {"id", "text", "logprob"}.
        facts: layers, heads, kv_heads, width, context, vocabulary, architecture, dtype.
    """

    id = "continuation"
    title = "Continuation"
    family = "tokens"
    role = "preparation"
    how_to_read = (
        "The most probable token each time, until the model ends or the length is reached."
    )

    def explain(
        self, model: Any, input: Prompt, target: Target, parameters: Any, run: Run
    ) -> TokenExplanation:
        """Settle the answer and its log-probabilities.

        Raises:
            InputError: the prompt or the answer cannot be used, or the length is over the limit.
        """
        tokens = model.encode(input, self._ids(model, input, target, run), self._typed(target))
        if not tokens.answer:
            raise InputError("The answer has no tokens.", todo="Type an answer or generate one.")
        positions = list(tokens.answer)
        logprobs, alternatives = _readouts(model, tokens, run)
        if not np.isfinite(logprobs).all():
            run.warn(f"Some log-probabilities of the answer are not finite in {model.dtype}.")
        return TokenExplanation(
            arrays={
                "scores": np.full(len(tokens), np.nan, dtype=np.float32),
                "logprobs": logprobs,
            },
            values={
                "ids": list(tokens.ids[tokens.prompt_length :]),
                "text": tokens.text[tokens.offsets[positions[0]][0] :],
                "alternatives": alternatives,
                "facts": facts(model),
            },
            sequence=tokens,
            explained=tokens.explained(None),
        )

    @staticmethod
    def _typed(target: Target) -> str | None:
        return target.text if target.ids is None else None

    @staticmethod
    def _ids(model: Any, input: Prompt, target: Target, run: Run) -> tuple[int, ...]:
        """The target's ids, or generated ones; none where the answer is typed."""
        if target.ids is not None or target.text is not None:
            return target.ids or ()
        most = settings().max_new_tokens
        if target.max_new_tokens > most:
            raise InputError(
                f"An answer of {target.max_new_tokens} tokens is over the limit of {most}.",
                todo=f"Ask for at most {most}, or raise VITRINE_MAX_NEW_TOKENS.",
            )
        generated: tuple[int, ...] = model.generate(model.encode(input), target.max_new_tokens, run)
        return generated


def _readouts(
    model: Any, tokens: Tokens, run: Run
) -> tuple[np.ndarray, list[list[dict[str, Any]]]]:
    """Log-probability of each answer token, [A] float32, and what else was probable there.

    The pass is left in the model's memory: explainers that can use it make none of their own.
    """
    import torch

    from backend.tokens.states import LayerState, each_layer

    residual: list[torch.Tensor] = []

    def last(layer: LayerState) -> None:
        if layer.index == model.layers - 1:
            residual.append(layer.after)

    each_layer(model, tokens.ids, last, run)
    chosen, alternatives = list[np.ndarray](), list[list[dict[str, Any]]]()
    with torch.no_grad():
        for rows in torch.split(torch.arange(tokens.prompt_length, len(tokens)), ROWS_AT_ONCE):
            logprobs = model.readout(residual[0][rows - 1]).log_softmax(dim=1)
            ids = torch.tensor([tokens.ids[p] for p in rows.tolist()], device=logprobs.device)
            chosen.append(logprobs.gather(1, ids[:, None])[:, 0].cpu().numpy())
            alternatives += _alternatives(model.tokenizer, logprobs)
    return np.concatenate(chosen), alternatives


def facts(model: Any) -> dict[str, int | str]:
    """What a page says about the model, and what it needs to draw pickers."""
    return {
        "layers": model.layers,
        "heads": model.heads,
        "kv_heads": model.kv_heads,
        "width": model.width,
        "context": model.context,
        "vocabulary": model.vocabulary,
        "architecture": model.architecture,
        "dtype": str(model.dtype).removeprefix("torch."),
    }


def _alternatives(tokenizer: Any, logprobs: Any) -> list[list[dict[str, Any]]]:
    """The most probable tokens of each row of `logprobs` [A, V]."""
    top = logprobs.topk(min(ALTERNATIVES, logprobs.shape[1]), dim=1)
    return [
        [
            {"id": i, "text": tokenizer.decode([i]), "logprob": round(value, 6)}
            for i, value in zip(ids, values, strict=True)
            if math.isfinite(value)
        ]
        for ids, values in zip(top.indices.tolist(), top.values.tolist(), strict=True)
    ]
