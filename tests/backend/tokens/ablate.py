"""Removal one at a time, by the untouched transformers model and plain loops."""

from __future__ import annotations

import torch

from backend.tokens.explanation import Prompt, Target

PROMPT = Prompt.of("The code for the vault is the code.")
ANSWER = " 7481. The river"


def target(model, **changes) -> Target:
    """An answer of several tokens."""
    ids = model.tokenizer(ANSWER, add_special_tokens=False)["input_ids"][:4]
    return Target(**{"ids": tuple(ids)} | changes)


def logprobs(hf, ids, answer, attention_mask=None) -> torch.Tensor:
    """log p of the tokens at `answer`, [len(answer)] float64, from all logits of one row."""
    with torch.no_grad():
        logits = hf(torch.tensor([list(ids)]), attention_mask=attention_mask).logits[0]
    found = logits.double().log_softmax(-1)
    return torch.stack([found[p - 1, ids[p]] for p in answer])


def additive_mask(length, hidden) -> torch.Tensor:
    """[1, 1, N, N]: causal, and keys in `hidden` are seen by their own query alone."""
    mask = torch.zeros(length, length)
    for query in range(length):
        for key in range(length):
            if key > query or (key in hidden and key != query):
                mask[query, key] = torch.finfo(torch.float32).min
    return mask[None, None]
