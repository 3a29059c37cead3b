"""A suite's requests and its table: planned by hand, measured on planted numbers."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest

from backend.errors import InputError
from backend.explanation import Choice, ModelRef
from backend.tokens import FAMILY, suite, suite_table
from backend.tokens.entries import Brought
from backend.tokens.explanation import Prompt, TokenExplanation
from backend.tokens.measured import Measured
from backend.tokens.needle_prompt import FILLER
from backend.tokens.suite import Case, Conditions
from tests.backend.tokens.passage import PROMPT, TARGET
from tests.fake import FakeRun

NAMES = ("alti", "attention_mean")
CONDITIONS = Conditions(
    model=ModelRef(name="m"), choices=tuple(Choice(explainer=n) for n in NAMES), curves_up_to=4
)


def explained(length: int, /, **values: Any) -> TokenExplanation:
    from backend.tokens.sequence import Sequence

    sequence = Sequence(
        ids=tuple(range(length + 1)),
        text="x" * (length + 1),
        offsets=tuple((i, i + 1) for i in range(length + 1)),
        roles=("prompt",) * length + ("answer",),
        special=(False,) * (length + 1),
        prompt_length=length,
    )
    return TokenExplanation(arrays={}, values=values, sequence=sequence, explained=(length,))


def scored(recovery: float | None, rise: float | None = None) -> TokenExplanation:
    metrics = {"recovery": recovery, "rise": rise, "mas": rise}
    undefined = {} if recovery is not None else {"recovery": "no evidence"}
    return explained(3, metrics=metrics, undefined=undefined, tokens=3, ceiling=1.0)


class Store:
    def __init__(self) -> None:
        self.held: list[Prompt] = []

    def put(self, prompt: Prompt) -> str:
        self.held.append(prompt)
        return prompt.digest()


def follow(talk, *answers):
    """Every batch of requests, and the measurements at the end."""
    asked = [next(talk)]
    try:
        for answer in answers:  # not a map, which would swallow the end
            asked.append(talk.send(answer))  # noqa: PERF401
    except StopIteration as stop:
        return asked, stop.value
    raise AssertionError("the talk goes on")


def test_generated_case_asks_for_prompt_answer_explanations_and_scores() -> None:
    store = Store()
    case = Case("variable", 256, 7)
    made = {"text": "a b c", "gold": [[0, 1]], "answer": " d"}
    made |= {"kind": "variable", "size": 256, "number": 7}
    asked, found = follow(
        suite.measured(case, CONDITIONS, store.put),
        [explained(3, **made)],
        [explained(3, ids=[9])],
        [explained(3), explained(3)],
        [scored(0.5, 0.2), scored(0.25, 0.3), scored(0.1, 0.9)],
    )
    plant, answer, attributions, scores = asked
    assert [r.explainer for r in plant] == ["needle_prompt"]
    assert plant[0].parameters == {"kind": "variable", "size": 256, "number": 7}
    assert plant[0].input == FILLER.digest()
    assert store.held[1].text == "a b c"
    assert store.held[1].gold == ((0, 1),)
    assert (answer[0].explainer, answer[0].target["text"]) == ("continuation", " d")
    assert [r.explainer for r in attributions] == list(NAMES)
    assert all(r.target["ids"] == [9] for r in attributions)
    assert [r.explainer for r in scores] == ["needle_score"] * 3
    assert [r.subject for r in scores] == [*attributions, None]
    assert all(r.parameters == {"curves": True} for r in scores)
    assert [(m.explainer, m.values["recovery"], m.values["rise"]) for m in found] == [
        ("alti", 0.5, 0.2),
        ("attention_mean", 0.25, 0.3),
        ("random", 0.1, 0.9),
    ]


def test_own_prompt_uses_its_answer_and_long_ones_have_no_curves() -> None:
    [case] = suite.of_file([Brought(Prompt.of("q"), None)])
    asked, found = follow(
        suite.measured(case, CONDITIONS, Store().put),
        [explained(5, ids=[9])],
        [explained(5), "out of memory"],
        [scored(None), scored(None)],
    )
    assert (asked[0][0].target["text"], asked[0][0].target["max_new_tokens"]) == (None, 8)
    assert [r.parameters for r in asked[2]] == [{"curves": False}] * 2
    assert [r.subject for r in asked[2]] == [asked[1][0], None]
    first, second, random = found
    assert first.reasons == {
        "recovery": "no evidence",
        "rise": "the prompt has more than 4 tokens",
        "mas": "the prompt has more than 4 tokens",
    }
    assert set(second.reasons.values()) == {"out of memory"}
    assert random.explainer == "random"
    assert {m.kind for m in found} == {"file"}


@pytest.mark.parametrize("failing", [0, 1])
def test_case_without_prompt_or_answer_is_a_reason_for_all(failing: int) -> None:
    made = {"text": "a", "gold": [], "answer": " d", "kind": "single", "size": 256, "number": 0}
    answers: list[list[Any]] = [[explained(1, **made)], [explained(1, ids=[9])]]
    answers[failing] = ["too long"]
    _, found = follow(
        suite.measured(Case("single", 256, 0), CONDITIONS, Store().put), *answers[: failing + 1]
    )
    assert [m.explainer for m in found] == [*NAMES, "random"]
    assert all(set(m.reasons.values()) == {"too long"} for m in found)


def test_cases_cover_every_kind_before_the_next_item() -> None:
    cases = suite.generated(("single", "variable"), (256, 512), 2, seed=3)
    assert [(c.kind, c.size) for c in cases[:4]] == [
        ("single", 256), ("variable", 256), ("single", 512), ("variable", 512),
    ]  # fmt: skip
    assert [c.number for c in cases] == [3000] * 4 + [3001] * 4
    assert len(set(cases)) == 8
    other = {c.number for c in suite.generated(("single",), (256,), 2, seed=4)}
    assert other.isdisjoint(c.number for c in cases)


@pytest.mark.parametrize(
    ("kinds", "sizes", "items", "said"),
    [
        (("triple",), (256,), 1, "no kind 'triple'"),
        (("single",), (10,), 1, "128 to 32,768"),
        (("single",), (256, 256), 1, "none twice"),
        ((), (256,), 1, "at least one"),
        (("single",), (256,), 0, "1 to 1,000"),
        (("single",), (256,), 1001, "1 to 1,000"),
    ],
)
def test_suite_without_sense_is_refused(kinds, sizes, items, said) -> None:
    with pytest.raises(InputError, match=said):
        suite.generated(kinds, sizes, items)


def test_first_choice_is_what_there_is() -> None:
    assert suite.first_choice(["attention_mean", "x", "contribution_weights"]) == (
        "contribution_weights",
        "attention_mean",
    )


def test_matrices_are_left_out_unless_asked_for_and_scores_stay(tiny) -> None:
    asked = [
        Choice(explainer="attention_mean"),
        Choice(explainer="contribution_weights", parameters={"matrices": "all"}),
        Choice(explainer="leave_one_out", parameters={"level": "word"}),
    ]
    lean = suite.lean(asked, FAMILY)
    assert [choice.parameters for choice in lean] == [
        {"matrices": "none"},
        {"matrices": "all"},
        {"level": "word"},
    ]
    for name in ("attention_mean", "attention_rollout", "contribution_weights"):
        explainer = FAMILY.find(name)
        for model in (tiny("llama"), tiny("gemma2")):
            with_, without = (
                explainer.explain(
                    model, PROMPT, TARGET, explainer.Parameters(matrices=keep), FakeRun()
                )
                for keep in ("auto", "none")
            )
            np.testing.assert_allclose(
                with_.arrays["scores"], without.arrays["scores"], rtol=1e-5, atol=1e-7
            )
            assert len(without.to_bytes()) < len(with_.to_bytes())


def record(kind, number, name, recovery, rise=None, ceiling=1.0, size=256, no="") -> Measured:
    values = {"recovery": recovery, "rise": rise, "mas": None}
    reasons = {"rise": no} if no else {}
    return Measured(kind, size, number, name, values, reasons, 10, ceiling)


FOUND = [
    record("a", 0, "one", 1.0, 0.2),
    record("a", 0, "two", 0.5, 0.4),
    record("a", 1, "one", 0.5, 0.1, 0.5),
    record("a", 1, "two", 0.0, None, 0.5, no="no drop (1 before, 2 after)"),
    record("b", 0, "one", 0.25, None, no="no drop (3 before, 3 after)"),
    record("b", 0, "two", 0.25, 0.4),
]


def test_rows_are_means_over_their_own_cases() -> None:
    table = {(row.kind, row.explainer): row for row in suite_table.rows(FOUND)}
    assert list(table) == [(k, n) for k in ("a", "b", "all") for n in ("one", "two")]
    one = table["a", "one"]
    assert (one.cases, one.ceiling) == (2, 0.75)
    assert (one.metrics["recovery"].mean, one.metrics["recovery"].n) == (0.75, 2)
    assert (one.metrics["recovery"].low, one.metrics["recovery"].high) == (0.5, 1.0)
    assert (table["a", "two"].metrics["rise"].mean, table["a", "two"].metrics["rise"].n) == (0.4, 1)
    assert table["all", "one"].metrics["recovery"].mean == pytest.approx(1.75 / 3)
    assert table["all", "one"].metrics["mas"].mean is None
    assert [row.kind for row in suite_table.rows(FOUND[:4])] == ["a", "a"]


def test_sizes_have_rows_of_their_own_and_kinds_join_them() -> None:
    found = [record("a", 0, "one", 1.0), record("a", 0, "one", 0.0, size=512)]
    assert [(r.kind, r.size) for r in suite_table.rows(found)] == [
        ("a", 256), ("a", 512), ("all", None),
    ]  # fmt: skip
    [joined] = suite_table.by_kind(found)
    assert (joined.kind, joined.size, joined.metrics["recovery"].mean) == ("a", None, 0.5)


def test_differences_pair_cases_and_call_it_honestly() -> None:
    found = {(d.kind, d.metric): d for d in suite_table.differences(FOUND)}
    whole = found["all", "recovery"]
    assert (whole.first, whole.other, whole.difference.n) == ("one", "two", 3)
    assert whole.difference.mean == pytest.approx(1 / 3)
    assert whole.difference.low == 0.0  # 1 of 27 resamples is the tie thrice: over 2.5 %
    assert whole.verdict == "not above"
    assert found["a", "recovery"].verdict == "above"  # 0.5 on both cases
    assert found["all", "rise"].difference.n == 1
    assert found["all", "rise"].verdict == "unknown"


def test_lower_is_better_is_below() -> None:
    rng = np.random.default_rng(0)
    rises = rng.random(20)
    found = [record("a", i, "one", None, r) for i, r in enumerate(rises)]
    found += [record("a", i, "two", None, r + 0.1) for i, r in enumerate(rises)]
    found += [record("a", i, "three", None, r - 0.1) for i, r in enumerate(rises)]
    verdicts = {d.other: d.verdict for d in suite_table.differences(found) if d.metric == "rise"}
    assert verdicts == {"two": "below", "three": "not below"}


def test_reasons_are_counted_without_their_numbers() -> None:
    assert suite_table.reasons(FOUND) == {"no drop": ["two rise (1)", "one rise (1)"]}


def test_numbers_are_one_row_a_case_and_explainer() -> None:
    text = suite_table.numbers(FOUND).decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert len(rows) == len(FOUND)
    assert rows[0] == {
        "kind": "a", "size": "256", "number": "0", "explainer": "one", "tokens": "10",
        "ceiling": "1.0", "recovery": "1.0", "rise": "0.2", "mas": "",
    }  # fmt: skip
