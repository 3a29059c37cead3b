"""The needle score on a model whose answer is a known sum, and planting with a real tokenizer."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from backend.errors import Cancelled, InputError
from backend.tokens import metrics
from backend.tokens.explanation import Prompt, Target, TokenExplanation
from backend.tokens.filler import SENTENCES
from backend.tokens.needle_prompt import FILLER, NeedlePrompt, NeedlePromptParameters, planted
from backend.tokens.needle_score import NeedleScore, NeedleScoreParameters
from tests.backend.tokens.linear import PROMPT, TARGET, Linear, attribution, scored
from tests.fake import FakeRun

WEIGHTS = tuple(0.05 * ((7 * i) % 30 + 1) for i in range(30))
GOLD = (3, 8, 20)
"""Positions; the special token is at 0, so candidate i is at i + 1."""


def score(model, scores=None, run=None, **parameters) -> TokenExplanation:
    run = run or FakeRun()
    run.subject = None if scores is None else attribution(model, scores)
    return NeedleScore().explain(model, PROMPT, TARGET, NeedleScoreParameters(**parameters), run)


def test_recovery_by_hand_needs_no_pass() -> None:
    model, run = Linear(WEIGHTS, gold=GOLD), FakeRun()
    scores = np.zeros(30)
    scores[[2, 7, 12]] = 3.0, 2.0, 1.0  # top 10 % of 30 is 3: two of the three gold tokens
    found = score(model, scores, run, curves=False)
    assert found.values["metrics"] == {"recovery": 2 / 3, "rise": None, "mas": None}
    assert found.values["undefined"] == {}
    assert (found.values["tokens"], found.values["gold"]) == (30, 3)
    assert found.values["ceiling"] == 1.0
    assert run.forward == 0
    assert model.rows == []


def test_ceiling_of_evidence_longer_than_the_top() -> None:
    found = score(Linear(WEIGHTS, gold=tuple(range(1, 13))), range(30), curves=False)
    assert found.values["ceiling"] == 3 / 12


def test_curves_agree_with_the_faithfulness_score_at_half_the_passes() -> None:
    model, run = Linear(WEIGHTS, gold=GOLD), FakeRun()
    scores = np.linspace(2.0, 0.5, 30)
    found = score(model, scores, run)
    whole = scored(Linear(WEIGHTS, gold=GOLD), scores)
    for name in ("recovery", "rise", "mas"):
        assert found.values["metrics"][name] == whole.values["metrics"]["key_masking"][name]
    assert run.forward == 21
    np.testing.assert_array_equal(
        found.arrays["logprob/morf"], whole.arrays["logprob/key_masking/morf"]
    )


def test_rise_is_the_closed_form() -> None:
    found = score(Linear(WEIGHTS), WEIGHTS, groups=5)
    left = np.sort(WEIGHTS)[::-1].cumsum()
    kept = [1 - (left[6 * k - 1] if k else 0) / left[-1] for k in range(6)]
    area = sum((a + b) / 2 for a, b in itertools.pairwise(kept)) / 5
    assert found.values["metrics"]["rise"] == pytest.approx(area, rel=1e-5)


def test_random_recovery_is_near_its_expectation() -> None:
    model = Linear(WEIGHTS, gold=GOLD)
    found = score(model, None, draws=200, curves=False)
    assert found.values["metrics"]["recovery"] == pytest.approx(0.1, abs=0.05)
    run = FakeRun()
    score(model, None, run, curve_draws=1)
    assert run.forward == 21
    assert (
        score(model, None, FakeRun(seed=1)).values["metrics"]
        != score(model, None, FakeRun(seed=2)).values["metrics"]
    )


def test_what_is_not_defined_says_why() -> None:
    found = score(Linear(WEIGHTS), -np.arange(30.0))
    assert found.values["metrics"]["recovery"] is None
    assert "no planted evidence" in found.values["undefined"]["recovery"]
    assert found.values["ceiling"] is None
    assert found.values["metrics"]["rise"] is not None
    assert "do not sum to more than zero" in found.values["undefined"]["mas"]
    rising = score(Linear([-w for w in WEIGHTS]), WEIGHTS)
    assert "does not make the answer less likely" in rising.values["undefined"]["rise"]
    alone = score(Linear([1.0], gold=(1,)), [1.0])
    assert all("one token to rank" in reason for reason in alone.values["undefined"].values())
    assert set(alone.values["undefined"]) == {"recovery", "rise", "mas"}


def test_another_subject_is_refused_and_cancelling_stops() -> None:
    run = FakeRun(subject=attribution(Linear(WEIGHTS[:5]), WEIGHTS[:5]))
    with pytest.raises(InputError, match="another input"):
        NeedleScore().explain(Linear(WEIGHTS), PROMPT, TARGET, NeedleScoreParameters(), run)
    with pytest.raises(Cancelled):
        score(Linear(WEIGHTS), WEIGHTS, FakeRun(cancel_after=1))


def plant(model, prompt=FILLER, **parameters) -> TokenExplanation:
    chosen = NeedlePromptParameters(**parameters)
    return NeedlePrompt().explain(model, prompt, Target(), chosen, FakeRun())


@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize("kind", ["single", "multi_key", "multi_value", "variable"])
def test_planted_tokens_are_the_needles(kind: str, bos: bool, tiny) -> None:
    model = tiny("llama", bos=bos)
    item = planted(plant(model, kind=kind, size=512, number=3))
    tokens = model.encode(item.prompt, (), item.target.text)
    assert 0.9 * 512 <= tokens.prompt_length <= 512
    assert tokens.prompt_length == plant(model, kind=kind, size=512, number=3).values["tokens"]
    assert tokens.text.endswith(str(item.target.text))
    marked = np.zeros(len(tokens.text), dtype=bool)
    for position in tokens.gold:
        marked[slice(*tokens.offsets[position])] = True
    body = tokens.text.rfind(item.prompt.text)
    for a, b in item.prompt.gold:
        assert marked[body + a : body + b].all()
    wanted = sum(b - a for a, b in item.prompt.gold)
    # A token may reach over a needle's edge, by the space before it.
    assert wanted <= marked.sum() <= wanted + 2 * len(item.prompt.gold)


def test_size_over_the_models_limit_is_refused(tiny) -> None:
    with pytest.raises(InputError, match="at most 1,024 fit"):
        plant(tiny("llama"), size=2048)


def test_filler_is_the_input(tiny) -> None:
    own = Prompt.of("\n".join(f"{sentence} Yes." for sentence in SENTENCES))
    assert "Yes." in plant(tiny("llama"), own, size=700).values["text"]
    assert "Yes." not in plant(tiny("llama"), size=700).values["text"]
    with pytest.raises(InputError, match="fewer than two"):
        plant(tiny("llama"), Prompt.of("One line."), size=700)


def test_metrics_are_known_to_the_scoreboard() -> None:
    known = {metric.id for metric in metrics.METRICS}
    assert set(score(Linear(WEIGHTS), WEIGHTS).values["metrics"]) <= known
