"""Models that forget block by block: what is drawn anew, what stays, and what explainers say."""

from __future__ import annotations

import functools
import itertools
import random

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from backend.explanation import ModelRef, Reinitialised
from backend.sanity import randomised
from backend.tokens.explanation import Prompt, Target
from backend.tokens.gradient_x_input import GradientXInput
from backend.tokens.leave_one_out import LeaveOneOut
from backend.tokens.models import DecoderModel, load
from backend.tokens.reinitialised import blocks, reinitialise, stages
from tests.backend.tokens.passage import explain
from tests.tiny import ARCHITECTURES, FURTHER, tokenizer, untouched, write

EVERY = [*ARCHITECTURES, *FURTHER]
ALL = 4
"""Stages of a tiny model: its three blocks, and the embeddings."""
DRAWS = 6
ENDS = ("embed", "wte", "wpe", "lm_head")
"""Parts of the names of embeddings and unembeddings."""
TEXT = (
    "Anna gave Ben the book because he asked for it near the old mill by the river. The capital of "
    "Italy is Rome. What is two plus three? The code for the vault is"
)


def forgotten(architecture, depth, seed=0):
    hf = untouched(architecture)
    reinitialise(hf, depth, seed)
    return hf


def weights(hf):
    return dict(hf.named_parameters())


def changed(before, after):
    """Names of the weights that differ."""
    now = weights(after)
    return {name for name, weight in weights(before).items() if not torch.equal(weight, now[name])}


def of_block(name, number):
    return f".{number}." in name


@pytest.mark.parametrize(
    ("layers", "expected", "names"),
    [
        (1, [[0]], ("layer 1", "embeddings")),
        (3, [[2], [1], [0]], ("layer 3", "layer 2", "layer 1", "embeddings")),
        (
            6,
            [[4, 5], [3], [2], [0, 1]],
            ("layers 5–6", "layer 4", "layer 3", "layers 1–2", "embeddings"),
        ),
        (
            8,
            [[6, 7], [4, 5], [2, 3], [0, 1]],
            ("layers 7–8", "layers 5–6", "layers 3–4", "layers 1–2", "embeddings"),
        ),
    ],
)
def test_stages_go_from_the_output_down_and_are_counted_from_one(layers, expected, names):
    assert [list(part) for part in blocks(layers)] == expected
    assert stages(layers) == names


@pytest.mark.parametrize("layers", range(1, 81))
def test_stages_hold_every_block_once_and_about_as_many_each(layers):
    parts = blocks(layers)
    assert [i for part in reversed(parts) for i in part] == list(range(layers))
    assert len(parts) == min(4, layers) == len(stages(layers)) - 1
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("architecture", EVERY)
def test_each_depth_draws_one_stage_more_and_leaves_the_rest_as_it_was(architecture):
    before = untouched(architecture)
    reached = [changed(before, forgotten(architecture, depth)) for depth in range(1, ALL + 1)]
    names = set(weights(before))
    last = {name for name in names if of_block(name, 2)}
    assert last < reached[0]
    assert all("norm" in name or "ln_f" in name for name in reached[0] - last)
    assert reached[0] - last, "the norm before the unembedding"
    for block, (fewer, more) in zip((1, 0), itertools.pairwise(reached[:3]), strict=True):
        assert more - fewer == {name for name in names if of_block(name, block)}
    assert reached[3] - reached[2]
    assert all(any(part in n for part in ENDS) for n in reached[3] - reached[2])


@pytest.mark.parametrize("architecture", EVERY)
def test_at_full_depth_nothing_that_was_learned_is_left(architecture):
    before = untouched(architecture)
    assert changed(before, forgotten(architecture, ALL)) == set(weights(before))


@pytest.mark.parametrize("architecture", EVERY)
def test_a_stage_is_the_same_at_every_depth_and_another_for_another_seed(architecture):
    before = untouched(architecture)
    whole, again, other = (forgotten(architecture, ALL, seed) for seed in (3, 3, 4))
    for depth in range(1, ALL):
        found = forgotten(architecture, depth, 3)
        for name in changed(before, found):
            assert torch.equal(weights(found)[name], weights(whole)[name])
    assert changed(whole, again) == set()
    matrices = {name for name, weight in weights(before).items() if weight.dim() > 1}
    # What has no spread to draw from, as norms have none, starts at the same value.
    drawn = matrices & changed(before, whole)
    assert len(drawn) > 10
    assert changed(whole, other) == drawn


@pytest.mark.parametrize("architecture", EVERY)
def test_weights_are_drawn_as_the_architecture_draws_them(architecture):
    """Spread of every matrix, and value of all that has none, beside a model never trained."""
    found = forgotten(architecture, ALL)
    fresh = weights(AutoModelForCausalLM.from_config(found.config))
    for name, weight in weights(found).items():
        expected = fresh[name].std().item() if fresh[name].numel() > 1 else 0.0
        if expected:
            error = expected * 6 / weight.numel() ** 0.5
            assert weight.std().item() == pytest.approx(expected, abs=error), name
            assert abs(weight.mean().item()) < error
        else:
            torch.testing.assert_close(weight, fresh[name], msg=name)


