"""A suite: many prompts of known evidence, several explainers, the requests behind their scores.

`measured` is a conversation: it yields the requests of one step and is sent their results, so that
the command line, which waits, and a page, which comes back later, follow one plan:

1. plant the needle (where the prompt is not brought in);
2. settle the answer;
3. explain it by every chosen explainer;
4. score every explanation, and random rankings beside them.

Prompts longer than `curves_up_to` tokens have no RISE and MAS: a removal curve is some twenty
passes of the model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, TypeAlias, cast

from backend.errors import InputError, shown
from backend.explainer import Family
from backend.explanation import Choice, Comparison, Explanation, Frozen, ModelRef, Request
from backend.tokens import needles, plan
from backend.tokens.entries import Brought
from backend.tokens.explanation import Prompt, Target, TokenExplanation
from backend.tokens.measured import CURVED, FILE, MEASURED, RANDOM, Measured
from backend.tokens.needle_prompt import FILLER, NeedlePrompt, planted
from backend.tokens.needle_score import NeedleScore

FIRST_CHOICE = ("flashtrace", "contribution_weights", "attention_mean", "attention_rollout")
"""Explainers a suite starts with, as far as there are any."""
DEFAULT_SIZES = (256, 1024)
DEFAULT_ITEMS = 4
MOST_ITEMS = 1000
CURVES_UP_TO = 512


@dataclasses.dataclass(frozen=True)
class Case:
    """One prompt of a suite: one to be generated, or one that is brought in."""

    kind: str
    size: int | None
    number: int
    """Which one, from 0."""
    brought: Brought | None = None


class Conditions(Frozen):
    """What all cases of a suite share."""

    model: ModelRef
    choices: tuple[Choice, ...]
    seed: int = 0
    curves_up_to: int = CURVES_UP_TO
    max_new_tokens: int = 8
    """Length of the model's own answer, where a prompt brings none."""


Outcome: TypeAlias = Explanation | str
"""A result, or a sentence that says why there is none."""
Talk: TypeAlias = Generator[tuple[Request, ...], Sequence[Outcome], tuple[Measured, ...]]


def first_choice(known: Iterable[str]) -> tuple[str, ...]:
    """The explainers a suite starts with, of those there are."""
    there = set(known)
    return tuple(name for name in FIRST_CHOICE if name in there)


def lean(choices: Iterable[Choice], family: Family) -> tuple[Choice, ...]:
    """The choices without matrices, where nothing is said of them.

    The scores are the same, and a suite's results would else push everything out of the store.
    """
    return tuple(
        choice.model_copy(update={"parameters": {"matrices": "none", **choice.parameters}})
        if "matrices" in family.find(choice.explainer).Parameters.model_fields
        else choice
        for choice in choices
    )


def generated(
    kinds: Sequence[str], sizes: Sequence[int], items: int, seed: int = 0
) -> tuple[Case, ...]:
    """The cases of a generated suite, `items` of each kind and size; each kind comes early.

    Raises:
        InputError: there is no such kind, a size or the number of items is out of bounds, or
            something is named twice.
    """
    for kind in kinds:
        if kind not in needles.KINDS:
            raise InputError(
                f"There is no kind '{shown(kind)}'.", "kinds", f"Use {', '.join(needles.KINDS)}."
            )
    for size in sizes:
        if not needles.SMALLEST <= size <= needles.LARGEST:
            raise InputError(
                f"A prompt of {size:,} tokens.",
                "sizes",
                f"Use {needles.SMALLEST} to {needles.LARGEST:,}.",
            )
    for name, given in (("kinds", kinds), ("sizes", sizes)):
        if not given or len(set(given)) < len(given):
            raise InputError("Name at least one, and none twice.", name)
    if not 1 <= items <= MOST_ITEMS:
        raise InputError(f"{items:,} items.", "items", f"Use 1 to {MOST_ITEMS:,}.")
    first = (seed * MOST_ITEMS) % 2**32
    return tuple(
        Case(kind, size, (first + item) % 2**32)
        for item in range(items)
        for size in sizes
        for kind in kinds
    )


def of_file(found: Sequence[Brought]) -> tuple[Case, ...]:
    """The cases of prompts that are brought in."""
    return tuple(Case(FILE, None, number, one) for number, one in enumerate(found))


def measured(case: Case, conditions: Conditions, put: Callable[[Prompt], str]) -> Talk:
    """Follow one case to its measurements; see the module.

    Args:
        put: stores an input and returns its digest.
    """
    found = case.brought
    if found is None:
        [outcome] = yield (_needle_request(case, conditions, put),)
        if isinstance(outcome, str):
            return _failed(case, conditions, outcome)
        item = planted(cast(TokenExplanation, outcome))
        found = Brought(item.prompt, item.target.text)
    target = Target(text=found.answer, max_new_tokens=conditions.max_new_tokens)
    comparison = Comparison(
        family=NeedlePrompt.family,
        model=conditions.model,
        input=put(found.prompt),
        target=target.model_dump(mode="json"),
        choices=conditions.choices,
        seed=conditions.seed,
    )
    [outcome] = yield (plan.continuation_request(comparison),)
    if isinstance(outcome, str):
        return _failed(case, conditions, outcome)
    continuation = cast(TokenExplanation, outcome)
    asked = plan.requests(comparison, continuation)
    explained = yield asked
    curves = continuation.sequence.prompt_length <= conditions.curves_up_to
    subjects = [
        request for request, one in zip(asked, explained, strict=True) if not isinstance(one, str)
    ]
    whole = plan.score_requests(comparison, continuation, tuple(subjects))
    scores = yield tuple(_score(one, curves) for one in whole)
    left = iter(scores)
    rows = [
        _record(case, request.explainer, one if isinstance(one, str) else next(left), conditions)
        for request, one in zip(asked, explained, strict=True)
    ]
    return (*rows, _record(case, RANDOM, next(left), conditions))


def _needle_request(case: Case, conditions: Conditions, put: Callable[[Prompt], str]) -> Request:
    return Request(
        family=NeedlePrompt.family,
        explainer=NeedlePrompt.id,
        model=conditions.model,
        input=put(FILLER),
        parameters={"kind": case.kind, "size": case.size, "number": case.number},
    )


def _score(request: Request, curves: bool) -> Request:
    """The suite's own score in place of the whole one."""
    changes: dict[str, Any] = {"explainer": NeedleScore.id, "parameters": {"curves": curves}}
    return request.model_copy(update=changes)


def _failed(case: Case, conditions: Conditions, why: str) -> tuple[Measured, ...]:
    names = [*(choice.explainer for choice in conditions.choices), RANDOM]
    return tuple(_record(case, name, why, conditions) for name in names)


def _record(case: Case, name: str, outcome: Outcome, conditions: Conditions) -> Measured:
    place = (case.kind, case.size, case.number, name)
    if isinstance(outcome, str):
        none: dict[str, float | None] = dict.fromkeys(MEASURED)
        return Measured(*place, none, dict.fromkeys(MEASURED, outcome))
    found = outcome.values
    reasons = dict(found["undefined"])
    for metric in CURVED:
        if found["metrics"][metric] is None and metric not in reasons:
            reasons[metric] = f"the prompt has more than {conditions.curves_up_to:,} tokens"
    return Measured(*place, found["metrics"], reasons, found["tokens"], found["ceiling"])
