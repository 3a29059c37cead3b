"""The explained quantity: its groups, its limits, memory that runs out, results not finite."""

import numpy as np
import pytest
import torch

from backend.engine.run import WorkerRun
from backend.errors import Cancelled, InputError, ModelError, OutOfMemory
from backend.tokens.explanation import Prompt, Target
from backend.tokens.gradient_x_input import GradientXInput
from backend.tokens.integrated_gradients import IntegratedGradients
from backend.tokens.leave_one_out import LeaveOneOut
from backend.tokens.objective import Objective, gradients_unsupported
from backend.tokens.shap_partition import ShapPartition
from tests.backend.tokens.ablate import PROMPT, logprobs, target
from tests.backend.tokens.passage import explain
from tests.fake import FakeRun
from tests.tiny import untouched


def worker_run():
    return WorkerRun(
        device="cpu",
        dtype="float32",
        seed=0,
        subject=None,
        report=lambda *_: None,
        cancelled=lambda: False,
    )


class Broken:
    """A model like another whose log-probabilities fail in one way."""

    def __init__(self, model, fault):
        self._model, self._fault = model, fault

    def __getattr__(self, name):
        return getattr(self._model, name)

    def answer_logprobs(self, ids, answer, **options):
        return self._fault(self._model.answer_logprobs, ids, answer, options)


def small_memory(rows):
    def fault(compute, ids, answer, options):
        if len(ids) > rows:
            raise MemoryError
        return compute(ids, answer, **options)

    return fault


@pytest.mark.parametrize("cls", [LeaveOneOut, ShapPartition, IntegratedGradients])
def test_batches_halve_where_memory_runs_out(tiny, cls):
    model, run = tiny("llama"), worker_run()
    whole = explain(model, cls, prompt=PROMPT, target=target(model))
    part = explain(
        Broken(model, small_memory(3)), cls, prompt=PROMPT, target=target(model), run=run
    )
    np.testing.assert_allclose(part.arrays["scores"], whole.arrays["scores"], atol=1e-5)
    assert run.batch_size <= 3
    assert any("Memory ran out" in warning for warning in run.warnings)


@pytest.mark.parametrize("cls", [LeaveOneOut, GradientXInput, IntegratedGradients])
def test_where_one_row_does_not_fit_there_is_a_message(tiny, cls):
    model = tiny("llama")
    with pytest.raises(OutOfMemory, match="not enough memory"):
        explain(
            Broken(model, small_memory(0)),
            cls,
            prompt=PROMPT,
            target=target(model),
            run=worker_run(),
        )


@pytest.mark.parametrize("cls", [LeaveOneOut, GradientXInput, IntegratedGradients, ShapPartition])
def test_results_that_are_not_finite_are_refused(tiny, cls):
    model = tiny("llama")
    broken = Broken(model, lambda f, ids, answer, o: f(ids, answer, **o) * float("inf"))
    with pytest.raises(ModelError, match="not finite in float32"):
        explain(broken, cls, prompt=PROMPT, target=target(model))


@pytest.mark.parametrize("cls", [LeaveOneOut, IntegratedGradients, ShapPartition])
def test_cancelled_between_batches(tiny, cls):
    run = FakeRun(cancel_after=1)
    with pytest.raises(Cancelled):
        explain(tiny("llama"), cls, prompt=PROMPT, target=target(tiny("llama")), run=run)
    assert len(run.reports) == 1


@pytest.mark.parametrize("level", ["token", "word", "sentence"])
def test_groups_cover_the_context_once(tiny, level):
    model = tiny("llama", bos=True)
    prompt = Prompt.of("Anna 👩‍🚀 said: مرحبا. <script> is five.", system="Be brief.", chat=True)
    for span in (None, (1, 3)):
        objective = Objective(model, prompt, target(model, span=span), FakeRun())
        groups = objective.groups(level)
        assert [p for group in groups for p in group] == list(objective.context)
        assert objective.context.stop == objective.subject.explained[0]


def test_value_is_the_summed_log_probability(tiny):
    model = tiny("gpt2")
    objective = Objective(model, PROMPT, target(model, span=(0, 2)), FakeRun())
    value, gradient, embeds = objective.gradient("")
    expected = logprobs(untouched("gpt2"), objective.ids, objective.subject.explained).sum()
    assert value == pytest.approx(float(expected), abs=1e-4)
    assert gradient.shape == embeds.shape == (len(objective.ids), 32)
    assert (gradient[objective.subject.explained[-1] :] == 0).all()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_low_precision_is_summed_in_float32(tiny, dtype):
    from backend.tokens.models import DecoderModel
    from tests.tiny import tokenizer

    full = tiny("llama")
    model = DecoderModel(untouched("llama").to(getattr(torch, dtype)), tokenizer())
    for cls in (GradientXInput, IntegratedGradients, LeaveOneOut):
        run = FakeRun()
        low = explain(model, cls, prompt=PROMPT, target=target(model), run=run)
        high = explain(full, cls, prompt=PROMPT, target=target(full))
        stop = low.explained[0]
        assert low.arrays["scores"].dtype == np.float32
        error = np.abs(low.arrays["scores"][:stop] - high.arrays["scores"][:stop]).max()
        assert error < 0.1 * np.abs(high.arrays["scores"][:stop]).max()


def test_quantised_models_get_a_reason():
    reason = gradients_unsupported({"quantization_config": {"quant_method": "bnb"}})
    assert "quantised" in reason
    assert gradients_unsupported({"model_type": "llama"}) is None
    for cls in (GradientXInput, IntegratedGradients):
        assert cls().supports({"quantization_config": {"bits": 4}}, PROMPT) == reason


def test_without_ids_there_is_no_objective(tiny):
    with pytest.raises(InputError, match="no answer"):
        Objective(tiny("llama"), PROMPT, Target(), FakeRun())