@pytest.mark.parametrize("architecture", EVERY)
def test_the_adapter_serves_what_has_forgotten(architecture):
    """Its self-check passes at every depth, and the model predicts something else."""
    ids = torch.arange(5, 19)[None]
    trained = DecoderModel(untouched(architecture), tokenizer()).answer_logprobs(ids, [9, 12, 13])
    for depth in range(1, ALL + 1):
        model = DecoderModel(forgotten(architecture, depth), tokenizer())
        found = model.answer_logprobs(ids, [9, 12, 13])
        assert bool(torch.isfinite(found).all())
        assert float((found - trained).abs().max()) > 1e-2


@pytest.mark.parametrize("architecture", ["gemma2", "gpt2", "cohere", "llama"])
def test_embeddings_that_are_tied_stay_tied(architecture):
    hf = forgotten(architecture, ALL)
    shared = hf.get_input_embeddings().weight is hf.get_output_embeddings().weight
    assert shared == hf.config.tie_word_embeddings == (architecture != "llama")
    equal = torch.equal(hf.get_input_embeddings().weight, hf.get_output_embeddings().weight)
    assert equal == shared


def test_the_generators_of_the_process_are_left_alone():
    hf = untouched("llama")
    torch.manual_seed(11)
    expected = torch.random.get_rng_state(), random.getstate()
    reinitialise(hf, ALL, 5)
    assert torch.equal(torch.random.get_rng_state(), expected[0])
    assert random.getstate() == expected[1]
    torch.manual_seed(12)
    again = forgotten("llama", ALL, 5)
    assert changed(hf, again) == set(), "nor do they decide what is drawn"


@pytest.mark.parametrize("depth", [0, -1, 5])
def test_there_is_no_deeper_than_all(depth):
    hf = untouched("llama")
    with pytest.raises(ValueError, match=f"4 stages has no {depth}"):
        reinitialise(hf, depth, 0)
    assert changed(untouched("llama"), hf) == set()


@pytest.mark.parametrize("architecture", ["llama", "gemma2", "gpt2"])
@pytest.mark.parametrize("depth", [1, ALL])
def test_a_folder_is_loaded_with_the_part_that_was_asked_for_drawn_anew(
    tmp_path, architecture, depth
):
    """transformers marks what it has read from a file, not to draw it again."""
    drawn = Reinitialised(depth=depth, seed=7)
    folder = write(tmp_path, architecture)
    found = load(folder, ModelRef(name="x", reinitialised=drawn), "cpu")
    expected = DecoderModel(forgotten(architecture, depth, 7), tokenizer())
    assert changed(expected.hf, found.hf) == set()
    assert not any(weight.requires_grad for weight in found.hf.parameters())
    plain = load(folder, ModelRef(name="x"), "cpu")
    assert changed(DecoderModel(untouched(architecture), tokenizer()).hf, plain.hf) == set()
    assert 0 < 10 * found.kept.budget < plain.kept.budget, "many are loaded at a time"


def test_the_precision_is_kept(tmp_path):
    drawn = Reinitialised(depth=ALL)
    ref = ModelRef(name="x", precision="bfloat16", reinitialised=drawn)
    found = load(write(tmp_path), ref, "cpu")
    assert {weight.dtype for weight in found.hf.parameters()} == {torch.bfloat16}
    assert found.dtype == torch.bfloat16
    spread = found.hf.model.layers[0].mlp.up_proj.weight.float().std().item()
    assert spread == pytest.approx(found.hf.config.initializer_range, rel=0.1)


def test_a_folder_has_no_deeper_than_all_either(tmp_path):
    ref = ModelRef(name="x", reinitialised=Reinitialised(depth=9))
    with pytest.raises(ValueError, match="4 stages has no 9"):
        load(write(tmp_path), ref, "cpu")


@functools.cache
def drawn_anew(architecture, depth, seed):
    return DecoderModel(forgotten(architecture, depth, seed), tokenizer())


def forgetting(tiny, architecture, scores):
    """`scores` of a model, and of those that forgot stage by stage."""
    names = stages(3)
    drawn = [
        [scores(drawn_anew(architecture, depth + 1, draw)) for depth in range(len(names))]
        for draw in range(DRAWS)
    ]
    return randomised(names, scores(tiny(architecture)), drawn)


@pytest.mark.parametrize("architecture", ["llama", "gpt2"])
@pytest.mark.parametrize("explainer", [GradientXInput, LeaveOneOut])
def test_scores_of_a_model_that_forgets_lose_their_ranking(tiny, architecture, explainer):
    def scores(model):
        found = explain(model, explainer, prompt=Prompt.of(TEXT), target=Target(ids=(70, 80)))
        return found.arrays["scores"].astype(float)

    curve = forgetting(tiny, architecture, scores)
    means = [one.mean for one in curve.means]
    assert curve.stages == ("trained", "layer 3", "layer 2", "layer 1", "embeddings")
    assert np.isfinite(curve.correlation).all()
    assert means[0] == 1
    assert means[1] > 0.2, "most of the model is still there"
    assert abs(means[-1]) < 0.3
    assert curve.verdict == "depends"


def test_one_that_ignores_the_model_is_flagged(tiny):
    """The control: a token's score is its id, whatever the model."""

    def scores(model):
        tokens = model.encode(Prompt.of(TEXT), (70, 80))
        found = np.full(len(tokens), np.nan)
        found[list(tokens.candidates())] = [tokens.ids[p] for p in tokens.candidates()]
        return found

    curve = forgetting(tiny, "llama", scores)
    np.testing.assert_allclose(curve.correlation, 1)
    assert curve.verdict == "ignores"
