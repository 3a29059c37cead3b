"""The logit lens against the model's own logits and a plain readout."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from backend.errors import InputError
from backend.tokens import logit_lens
from backend.tokens.explanation import Prompt, Target
from backend.tokens.logit_lens import LogitLens
from tests.backend.tokens.passage import explain
from tests.fake import FakeRun
from tests.tiny import ARCHITECTURES


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_last_depth_is_the_models_own_prediction(tiny, architecture):
    model = tiny(architecture)
    found = explain(model, LogitLens, top=4)
    ids, positions = found.sequence.ids, found.values["positions"]
    assert positions == [p - 1 for p in found.explained]
    with torch.no_grad():
        logits = model.hf(torch.tensor([list(ids)])).logits[0, positions].double()
    p = logits.softmax(dim=-1)
    best = p.topk(4)
    arrays = found.arrays
    np.testing.assert_array_equal(arrays["top_ids"][-1], best.indices)
    np.testing.assert_allclose(arrays["top_probs"][-1], best.values, rtol=1e-4)
    np.testing.assert_allclose(arrays["entropy"][-1], -(p * p.log()).sum(dim=-1), rtol=1e-4)
    assert (arrays["rank_final"][-1] == 1).all()
    for s, position in enumerate(positions):
        actual = ids[position + 1]
        assert arrays["rank"][-1, s] == 1 + int((p[s] > p[s, actual]).sum())
        assert arrays["probability"][-1, s] == pytest.approx(float(p[s, actual]), rel=1e-3)


@pytest.mark.parametrize("architecture", ["llama", "gpt2", "gemma2"])
def test_every_depth_reads_its_residual_out(tiny, architecture):
    model = tiny(architecture)
    found = explain(model, LogitLens)
    hidden = model.lens(found.sequence.ids)
    assert len(hidden) == 4
    for depth, x in enumerate(hidden):
        p = model.readout(x[found.values["positions"]]).softmax(dim=-1)
        np.testing.assert_allclose(found.arrays["top_probs"][depth, :, 0], p.amax(-1), rtol=1e-5)
        names = [model.tokenizer.decode([i]) for i in p.argmax(dim=-1).tolist()]
        assert [row[0] for row in found.values["top_text"][depth]] == names
    assert found.values["depths"] == ["input", "1", "2", "3"]


def test_a_view_gives_no_scores_and_says_what_follows(tiny):
    run = FakeRun()
    found = explain(tiny("llama"), LogitLens, run=run)
    assert LogitLens.role == "view"
    assert np.isnan(found.arrays["scores"]).all()
    assert found.values["next_ids"] == [70, 80, 90]
    assert found.values["next_text"] == [tiny("llama").tokenizer.decode([i]) for i in (70, 80, 90)]
    assert run.forward == 1
    assert run.reports[-1][:2] == (4, 4)


def test_all_positions_end_with_the_last_explained_one(tiny):
    long = Prompt.of("The river runs by the old mill. " * 12)
    target = Target(ids=(70, 80, 90), span=(0, 1))
    found = explain(tiny("llama"), LogitLens, prompt=long, target=target, positions="all")
    stop = found.explained[-1]
    assert found.values["positions"] == list(range(stop - 64, stop))
    assert found.arrays["entropy"].shape == (4, 64)


def test_reading_a_few_positions_at_a_time_changes_nothing(tiny, monkeypatch):
    whole = explain(tiny("llama"), LogitLens)
    monkeypatch.setattr(logit_lens, "LOGITS_AT_ONCE", 1)
    pieces = explain(tiny("llama"), LogitLens)
    for name, array in whole.arrays.items():
        np.testing.assert_allclose(pieces.arrays[name], array, rtol=1e-5)


def test_one_token_more_candidates_than_words_and_bad_choices(tiny):
    found = explain(tiny("llama"), LogitLens, prompt=Prompt.of("T"), target=Target(ids=(70,)))
    assert found.values["positions"] == [0]
    with pytest.raises(ValidationError):
        LogitLens.Parameters(top=0)
    with pytest.raises(InputError, match="no answer to explain"):
        explain(tiny("llama"), LogitLens, target=Target())
