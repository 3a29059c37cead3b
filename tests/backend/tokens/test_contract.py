"""What every explainer of the catalogue owes: the model as it was, honest scores, equal repeats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from backend.errors import Cancelled, InputError
from backend.tokens import FAMILY
from backend.tokens.attention_mean import AttentionMean
from backend.tokens.consensus import TokenConsensus
from backend.tokens.explanation import Prompt, Target, TokenExplanation
from backend.tokens.leave_one_out import LeaveOneOut
from tests.fake import FakeRun, sourced

PROMPT = Prompt.of("The code for the vault is the code. The river")
EXPLAINERS = [pytest.param(cls, id=cls.id) for cls in FAMILY.explainers]
ATTRIBUTIONS = [p for p in EXPLAINERS if p.values[0].role == "attribution"]


def explain(cls: Any, model: Any, run: Any, prompt: Prompt = PROMPT, **target: Any) -> Any:
    ids = tuple(model.tokenizer(" is cold today.", add_special_tokens=False)["input_ids"][:3])
    if cls is TokenConsensus:
        run.members = [
            sourced(explain(one, model, FakeRun(), prompt, **target), one.id)
            for one in (AttentionMean, LeaveOneOut)
        ]
    return cls().explain(model, prompt, Target(**{"ids": ids} | target), cls.Parameters(), run)


def state(model: Any) -> dict[str, Any]:
    """All that a method could leave behind on a model."""
    modules = list(model.hf.modules())
    with torch.no_grad():
        logits = model.hf(torch.arange(5, 15)[None]).logits
    return {
        "hooks": [
            (len(m._forward_hooks), len(m._forward_pre_hooks), len(m._backward_hooks))
            for m in modules
        ],
        "own": [sorted(set(vars(m)) - {"_is_hf_initialized"}) for m in modules],
        "attention": model.hf.config._attn_implementation,
        "training": [m.training for m in modules],
        "gradients": [(p.requires_grad, p.grad is None) for p in model.hf.parameters()],
        "logits": logits.tolist(),
        "grad_mode": torch.is_grad_enabled(),
    }


@pytest.mark.parametrize("architecture", ["llama", "gemma2", "gpt2", "gpt_neox"])
@pytest.mark.parametrize("cls", EXPLAINERS)
def test_leaves_the_model_as_it_was(cls: Any, architecture: str, tiny: Any) -> None:
    model = tiny(architecture)
    before = state(model)
    explain(cls, model, FakeRun())
    assert state(model) == before


@pytest.mark.parametrize("cls", EXPLAINERS)
def test_cancelled_half_way_leaves_the_model_as_it_was(cls: Any, tiny: Any) -> None:
    model = tiny("llama")
    before = state(model)
    with pytest.raises(Cancelled):
        explain(cls, model, FakeRun(cancel_after=1))
    assert state(model) == before


@pytest.mark.parametrize("cls", ATTRIBUTIONS)
def test_prompt_tokens_have_scores_and_explained_ones_do_not(cls: Any, tiny: Any) -> None:
    found: TokenExplanation = explain(cls, tiny("llama"), FakeRun(), span=(1, 2))
    scores, sequence = found.arrays["scores"], found.sequence
    assert scores.shape == (len(sequence),)
    assert scores.dtype == np.float32
    assert np.isfinite(scores[: sequence.prompt_length]).all()
    assert np.isnan(scores[sequence.prompt_length + 1 :]).all()
    assert found.explained == (sequence.prompt_length + 1, sequence.prompt_length + 2)
    assert found.unit


@pytest.mark.parametrize("cls", EXPLAINERS)
def test_same_request_gives_the_same_bits(cls: Any, tiny: Any) -> None:
    first, second = (explain(cls, tiny("llama"), FakeRun()) for _ in range(2))
    assert first.arrays.keys() == second.arrays.keys()
    for name, array in first.arrays.items():
        np.testing.assert_array_equal(array, second.arrays[name], err_msg=name)
    assert TokenExplanation.from_bytes(first.to_bytes()).digest() == first.digest()


@pytest.mark.parametrize("cls", ATTRIBUTIONS)
def test_a_repeated_word_is_scored_by_position(cls: Any, tiny: Any) -> None:
    found = explain(cls, tiny("qwen2"), FakeRun(), Prompt.of("code code code code"))
    plain = found.arrays["scores"][list(found.sequence.candidates())]
    assert len(plain) >= 4
    assert len(np.unique(plain)) > 1


@pytest.mark.parametrize("cls", EXPLAINERS)
def test_prompt_of_one_token(cls: Any, tiny: Any) -> None:
    found = explain(cls, tiny("llama"), FakeRun(), Prompt.of("a"))
    assert found.sequence.prompt_length == 1


@pytest.mark.parametrize("cls", EXPLAINERS)
def test_without_an_answer_there_is_a_message(cls: Any, tiny: Any) -> None:
    with pytest.raises(InputError):
        cls().explain(tiny("llama"), PROMPT, Target(), cls.Parameters(), FakeRun())


@pytest.mark.parametrize("cls", EXPLAINERS)
def test_declares_what_the_page_draws(cls: Any) -> None:
    assert cls.title
    assert cls.how_to_read
    assert cls.reference is not None or cls.reconstruction is False
    for name, field in cls.Parameters.model_fields.items():
        assert field.description, f"{cls.id}.{name} has no help"
    cls.Parameters()
