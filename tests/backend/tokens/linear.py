"""A stand-in for a language model whose answer's log-probability is a known sum."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from backend.tokens.explanation import Prompt, Target, TokenExplanation
from backend.tokens.faithfulness import Faithfulness, FaithfulnessParameters
from backend.tokens.sequence import Sequence
from tests.fake import FakeRun

NEUTRAL = 999


class Linear:
    """log p of each answer token = base + sum of the weights of the prompt tokens still there.

    The first token is special; `pair` adds a weight that counts where the tokens 1 and 2 both stay.
    """

    device = "cpu"
    neutral_id = NEUTRAL

    def __init__(self, weights, base=-1.0, pair=0.0, gold=()):
        self.weights = torch.tensor([0.0, *weights], dtype=torch.float64)
        self.base, self.pair, self.gold = base, pair, gold
        self.rows = []

    def encode(self, prompt, answer_ids=(), answer_text=None):
        length = len(self.weights)
        ids = (*range(10, 10 + length), *answer_ids)
        return Sequence(
            ids=ids,
            text="x" * len(ids),
            offsets=tuple((i, i + 1) for i in range(len(ids))),
            roles=("prompt",) * length + ("answer",) * len(answer_ids),
            special=(True,) + (False,) * (len(ids) - 1),
            prompt_length=length,
            gold=self.gold,
        )

    def answer_logprobs(self, ids, answer, *, masked=None, embeds=None):
        length = len(self.weights)
        stays = ids[:, :length] != NEUTRAL
        if masked is not None:
            stays &= ~masked[:, :length]
        self.rows += [tuple(row) for row in stays.tolist()]
        total = self.base + stays.double() @ self.weights
        if length > 2:
            total += self.pair * (stays[:, 1] & stays[:, 2])
        return total[:, None].repeat(1, len(answer)).float()


PROMPT = Prompt.of("a prompt")
TARGET = Target(ids=(5, 6))


def attribution(model, scores, target=TARGET):
    """An attribution with these scores for the prompt's tokens after the special one."""
    sequence = model.encode(PROMPT, target.ids)
    padded = np.full(len(sequence), np.nan, dtype=np.float32)
    padded[0] = 0.0
    padded[1 : 1 + len(scores)] = scores
    return TokenExplanation(
        arrays={"scores": padded}, sequence=sequence, explained=sequence.explained(target.span)
    )


def scored(model, scores=None, *, target=TARGET, run=None, **parameters):
    """The score of these scores, or of random rankings."""
    subject = None if scores is None else attribution(model, scores, target)
    run = run or FakeRun()
    run.subject = subject
    parameters = FaithfulnessParameters(**parameters)
    return Faithfulness().explain(model, PROMPT, target, parameters, run)


def renamed(explanation, **changes):
    """The explanation with other fields."""
    return dataclasses.replace(explanation, **changes)
