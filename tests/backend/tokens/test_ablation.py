"""Removals on a real (tiny) decoder equal single forward passes done another way."""

import numpy as np
import pytest
import torch

from backend.tokens import ablation, metrics
from backend.tokens.ablation import Ablations, Ranking
from backend.tokens.explanation import Prompt, Target, TokenExplanation
from backend.tokens.faithfulness import Faithfulness, FaithfulnessParameters
from tests.fake import FakeRun

PROMPT = Prompt.of("The code for the vault is 7481. What is the code?")
ANSWER = (12, 40, 99)


@pytest.fixture(params=["llama", "qwen2", "phi3", "gpt2", "gpt_neox"])
def model(request, tiny):
    return tiny(request.param)


@pytest.fixture
def ablations(model):
    tokens = model.encode(PROMPT, ANSWER)
    return Ablations(model, tokens, tokens.explained((0, 2)))


def log_probability(model, ids, places, explained):
    """Summed log-probability from one plain forward pass over the tokens at these places."""
    with torch.no_grad():
        # Without a mask transformers takes a gap in the positions for the start of a new text.
        logits = model.hf(
            input_ids=torch.tensor([ids]),
            position_ids=torch.tensor([places]),
            attention_mask=torch.ones(1, len(ids), dtype=torch.long),
            use_cache=False,
        ).logits[0]
    at = {place: i for i, place in enumerate(places)}
    return sum(logits[at[p - 1]].double().log_softmax(0)[ids[at[p]]].item() for p in explained)


def removals(n, count=12):
    """Random removals that leave the last prompt token, which predicts the answer, in place."""
    masks = np.random.default_rng(2).random((count, n)) < 0.5
    masks[:, -1] = False
    return [*masks, np.zeros(n, dtype=bool)]


def test_key_masking_is_a_pass_without_the_removed_tokens(model, ablations):
    tokens = ablations.tokens
    masks = removals(len(ablations.candidates))
    ablations.compute(masks, FakeRun())
    for mask in masks:
        gone = set(ablations.candidates[mask].tolist())
        places = [p for p in range(len(tokens)) if p not in gone]
        ids = [tokens.ids[p] for p in places]
        expected = log_probability(model, ids, places, ablations.explained)
        assert ablations.logprob("key_masking", mask) == pytest.approx(expected, abs=1e-4)


def test_neutral_is_a_pass_with_the_removed_ids_replaced(model, ablations):
    tokens = ablations.tokens
    masks = removals(len(ablations.candidates))
    ablations.compute(masks, FakeRun())
    for mask in masks:
        gone = set(ablations.candidates[mask].tolist())
        ids = [model.neutral_id if p in gone else i for p, i in enumerate(tokens.ids)]
        expected = log_probability(model, ids, list(range(len(ids))), ablations.explained)
        assert ablations.logprob("neutral", mask) == pytest.approx(expected, abs=1e-4)


def test_metrics_do_not_depend_on_the_batch(model, monkeypatch):
    tokens = model.encode(PROMPT, ANSWER)
    scores = np.full(len(tokens), np.nan, dtype=np.float32)
    scores[: tokens.prompt_length] = np.random.default_rng(0).normal(size=tokens.prompt_length)
    subject = TokenExplanation(
        arrays={"scores": scores}, sequence=tokens, explained=tokens.explained(None)
    )

    def found():
        explanation = Faithfulness().explain(
            model, PROMPT, Target(ids=ANSWER), FaithfulnessParameters(), FakeRun(subject=subject)
        )
        return explanation.values["metrics"]

    together = found()
    monkeypatch.setattr(ablation, "ROWS_PER_BATCH", 1)
    alone = found()
    for operator, values in together.items():
        assert values == pytest.approx(alone[operator], abs=1e-5, nan_ok=False)


def test_the_model_is_left_as_it_was(model, ablations):
    before = model.hf.config._attn_implementation
    hooks = sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.hf.modules())
    ablations.compute(removals(len(ablations.candidates), 3), FakeRun())
    assert model.hf.config._attn_implementation == before
    assert hooks == sum(
        len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.hf.modules()
    )


def test_what_is_known_is_not_computed_again(ablations):
    masks = removals(len(ablations.candidates), 3)
    run = FakeRun()
    assert ablations.compute([*masks, masks[0]], run) == 2 * len(masks) == run.forward
    assert ablations.compute(masks[:2], run) == 0


@pytest.mark.parametrize("n", [2, 3, 5, 19, 20, 21, 60])
def test_removals_cover_every_metric(n):
    ranking = Ranking(np.random.default_rng(n).normal(size=n), groups=20)
    sizes = [int(mask.sum()) for mask in ranking.morf()]
    assert sizes == metrics.group_counts(n, 20).tolist()
    for first, last in zip(ranking.morf(), ranking.lerf(), strict=True):
        assert first.sum() == last.sum()
        kept = ~first & ~last
        assert kept.sum() == max(0, n - 2 * first.sum())
    best = int(np.argmax(ranking.scores))
    for k, (without, only) in ranking.levels().items():
        assert without[best]
        assert not only[best]
        assert (without ^ only).all()
        assert without.sum() == max(1, -(-n * k // 100))
