"""Exact routes: the authors' package position by position, and their mean."""

from __future__ import annotations

import numpy as np

from backend.tokens.explanation import Prompt, Target
from backend.tokens.ifr import InformationFlowRoutes
from tests.backend.tokens.passage import explain

PROMPT = "The code for the vault is seven, and the river runs. Quiet"
ANSWER = " so the answer, of course"


def test_equals_the_package(tiny):
    from flashtrace import FlashTrace

    model = tiny("llama")
    ids = tuple(model.tokenizer(ANSWER, add_special_tokens=False)["input_ids"])
    before = model.hf.config._attn_implementation
    model.hf.set_attn_implementation("eager")
    try:
        theirs = FlashTrace(model.hf, model.tokenizer).trace(
            prompt=PROMPT, target=ANSWER, method="ifr-matrix", output_span=(0, len(ids) - 1)
        )
    finally:
        model.hf.set_attn_implementation(before)
    target = Target(ids=ids)
    found = explain(model, InformationFlowRoutes, prompt=Prompt.of(PROMPT), target=target)
    length = found.sequence.prompt_length
    np.testing.assert_allclose(found.arrays["scores"][:length], theirs.scores, atol=1e-5)


def test_tokens_and_residual_share_each_layer(tiny):
    model = tiny("gemma2")
    found = explain(model, InformationFlowRoutes)
    n = found.explained[0]
    shown = found.arrays["layer_tokens"][:, :n].sum(axis=1) + found.arrays["residual"]
    assert (shown <= 1 + 1e-5).all()
    heads = found.arrays["heads"].sum(axis=1) + found.arrays["residual"]
    np.testing.assert_allclose(heads, 1.0, atol=1e-5)


def test_predicting_rows_are_those_before(tiny):
    found = explain(tiny("llama"), InformationFlowRoutes, rows="predicting")
    assert found.values["explained_span"] == [p - 1 for p in found.explained]
