"""Contribution Weights on the bundled model: shares sum to one, a planted number is found."""

from __future__ import annotations

import numpy as np
import pytest

from backend.tokens.contribution_weights import ContributionWeights
from backend.tokens.explanation import Message, Prompt, Target
from tests.backend.tokens.passage import explain
from tests.fake import FakeRun

FILLER = "The river runs by the old mill. The wind is cold today. Bread is baked every morning. "
NEEDLE = "The code for the vault is 7481. "
QUESTION = "The train leaves at noon. What is the code for the vault? The code for the vault is"


@pytest.mark.model
def test_the_planted_number_is_on_top_and_shares_sum_to_one(smollm2):
    text = FILLER + NEEDLE + QUESTION
    start = text.index("7481")
    prompt = Prompt(messages=(Message(content=text),), gold=((start, start + 4),))
    sequence = smollm2.encode(prompt)
    answer = smollm2.generate(sequence, 5, FakeRun())
    said = smollm2.tokenizer.decode(list(answer))
    assert "7481" in said
    digits = tuple(i for i, t in enumerate(answer) if smollm2.tokenizer.decode([t]).isdigit())
    target = Target(ids=answer, span=digits)
    found = explain(smollm2, ContributionWeights, prompt=prompt, target=target)
    c = found.arrays["contributions"]
    n = len(found.sequence)
    assert c.shape == (30, 9, n, n)
    np.testing.assert_allclose(c.sum(axis=(1, 3)), 1.0, atol=1e-4)
    scores = found.arrays["scores"][: sequence.prompt_length]
    top = set(np.argsort(-scores)[: n // 6].tolist())
    gold = set(found.sequence.gold)
    assert len(gold) == 4
    assert gold <= top
