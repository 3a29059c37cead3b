"""A study of the Tokens family: the chosen methods on the answers to many prompts."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

from pydantic import JsonValue

from backend import files as words
from backend.catalogue import draws, find
from backend.explanation import Comparison
from backend.study import Case, Studied
from backend.tokens import files, plan
from backend.tokens.explanation import Prompt, Target, TokenExplanation
from backend.tokens.metrics import METRICS
from backend.tokens.prompt_sets import PROMPTS_FILE, PromptSet

DEFAULT = (
    "contribution_weights",
    "flashtrace",
    "attention_rollout",
    "gradient_x_input",
    "leave_one_out",
)
SCORED: dict[str, JsonValue] = {"operators": "key_masking", "draws": 2}
"""Of many prompts a mean is taken: one way to take tokens away and few random rankings do."""


def answered(
    comparison: Comparison, prompts: PromptSet, most: int, put: Callable[[Prompt], str]
) -> list[Comparison]:
    """What a page shows of each of the first prompts, its answer still to be settled.

    Args:
        most: prompts at most.
        put: stores an input and returns its digest.
    """
    asked = Target.model_validate(comparison.target)
    return [
        comparison.model_copy(
            update={
                "input": put(prompt),
                "target": asked.model_copy(update={"text": answer}).model_dump(mode="json"),
            }
        )
        for prompt, answer in list(zip(prompts.prompts, prompts.answers, strict=True))[:most]
    ]


def studied(
    comparison: Comparison,
    prompts: PromptSet,
    shown: Sequence[Comparison],
    answers: Sequence[TokenExplanation],
    seeds: int = 1,
) -> Studied:
    """The study of a comparison's methods, a case a prompt.

    Args:
        comparison: its input is the set.
        shown: from `answered`. answers: the continuation of each.
        seeds: explanations of each prompt by a method that draws random numbers.
    """
    cases = [
        _case(one, prompts.prompts[number], answer, number, seeds)
        for number, (one, answer) in enumerate(zip(shown, answers, strict=True))
    ]
    chosen = [find(request) for request in cases[0].asked]
    return Studied(
        cases=cases,
        methods=[explainer.id for explainer in chosen],
        titles=[explainer.title for explainer in chosen],
        controls=[explainer.id for explainer in chosen if explainer.control],
        metrics=METRICS,
        about=prompts.title,
        command=command(comparison, prompts, len(cases), seeds),
        beside=lambda: {} if prompts.name else {PROMPTS_FILE: prompts.lines()},
    )


def command(comparison: Comparison, prompts: PromptSet, inputs: int, seeds: int) -> str:
    """The command line of a study of the set's first prompts."""
    line = ["python", "-m", "backend", "study", "tokens"]
    line += ["--prompts", prompts.name or PROMPTS_FILE]
    line += ["--max-new-tokens", str(Target.model_validate(comparison.target).max_new_tokens)]
    line += ["--model", comparison.model.label(), "--precision", comparison.model.precision]
    return shlex.join([*line, *words.study_words(comparison, inputs, seeds)])


def _case(
    one: Comparison, prompt: Prompt, answer: TokenExplanation, number: int, seeds: int
) -> Case:
    asked = plan.requests(one, answer)
    return Case(
        title=f"{number + 1}: {prompt.label()}",
        opens=one,
        asked=asked,
        again=tuple(
            tuple(request.at_seed(seed) for seed in range(1, seeds if draws(request) else 1))
            for request in asked
        ),
        scores=tuple(
            request.model_copy(update={"parameters": SCORED})
            for request in plan.score_requests(one, answer, asked)
        ),
        command="\n".join(files.command(request, prompt) for request in asked),
    )
